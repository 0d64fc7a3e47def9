"""A language model as a word source of `balanced`: it writes several wrong captions and several rewordings.

Only answers that exchange one word, or one compound, are used. As negatives they are judged like any other word that is
not from a list. A rewording must be a synonym in our lists or in WordNet, since the judge was taught no synonyms.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator

from equipoise.core.llm_client import Answer, Llm
from equipoise.language.caption import Caption, Unit
from equipoise.language.forms import lemma_of
from equipoise.language.vocabulary import Section, count
from equipoise.language.wordnet import LETTERS, WORDNET
from equipoise.perturb.checks.meaning import listed_synonyms
from equipoise.perturb.llm.answers import tidy
from equipoise.perturb.llm.meaning import KINDS
from equipoise.perturb.llm.recipes import PROMPTS
from equipoise.perturb.recipe import Proposal

_MOST = 3  # words in place of one
_NUMBER = re.compile(r"^\s*(?:\d+[.):]|[-*•])\s*")
_PLAIN = re.compile(r"[a-z]+(?:['-][a-z]+)*(?: [a-z]+(?:['-][a-z]+)*)*")


class LlmWriter:
    def __init__(self, llm: Llm) -> None:
        self._llm, self.name = llm, f"llm:{llm.settings.model}"

    def synonyms(self, caption: Caption, target: Section) -> Iterator[Proposal]:
        for each in self._asked(caption, "REWORD", target) if target in LETTERS else ():
            old, new = (lemma_of(text, target) for text in (caption.text[each.start : each.end], each.to))
            if new in listed_synonyms(old) or new in WORDNET.synonym_words(old, LETTERS[target]):
                yield each

    def contrasts(self, caption: Caption, target: Section) -> Iterator[Proposal]:
        return self._asked(caption, "CONTRADICT", target)

    def _asked(self, caption: Caption, name: str, target: Section) -> Iterator[Proposal]:
        if (name, self) not in caption.kept:  # one question for all targets
            prompt = PROMPTS[name]
            answer = self._llm.ask(prompt.about(caption.text), prompt.max_tokens)
            caption.kept[name, self] = list(self._read(caption, answer))
        return (each for each in caption.kept[name, self] if each.target == target)

    def _read(self, caption: Caption, answer: Answer) -> Iterator[Proposal]:
        lines = answer.text.splitlines()
        for line in lines[:-1] if answer.finish == "length" else lines:
            new = Caption(tidy(Answer(_NUMBER.sub("", line), "stop"), caption.text))
            if (found := _exchanged(caption, new)) is not None:
                old, to = found
                yield Proposal(old.start, old.end, to, KINDS[old.kind], self.name, float(count(to)), "wide")


def _exchanged(caption: Caption, answer: Caption) -> tuple[Unit, str] | None:
    """The one word or compound that an answer exchanges, and for what; None if it does anything else."""
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
