"""Recipes that ask a language model: each slot is a prompt, and every answer goes through the checks."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence

from equipoise.perturb import checks
from equipoise.perturb.candidate import Candidate
from equipoise.perturb.english.caption import Caption
from equipoise.perturb.llm.answers import contradicts, edit_between, spoiled, tidy, valid
from equipoise.perturb.llm.prompts import PROMPTS, PromptName
from equipoise.perturb.recipe import Op, Recipe, Slot
from equipoise.perturb.sources.base import Source
from equipoise.served.client import Llm
from equipoise.served.kept import Answer

SWAP_BELOW = 15  # words: the paper only swaps shorter captions


def _swappable(caption: Caption) -> bool:
    words = caption.text.lower().split()
    return "and" in words and len(words) < SWAP_BELOW


def _any(_: Caption) -> bool:
    return True


_ABOUT = {
    "hard_positives_kamath_2024": (
        'Kamath et al.: a language model replaces one word, and swaps around "and" in captions under 15 words.',
        ("REPLACE", "SWAP"),
    ),
    "hard_positives_kamath_2024_relations": (
        "Kamath et al., Appendix C.3: a language model replaces one verb, and one spatial preposition.",
        ("REPLACE_VERB", "REPLACE_SPATIAL"),
    ),
}
LLM_RECIPES: dict[str, str] = {name: about for name, (about, _) in _ABOUT.items()}
_APPLIES: dict[str, Callable[[Caption], bool]] = {"SWAP": _swappable}


def llm_recipe(name: str, llm: Llm) -> Recipe:
    about, prompts = _ABOUT[name]
    slots = tuple(Slot(f"positive {prompt}", (_asking(llm, prompt),)) for prompt in prompts)  # type: ignore[arg-type]
    return Recipe(name, about, slots, (), (valid, contradicts, checks.grammar))


def _asking(llm: Llm, name: PromptName) -> Op:
    prompt, applies = PROMPTS[name], _APPLIES.get(name, _any)
    by = f"llm:{llm.settings.model}"

    def candidate(caption: Caption, answer: Answer) -> Candidate:
        text = tidy(answer, caption.text)
        return Candidate(text, "positive", edit_between(caption, text, prompt.op, by))

    def ask(caption: Caption, sources: Sequence[Source], rng: random.Random) -> Iterator[Candidate]:
        if applies(caption):
            answer = llm.ask(
                prompt.about(caption.text),
                prompt.max_tokens,
                keep=lambda answer: not spoiled(caption, candidate(caption, answer)),
            )
            yield candidate(caption, answer)

    return ask
