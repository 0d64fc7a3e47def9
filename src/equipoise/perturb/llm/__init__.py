"""Edits that a language model writes: the papers' prompts, and what becomes of an answer."""

LLM_RECIPES = {  # with what each makes
    "hard_positives_kamath_2024": (
        'Kamath et al.: a language model replaces a word, and swaps around "and" in captions under 15 words; checked.'
    ),
    "hard_positives_kamath_2024_faithful": "The same with every answer kept, as in the paper, which checked nothing.",
    "hard_positives_kamath_2024_relations": (
        "Kamath et al., Appendix C.3: a language model replaces one verb, and one spatial preposition; checked."
    ),
}
