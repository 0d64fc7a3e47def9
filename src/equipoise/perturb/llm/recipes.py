"""Recipes that ask a language model: each slot is a prompt of Kamath et al. 2024 (Appendix C.1).

REPLACE and SWAP are the published texts, since they are the method. The two prompts for relations are only described
there; ours follow the description, with one example each. The paper sampled without a seed and checked nothing; we
decode deterministically and check every answer, except in the faithful recipe (`answers.py`). An answer may have the
paper's number of tokens (C.2): 20 for SWAP, whose captions are short, 30 for REPLACE; the public code has 20 for both.
"""

from __future__ import annotations

import random
import tomllib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from equipoise.core.llm_client import Answer, Llm
from equipoise.data.items import Operation
from equipoise.language.caption import Caption
from equipoise.language.vocabulary import read_text
from equipoise.perturb.checks.form import grammar
from equipoise.perturb.llm.answers import CUT, any_text, edit_between, spoiled, tidy, valid
from equipoise.perturb.llm.meaning import keeps_meaning
from equipoise.perturb.recipe import Candidate, Check, Op, Recipe, Slot, Sources


class Prompt(NamedTuple):
    name: str
    op: Operation
    instruction: str
    shots: Sequence[tuple[str, str]] = ()
    max_tokens: int = 30

    @property
    def template(self) -> str:
        if not self.shots:
            return f"{self.instruction}\n\n{{example}}"
        shown = [f"Input: {given}\nOutput: {wanted}" for given, wanted in self.shots]
        return "\n".join([self.instruction, *shown, "Input: {example}", "Output:"])

    def about(self, caption: str) -> str:
        return self.template.replace("{example}", caption)


PROMPTS: dict[str, Prompt] = {}
for _name, _about in tomllib.loads(read_text("prompts.toml")).items():
    PROMPTS[_name] = Prompt(_name, **_about)
SWAP_BELOW = 15  # words: the paper only swaps shorter captions


def _swappable(caption: Caption) -> bool:
    words = caption.text.lower().split()
    return "and" in words and len(words) < SWAP_BELOW


class _Asked(NamedTuple):
    about: str
    prompts: tuple[str, ...]
    checks: tuple[Check, ...] = (valid, keeps_meaning, grammar)


LLM_RECIPES = {
    "hard_positives_kamath_2024": _Asked(
        'Kamath et al.: a language model replaces a word, and swaps around "and" in captions under 15 words; checked.',
        ("REPLACE", "SWAP"),
    ),
    "hard_positives_kamath_2024_faithful": _Asked(
        "The same with every answer kept, as in the paper, which checked nothing.", ("REPLACE", "SWAP"), (any_text,)
    ),
    "hard_positives_kamath_2024_relations": _Asked(
        "Kamath et al., Appendix C.3: a language model replaces one verb, and one spatial preposition; checked.",
        ("REPLACE_VERB", "REPLACE_SPATIAL"),
    ),
}


def llm_recipe(name: str, llm: Llm) -> Recipe:
    asked = LLM_RECIPES[name]
    slots = tuple(
        Slot(f"positive {prompt}", (_asking(llm, prompt, any_text in asked.checks),)) for prompt in asked.prompts
    )
    return Recipe(name, asked.about, slots, (), asked.checks)


def _asking(llm: Llm, name: str, keep_cut: bool) -> Op:
    prompt, by = PROMPTS[name], f"llm:{llm.settings.model}"

    def candidate(caption: Caption, answer: Answer) -> Candidate:
        text = tidy(answer, caption.text)
        text = text.removesuffix(CUT) if keep_cut else text
        return Candidate(text, "positive", edit_between(caption, text, prompt.op, by))

    def ask(caption: Caption, sources: Sources, rng: random.Random) -> Iterator[Candidate]:
        if name != "SWAP" or _swappable(caption):
            keep = lambda answer: not spoiled(caption, candidate(caption, answer))  # noqa: E731
            yield candidate(caption, llm.ask(prompt.about(caption.text), prompt.max_tokens, keep))

    return ask
