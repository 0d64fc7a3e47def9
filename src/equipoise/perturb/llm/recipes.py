"""Recipes that ask a language model: each slot is a prompt of Kamath et al. 2024 (Appendix C.1).

REPLACE and SWAP are the published texts, since they are the method. The two prompts for relations are only described
there; ours follow the description, with one example each. The paper sampled without a seed and checked nothing; we
decode deterministically and check every answer, except in the faithful recipe (`answers.py`). An answer may have the
paper's number of tokens (C.2): 20 for SWAP, whose captions are short, 30 for REPLACE; the public code has 20 for both.
"""

from __future__ import annotations

import difflib
import random
import re
import tomllib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from equipoise.core.answer_store import KeptAnswer
from equipoise.core.llm_client import Llm
from equipoise.data.items import Operation
from equipoise.language.caption import Caption, Kept, Unit
from equipoise.language.forms import lemma_of
from equipoise.language.vocabulary import Section, count, read_text
from equipoise.language.wordnet import LETTERS, WORDNET
from equipoise.perturb.checks.form import grammar
from equipoise.perturb.checks.meaning import listed_synonyms
from equipoise.perturb.llm import LLM_RECIPES
from equipoise.perturb.llm.answers import CUT, any_text, edit_between, spoiled, tidy, valid
from equipoise.perturb.llm.meaning import KINDS, keeps_meaning
from equipoise.perturb.recipe import Candidate, EditCheck, Op, Proposal, Recipe, Slot, Source, Sources


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
        shown = [f"Input: {example}\nOutput: {output}" for example, output in self.shots]
        return "\n".join([self.instruction, *shown, "Input: {example}", "Output:"])

    def about(self, caption: str) -> str:
        return self.template.replace("{example}", caption)


PROMPTS = {name: Prompt(name, **about) for name, about in tomllib.loads(read_text("prompts.toml")).items()}
SWAP_BELOW = 15  # words: the paper only swaps shorter captions


def _swappable(caption: Caption) -> bool:
    words = caption.text.lower().split()
    return "and" in words and len(words) < SWAP_BELOW


_CHECKS: tuple[EditCheck, ...] = (valid, keeps_meaning, grammar)
_ASKED: dict[str, tuple[tuple[str, ...], tuple[EditCheck, ...]]] = {  # prompts, checks
    "hard_positives_kamath_2024": (("REPLACE", "SWAP"), _CHECKS),
    "hard_positives_kamath_2024_faithful": (("REPLACE", "SWAP"), (any_text,)),
    "hard_positives_kamath_2024_relations": (("REPLACE_VERB", "REPLACE_SPATIAL"), _CHECKS),
}


def llm_recipe(name: str, llm: Llm) -> Recipe:
    prompts, checks = _ASKED[name]
    slots = tuple(Slot(f"positive {prompt}", (_asking(llm, prompt, any_text in checks),)) for prompt in prompts)
    return Recipe(name, LLM_RECIPES[name], slots, (), checks)


def _asking(llm: Llm, name: str, keep_cut: bool) -> Op:
    prompt, by = PROMPTS[name], f"llm:{llm.settings.model}"

    def candidate(caption: Caption, answer: KeptAnswer) -> Candidate:
        text = tidy(answer, caption.text)
        text = text.removesuffix(CUT) if keep_cut else text
        return Candidate(text, "positive", edit_between(caption, text, prompt.op, by))

    def ask(caption: Caption, sources: Sources, rng: random.Random) -> Iterator[Candidate]:
        if name != "SWAP" or _swappable(caption):
            keep = lambda answer: not spoiled(caption, candidate(caption, answer))  # noqa: E731
            yield candidate(caption, llm.ask(prompt.about(caption.text), prompt.max_tokens, keep))

    return ask


_MOST = 3  # words in place of one
_NUMBER = re.compile(r"^\s*(?:\d+[.):]|[-*•])\s*")
_PLAIN = re.compile(r"[a-z]+(?:['-][a-z]+)*(?: [a-z]+(?:['-][a-z]+)*)*")


class LlmWriter(Source):
    """A language model as a word source of `balanced`: it writes several wrong captions and several rewordings.

    Only answers that exchange one word, or one compound, are used. As negatives they are judged like any other word
    that is not from a list. A rewording must be a synonym in our lists or in WordNet, since the judge was taught no
    synonyms.
    """

    def __init__(self, llm: Llm) -> None:
        self._llm, self.name = llm, f"llm:{llm.settings.model}"
        self._proposals: dict[str, Kept[list[Proposal]]] = {name: Kept() for name in ("REWORD", "CONTRADICT")}

    def synonyms(self, caption: Caption, target: Section) -> Iterator[Proposal]:
        for proposal in self._asked(caption, "REWORD", target) if target in LETTERS else ():
            old, new = (lemma_of(text, target) for text in (caption.text[proposal.start : proposal.end], proposal.to))
            if new in listed_synonyms(old) or new in WORDNET.synonym_words(old, LETTERS[target]):
                yield proposal

    def contrasts(self, caption: Caption, target: Section) -> Iterator[Proposal]:
        return self._asked(caption, "CONTRADICT", target)

    def _asked(self, caption: Caption, name: str, target: Section) -> Iterator[Proposal]:
        prompt = PROMPTS[name]

        def ask() -> list[Proposal]:  # one question for all targets
            return list(self._read(caption, self._llm.ask(prompt.about(caption.text), prompt.max_tokens)))

        proposals = self._proposals[name].once(caption, ask)
        return (proposal for proposal in proposals if proposal.target == target)

    def _read(self, caption: Caption, answer: KeptAnswer) -> Iterator[Proposal]:
        lines = answer.text.splitlines()
        for line in lines[:-1] if answer.finish == "length" else lines:
            new = Caption(tidy(KeptAnswer(_NUMBER.sub("", line), "stop"), caption.text))
            if (exchanged := _exchanged(caption, new)) is not None:
                old, to = exchanged
                yield Proposal(old.start, old.end, to, KINDS[old.kind], self.name, float(count(to)), "wide")


def _exchanged(caption: Caption, answer: Caption) -> tuple[Unit, str] | None:
    """The only word or compound that an answer exchanges, and its new words; None if it does anything else."""
    old, new = caption.units, answer.units
    matcher = difflib.SequenceMatcher(None, [u.word for u in old], [u.word for u in new], autojunk=False)
    changes = [code for code in matcher.get_opcodes() if code[0] != "equal"]
    if len(changes) != 1 or changes[0][0] != "replace":
        return None
    _, a, b, c, d = changes[0]
    if b - a > 1 and d - c > 1 and {old[a].word, new[c].word} <= {"a", "an"}:
        a, c = a + 1, c + 1  # a dog, an owl
    to = answer.text_of(c, d).lower()
    if b - a != 1 or d - c > _MOST or old[a].kind not in KINDS or not _PLAIN.fullmatch(to):
        return None
    return old[a], to
