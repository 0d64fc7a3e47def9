"""Edits that a language model writes: the papers' prompts, and the reading of answers."""

LLM_RECIPES = {  # each with its description
    "hard_positives_kamath_2024": (
        'Kamath et al.: a language model replaces a word, and swaps around "and" in captions under 15 words; checked.'
    ),
    "hard_positives_kamath_2024_faithful": "The same with every answer kept, as in the paper, which checked nothing.",
    "hard_positives_kamath_2024_relations": (
        "Kamath et al., Appendix C.3: a language model replaces one verb, and one spatial preposition; checked."
    ),
}
