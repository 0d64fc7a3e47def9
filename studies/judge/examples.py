"""Captions and edits of them as the arrays that the judge's net learns from; its facts are those of the package."""

from __future__ import annotations

import functools
from collections import Counter
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from equipoise.language.vocabulary import SECTIONS
from equipoise.perturb.judge import FACTS, FROM_OTHERS, OF_EDIT, PAD, SORTS, UNKNOWN, WORDS, words_of, words_of_others

MOST_WORDS, LEAST_SEEN = 8000, 6
ITS_OWN = frozenset(("judge", "reader", "proposer", "wide"))  # who proposed what no list has: the names it had in time
_OTHERS_FACTS = slice(6, 9)  # what is not known where the other captions are hidden


class Half(NamedTuple):
    """New words in a place; a replacement has one, a swap two."""

    first: int  # words
    last: int
    new: tuple[str, ...]
    facts: np.ndarray


class Data:
    """Edits by caption; `target` are the chances of the four verdicts."""

    def __init__(self) -> None:
        self.captions: dict[tuple[str, tuple[str, ...]], int] = {}
        self.own: list[list[str]] = []
        self.others: list[list[tuple[str, float]]] = []
        self.worth: list[float] = []  # how often a caption is drawn
        self.edits: list[tuple[int, list[Half], Any]] = []

    def add(self, block: dict[str, Any], made: dict[str, Any], target: Any, worth: float = 1.0) -> None:
        """Add an edit, unless the net cannot look at it, as in the package."""
        text, others = block["caption"], tuple(block["others"])
        said = said_by(others)
        halves = [half_of(text, said, *edit) for edit in asked_of(made)]
        kept = [half for half in halves if half is not None]
        if len(kept) < len(halves):
            return
        if (text, others) not in self.captions:
            self.captions[text, others] = len(self.own)
            self.own.append(words_of(text)[:WORDS])
            self.others.append(words_of_others(said))
            self.worth.append(worth)
        place = self.captions[text, others]
        self.worth[place] = max(self.worth[place], worth)
        self.edits.append((place, kept, target))


@functools.lru_cache(maxsize=2)  # one edit of a caption after another
def said_by(others: tuple[str, ...]) -> tuple[frozenset[str], ...]:
    return tuple(frozenset(words_of(other)) for other in others)


def asked_of(made: dict[str, Any]) -> list[tuple[tuple[int, int], str, str, str, int | None]]:
    """Span, new words, target, source and sort of swap, of each half."""
    if made["op"] != "swap":
        return [(made["span"], made["to"], made["target"], made["by"], None)]
    sort = SORTS.index(made["sort"])
    target = "attribute" if sort == 0 else "object"
    return [(made[which], made[f"into_{which}"], target, "", sort) for which in ("first", "second")]


def half_of(
    text: str, said: tuple[frozenset[str], ...], span: tuple[int, int], to: str, target: str, by: str, sort: int | None
) -> Half | None:
    start, end = span
    first, old, new = len(words_of(text[:start])), words_of(text[start:end]), words_of(to)[-OF_EDIT:]
    if not old or not new or first + len(old) > WORDS:
        return None
    facts = np.zeros(FACTS, np.float32)
    facts[SECTIONS.index(target)] = 1
    facts[4], facts[5], facts[6] = by == "captions", by == "gender", min(len(said), 7) / 5
    content = frozenset(word for word, _ in words_of_others([frozenset(old)]))
    for place, words in ((7, content), (8, frozenset(new).difference(old))):
        facts[place] = sum(not words.isdisjoint(each) for each in said) / max(1, len(said))
    facts[9], facts[10] = min(len(old), OF_EDIT) / OF_EDIT, len(new) / OF_EDIT
    if sort is not None:
        facts[11 + sort] = 1
    facts[15] = by in ITS_OWN
    return Half(first, first + len(old), tuple(new), facts)


class Arrays:
    """The edits as arrays, in the order of their captions."""

    def __init__(self, data: Data, ids: dict[str, int]) -> None:
        size = len(data.own)
        self.own, self.told = np.zeros((size, WORDS), np.int64), np.zeros((size, FROM_OTHERS), np.int64)
        self.shares, self.worth = np.zeros((size, FROM_OTHERS), np.float32), np.array(data.worth)
        for row, (own, others) in enumerate(zip(data.own, data.others, strict=True)):
            self.own[row, : len(own)] = [ids.get(word, UNKNOWN) for word in own]
            self.told[row, : len(others)] = [ids.get(word, UNKNOWN) for word, _ in others]
            self.shares[row, : len(others)] = [share for _, share in others]
        edits = sorted(data.edits, key=lambda edit: edit[0])
        self.offsets = np.searchsorted([place for place, *_ in edits], np.arange(size + 1))
        self.targets = np.array([target for *_, target in edits], np.float32)
        halves = [half for _, listed, _ in edits for half in listed]
        self.half = np.cumsum([0, *(len(listed) for _, listed, _ in edits)])[:-1]  # the first of each edit
        self.swap = np.array([len(listed) > 1 for _, listed, _ in edits], bool)
        self.first, self.last = (np.array([half[part] for half in halves]) for part in (0, 1))
        self.new = np.full((len(halves), OF_EDIT), PAD)
        for row, half in enumerate(halves):
            self.new[row, : len(half.new)] = [ids.get(word, UNKNOWN) for word in half.new]
        self.facts = np.array([half.facts for half in halves], np.float32)

    def with_swaps(self) -> np.ndarray:
        """The captions that have a swap."""
        starts = np.searchsorted(self.offsets, np.flatnonzero(self.swap), side="right") - 1
        return np.unique(starts)

    def batch(self, chosen: np.ndarray, hide: float, most: int, device: str) -> tuple[Any, Tensor]:
        """These captions with at most `most` edits each; a share `hide` of them is without its other captions."""
        listed = [np.arange(self.offsets[place], self.offsets[place + 1]) for place in chosen]
        listed = [rows if len(rows) <= most else np.random.choice(rows, most, replace=False) for rows in listed]
        rows = np.concatenate(listed)
        caption = np.repeat(np.arange(len(chosen)), [len(part) for part in listed])
        two = np.flatnonzero(self.swap[rows])
        halves, caption = np.append(self.half[rows], self.half[rows[two]] + 1), np.append(caption, caption[two])
        hidden = np.random.random(len(chosen)) < hide
        facts = self.facts[halves]
        facts[hidden[caption], _OTHERS_FACTS] = 0
        told, shares = (np.where(hidden[:, None], 0, part[chosen]) for part in (self.told, self.shares))
        edits = {"caption": caption, "first": self.first[halves], "last": self.last[halves]}
        edits |= {"new": self.new[halves], "facts": facts, "two": two}
        sent = {name: torch.from_numpy(part).to(device) for name, part in edits.items()}
        read, said, how_many = (torch.from_numpy(part).to(device) for part in (self.own[chosen], told, shares))
        return (read, said, how_many.float(), sent), torch.from_numpy(self.targets[rows]).to(device)


def vocabulary(sets: list[Data]) -> list[str]:
    """The words of the captions and of replacements; a swap brings in none."""
    counts: Counter[str] = Counter()
    for data in sets:
        for own in data.own:
            counts.update(own)
        for _, halves, _ in data.edits:
            if len(halves) == 1:
                counts.update(halves[0].new)
    return ["<pad>", "<unk>", *(word for word, n in counts.most_common(MOST_WORDS) if n >= LEAST_SEEN)]
