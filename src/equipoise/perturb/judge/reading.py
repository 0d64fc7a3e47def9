"""A caption as the judge reads it: its words, what the other captions say, and the chances of edits of it."""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from equipoise.perturb.english.caption import Caption
from equipoise.perturb.english.vocabulary import word_set
from equipoise.perturb.english.word_lists import SECTIONS, Section
from equipoise.perturb.judge import net
from equipoise.perturb.judge.net import FACTS, FROM_OTHERS, OF_EDIT, WORDS, Array, Place

_WORD = re.compile(r"[a-z]+(?:'[a-z]+)?|\d+")
_LITTLE = word_set("words without content")


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


class Pair(NamedTuple):
    """Words that change places: characters `first` become `into_first`."""

    sort: int  # of SORTS
    first: tuple[int, int]
    second: tuple[int, int]
    into_first: str
    into_second: str


SORTS = ("quality", "number", "noun", "phrase")
VERDICTS = ("pass", "may be true", "implausible", "no good English")


class _Half(NamedTuple):
    """New words in a place."""

    where: tuple[int, int]  # words
    vector: Array
    facts: list[float]


def _nothing(size: int) -> Array:
    """No chance of any verdict."""
    return np.zeros((size, len(VERDICTS)), np.float32)


def words_of(text: str) -> list[str]:
    return _WORD.findall(text.lower())


@functools.lru_cache(maxsize=64)  # a photo's captions are each other's others
def _said(text: str) -> frozenset[str]:
    return frozenset(words_of(text))


@functools.lru_cache(maxsize=2)  # one slot of a recipe after another asks about the same caption
def reading_of(caption: Caption) -> Reading:
    return Reading(caption)


class Reading:
    def __init__(self, caption: Caption) -> None:
        self._text = caption.text
        self._words = words_of(caption.text)[:WORDS]
        self._said = [_said(text) for text in caption.others]
        self._all_said = frozenset().union(*self._said)
        self._states = net.read(self._words, words_of_others(self._said))
        self._where: dict[tuple[int, int], tuple[int, int] | None] = {}
        self._seen = net.seen_of(self._states)
        self._places: dict[tuple[int, int], Place] = {}
        self._told: dict[tuple[int, int], float] = {}

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

    def places(self, wheres: Sequence[tuple[int, int]]) -> list[Place]:
        """By words."""
        missing = [where for where in dict.fromkeys(wheres) if where not in self._places]
        if missing:
            self._places |= zip(missing, net.places(self._states, self._words, missing), strict=True)
        return [self._places[where] for where in wheres]

    def chances(self, edits: Sequence[Asked]) -> Array:
        """Of VERDICTS for each; nothing passes where the net cannot look."""
        found = _nothing(len(edits))
        halves = [self._half(edit.start, edit.end, edit.to, edit.target, edit.by) for edit in edits]
        asked = [row for row, half in enumerate(halves) if half is not None]
        if asked:
            found[asked] = net.judged(self._considered([half for half in halves if half is not None]))
        return found

    def swaps(self, pairs: Sequence[Pair]) -> Array:
        """The same for words that change places."""
        found = _nothing(len(pairs))
        asked, halves, between = [], [], []
        for row, pair in enumerate(pairs):
            target: Section = "attribute" if pair.sort == 0 else "object"
            first = self._half(*pair.first, pair.into_first, target, "", pair.sort)
            second = self._half(*pair.second, pair.into_second, target, "", pair.sort)
            if first is not None and second is not None:
                asked.append(row)
                halves += [first, second]
                inside = self._states[first.where[1] : second.where[0]]
                between.append(np.add.reduce(inside, 0) / np.float32(max(1, len(inside))))
        if asked:
            made = self._considered(halves)
            found[asked] = net.judged_pairs(made[::2], made[1::2], np.stack(between))
        return found

    def _half(self, start: int, end: int, to: str, target: Section, by: str, sort: int | None = None) -> _Half | None:
        where, (words, size, vector) = self.words_at(start, end), _known(to)
        if where is None or not size:
            return None
        return _Half(where, vector, self._facts(target, by, where, words, size, sort))

    def _considered(self, halves: Sequence[_Half]) -> Array:
        rows = {where: row for row, where in enumerate(dict.fromkeys(half.where for half in halves))}
        at = np.array([rows[half.where] for half in halves])
        new, facts = np.array([half.vector for half in halves]), np.array([half.facts for half in halves], np.float32)
        return net.considered(self._seen, self.places(list(rows)), at, new, facts)

    def _facts(
        self, target: Section, by: str, where: tuple[int, int], new: frozenset[str], size: int, sort: int | None
    ) -> list[float]:
        """Target, source and sort of swap, and how many of the other captions say the old words and the new ones."""
        old = self._words[slice(*where)]
        found = [0.0] * FACTS
        found[SECTIONS.index(target)] = 1.0
        found[4], found[5], found[6] = by == "captions", by == "gender", min(len(self._said), 7) / 5
        found[7], found[8] = self._share_of_old(where), self._share(new.difference(old))
        found[9], found[10] = min(len(old), OF_EDIT) / OF_EDIT, size / OF_EDIT
        if sort is not None:
            found[11 + sort] = 1.0
        found[15] = by == "judge"
        return found

    def _share_of_old(self, where: tuple[int, int]) -> float:
        if where not in self._told:
            self._told[where] = self._share(frozenset(self._words[slice(*where)]) - _LITTLE)
        return self._told[where]

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
