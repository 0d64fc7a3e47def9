"""A caption as the proposer reads it: its words, what the other captions say, and the chances of edits of it."""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from equipoise.perturb.english.caption import Caption
from equipoise.perturb.english.word_lists import SECTIONS, Section
from equipoise.perturb.proposer import net
from equipoise.perturb.proposer.net import FACTS, FROM_OTHERS, OF_EDIT, WORDS, Array, Place

_WORD = re.compile(r"[a-z]+(?:'[a-z]+)?|\d+")
_LITTLE = frozenset(
    "a an the of in on is are and with to at his her its their it that this some one there from by for as".split()
)


class Asked(Protocol):
    """An edit to be judged: a source's proposal is one."""

    @property
    def start(self) -> int: ...  # characters
    @property
    def end(self) -> int: ...
    @property
    def to(self) -> str: ...
    @property
    def target(self) -> Section: ...
    @property
    def by(self) -> str: ...  # the source


VERDICTS = ("pass", "may be true", "implausible", "no good English")


def words_of(text: str) -> list[str]:
    return _WORD.findall(text.lower())


@functools.lru_cache(maxsize=2)  # one slot of a recipe after another asks about the same caption
def reading_of(caption: Caption) -> Reading:
    return Reading(caption)


class Reading:
    def __init__(self, caption: Caption) -> None:
        self._text = caption.text
        self._words = words_of(caption.text)[:WORDS]
        self._said = [frozenset(words_of(text)) for text in caption.others]
        self._all_said = frozenset().union(*self._said)
        self._states = net.read(self._words, words_of_others(self._said))
        self._where: dict[tuple[int, int], tuple[int, int] | None] = {}
        self._seen = net.seen_of(self._states)
        self._places: dict[tuple[int, int], Place] = {}
        self._passes: dict[tuple[int, int, str], float] = {}

    def words_at(self, start: int, end: int) -> tuple[int, int] | None:
        """Which words characters `start:end` are; None where they are none, or too far into a long caption."""
        if (start, end) not in self._where:
            first = len(words_of(self._text[:start]))
            last = first + len(words_of(self._text[start:end]))
            self._where[start, end] = (first, last) if first < last <= len(self._words) else None
        return self._where[start, end]

    def knows(self, where: tuple[int, int]) -> bool:
        """Whether it has learned all of these words: of others it cannot tell what they exclude."""
        return all(word in net.net().ids for word in self._words[slice(*where)])

    def place(self, start: int, end: int) -> Place:
        """By words."""
        if (start, end) not in self._places:
            self._places[start, end] = net.place(self._states, self._words, start, end)
        return self._places[start, end]

    def chances(self, edits: Sequence[Asked]) -> Array:
        """Of VERDICTS for each; nothing passes where the net cannot look."""
        found = np.zeros((len(edits), len(VERDICTS)), np.float32)
        found[:, 2] = 1.0
        asked, at, new, facts = [], [], [], []
        for row, edit in enumerate(edits):
            where, (words, size, vector) = self.words_at(edit.start, edit.end), _known(edit.to)
            if where is not None and size:
                asked.append(row)
                at.append(where)
                new.append(vector)
                facts.append(self._facts(edit.target, edit.by, where, words, size))
        if asked:
            found[asked] = self.judged(at, np.stack(new), np.array(facts, np.float32))
        return found

    def passes(self, edit: Asked) -> float:
        """The chance to pass; once for each edit, for the checks ask about what an operation has asked about."""
        key = edit.start, edit.end, edit.to
        if key not in self._passes:
            self._passes[key] = float(self.chances([edit])[0, 0])
        return self._passes[key]

    def note(self, edit: Asked, chance: float) -> None:
        self._passes[edit.start, edit.end, edit.to] = chance

    def judged(self, at: Sequence[tuple[int, int]], new: Array, facts: Array) -> Array:
        """New words, each with the words whose place it takes."""
        places = {where: row for row, where in enumerate(dict.fromkeys(at))}
        found = [self.place(*where) for where in places]
        return net.judged(self._seen, found, np.array([places[where] for where in at]), new, facts)

    def facts_at(self, where: tuple[int, int], target: Section) -> list[float]:
        """Of a word that no other caption has."""
        return self._facts(target, "", where, frozenset(), 1)

    def _facts(self, target: Section, by: str, where: tuple[int, int], new: frozenset[str], size: int) -> list[float]:
        """Target and source, and how many of the other captions say the old words and the new ones."""
        old = self._words[slice(*where)]
        found = [0.0] * FACTS
        found[SECTIONS.index(target)] = 1.0
        found[4], found[5], found[6] = by == "captions", by == "gender", min(len(self._said), 7) / 5
        found[7], found[8] = self._share(frozenset(old) - _LITTLE), self._share(new.difference(old))
        found[9], found[10] = min(len(old), OF_EDIT) / OF_EDIT, size / OF_EDIT
        return found

    def _share(self, words: frozenset[str]) -> float:
        """Of the other captions that have one of the words."""
        if words.isdisjoint(self._all_said):
            return 0.0
        return sum(not words.isdisjoint(said) for said in self._said) / len(self._said)


@functools.lru_cache(maxsize=1 << 14)
def _known(text: str) -> tuple[frozenset[str], int, Array]:
    """The words of an edit, how many, and their vector."""
    words = words_of(text)[-OF_EDIT:]
    return frozenset(words), len(words), net.net().vector(words) if words else np.zeros(0, np.float32)


def words_of_others(said: Sequence[frozenset[str]]) -> list[tuple[str, float]]:
    """The words that most of the other captions have, and the share that have them."""
    counts = Counter(word for words in said for word in words - _LITTLE)
    kept = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:FROM_OTHERS]
    return [(word, number / max(4, len(said))) for word, number in kept]
