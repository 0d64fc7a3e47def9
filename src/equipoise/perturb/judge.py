"""The judge: a learned net that tells how likely a strict reader is to let a negative pass, and which words might.

A caption is read once, then all new words for its places are judged at once. Words of the caption and of the photo's
other captions go through two small layers of attention. A place is what these make of the words that stand there. A new
word is judged by its place and by what it finds among the other words, as pass, may be true, implausible or no good
English; a swap by what is made of both its halves and of the words between. A second, cheaper head ranks all nouns or
verbs for a place. runs/judge/learn.py has the same arithmetic in torch.

The word table is int8, the rest float16, the arithmetic float32: on one machine the same bytes every time, on another
a chance may differ in its sixth digit.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Sequence
from importlib import resources
from typing import IO, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from equipoise.perturb.english.caption import Caption
from equipoise.perturb.english.vocabulary import SECTIONS, Section, word_set

Array = NDArray[np.float32]
Ids = NDArray[np.int64]
HEADS = 4
WORDS, FROM_OTHERS, OF_EDIT = 32, 28, 4  # words looked at: of the caption, of the others, of an edit
FACTS = 16
PAD, UNKNOWN = 0, 1


class Net(NamedTuple):
    ids: dict[str, int]
    weights: dict[str, Array]
    nouns: tuple[str, ...]  # what may be proposed
    verbs: tuple[str, ...]

    def linear(self, name: str, x: Array) -> Array:
        made = x @ self.weights[f"{name}.weight"]
        bias = self.weights.get(f"{name}.bias")
        return made if bias is None else made + bias

    def normed(self, name: str, x: Array) -> Array:
        width = np.float32(x.shape[-1])
        centred = x - np.add.reduce(x, -1, keepdims=True) / width
        spread = np.sqrt(np.add.reduce(centred * centred, -1, keepdims=True) / width + np.float32(1e-5))
        return np.asarray(centred / spread * self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"])

    def vector(self, words: Sequence[str]) -> Array:
        """The mean of the words' vectors."""
        table = self.weights["words.weight"]
        if len(words) == 1:
            return np.asarray(table[self.ids.get(words[0], UNKNOWN)])
        return np.asarray(table[[self.ids.get(word, UNKNOWN) for word in words]].mean(0))


@functools.cache
def net() -> Net:
    with resources.files("equipoise.perturb").joinpath("data", "judge.npz").open("rb") as handle:
        return loaded(handle)


def loaded(handle: IO[bytes]) -> Net:
    """What runs/judge/learn.py wrote."""
    stored = np.load(handle, allow_pickle=False)
    texts = {name: bytes(stored[name]).decode().split("\n") for name in ("vocabulary", "nouns", "verbs")}
    weights = {name: stored[name].astype(np.float32) for name in stored.files if name not in {*texts, "words", "scale"}}
    weights["words.weight"] = stored["words"].astype(np.float32) * stored["scale"].astype(np.float32)
    for name, parts in (("place", ("first", "A", "C")), ("new", ("B", "Dn", "q"))):  # one product for three
        for kind in ("weight", "bias"):
            listed = [weights[f"{part}.{kind}"] for part in parts if f"{part}.{kind}" in weights]
            if listed:
                weights[f"{name}.{kind}"] = np.concatenate(listed, axis=-1)
    ids = {word: place for place, word in enumerate(texts["vocabulary"])}
    return Net(ids, weights, tuple(texts["nouns"]), tuple(texts["verbs"]))


def read(words: list[str], others: list[tuple[str, float]]) -> Array:
    """The states of the caption's words, then of the others' words."""
    mine = net()
    table = mine.weights["words.weight"]
    own = table[[mine.ids.get(word, UNKNOWN) for word in words]] @ mine.weights["up.weight"]
    states = own + mine.weights["pos"][: len(words)]
    if others:
        told = table[[mine.ids.get(word, UNKNOWN) for word, _ in others]] @ mine.weights["up.weight"]
        shares = np.array([share for _, share in others], np.float32)[:, None]
        states = np.concatenate((states, told + mine.weights["seg"][0] + shares * mine.weights["seg"][1]))
    layer = 0
    while f"layers.{layer}.o.weight" in mine.weights:
        states = _layer(mine, f"layers.{layer}", states)
        layer += 1
    return mine.normed("norm", states)


def _layer(mine: Net, name: str, states: Array) -> Array:
    size, width = states.shape
    asked = mine.linear(f"{name}.qkv", mine.normed(f"{name}.n1", states))
    query, key, value = asked.reshape(size, 3, HEADS, width // HEADS).transpose(1, 2, 0, 3)
    seen = _softmax(query @ key.transpose(0, 2, 1) / np.sqrt(np.float32(width // HEADS))) @ value
    states = states + mine.linear(f"{name}.o", seen.transpose(1, 0, 2).reshape(size, width))
    inner = np.maximum(mine.linear(f"{name}.f1", mine.normed(f"{name}.n2", states)), 0)
    return states + mine.linear(f"{name}.f2", inner)


class Place(NamedTuple):
    """What the net makes of the words that stand somewhere: for the ranking, and twice for the judging."""

    rank: Array
    scale: Array
    shift: Array


def places(states: Array, words: list[str], wheres: Sequence[tuple[int, int]]) -> list[Place]:
    """Of the caption's words `start:end`, for each."""
    mine = net()
    whole = _mean(states)
    old = np.stack([mine.vector(words[start:end]) for start, end in wheres]) @ mine.weights["up.weight"]
    seen = [np.concatenate((_mean(states[start:end]), whole)) for start, end in wheres]
    found = np.maximum(mine.linear("slot", np.concatenate((np.stack(seen), old), axis=1)), 0)
    rank, scale = mine.weights["first.weight"].shape[1], mine.weights["A.weight"].shape[1]
    return [Place(*np.split(row, (rank, rank + scale))) for row in mine.linear("place", found)]


def _mean(states: Array) -> Array:
    return np.asarray(np.add.reduce(states, 0) / np.float32(len(states)))


class Seen(NamedTuple):
    """What new words ask of the caption's words, worked out once."""

    key: Array
    value: Array


def seen_of(states: Array) -> Seen:
    key, value = (net().linear(name, states).reshape(len(states), HEADS, -1) for name in ("k", "v"))
    return Seen(np.ascontiguousarray(key.transpose(1, 2, 0)), np.ascontiguousarray(value.transpose(1, 0, 2)))


def considered(seen: Seen, places: Sequence[Place], at: Ids, new: Array, facts: Array) -> Array:
    """What the net makes of each new word, its place (by number) and its facts."""
    mine = net()
    width = seen.value.shape[-1]
    size = mine.weights["B.weight"].shape[1]
    scaled, plain, query = np.split(mine.linear("new", new), (size, 2 * size), axis=1)
    query = query.reshape(-1, HEADS, width).transpose(1, 0, 2)
    found = _softmax(query @ seen.key / np.sqrt(np.float32(width))) @ seen.value
    scale, shift = np.stack([each.scale for each in places])[at], np.stack([each.shift for each in places])[at]
    inner = scale * scaled + shift + plain + mine.linear("r", facts)
    inner = inner + mine.linear("p", found.transpose(1, 0, 2).reshape(len(new), -1) * new)
    return np.maximum(mine.linear("out1", np.maximum(inner, 0)), 0)


def judged(considered: Array) -> Array:
    """The chances of the four verdicts."""
    return _softmax(net().linear("out2", considered))


def judged_pairs(first: Array, second: Array, between: Array) -> Array:
    """The same of two new words that change places, and the mean state of the words between them."""
    joined = np.concatenate((first, second, between), axis=1)
    return _softmax(net().linear("both2", np.maximum(net().linear("both1", joined), 0)))


def ranks(one: Place, new: Array, bias: Array) -> Array:
    """The cheap head: higher is likelier to pass."""
    return np.asarray(new @ one.rank + bias)


def _softmax(x: Array) -> Array:
    grown = np.exp(x - np.maximum.reduce(x, -1, keepdims=True))
    return np.asarray(grown / np.add.reduce(grown, -1, keepdims=True))


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
        self._states = read(self._words, words_of_others(self._said))
        self._where: dict[tuple[int, int], tuple[int, int] | None] = {}
        self._seen = seen_of(self._states)
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
        return all(word in net().ids for word in self._words[slice(*where)])

    def places(self, wheres: Sequence[tuple[int, int]]) -> list[Place]:
        """By words."""
        missing = [where for where in dict.fromkeys(wheres) if where not in self._places]
        if missing:
            self._places |= zip(missing, places(self._states, self._words, missing), strict=True)
        return [self._places[where] for where in wheres]

    def chances(self, edits: Sequence[Asked]) -> Array:
        """Of VERDICTS for each; nothing passes where the net cannot look."""
        found = _nothing(len(edits))
        halves = [self._half(edit.start, edit.end, edit.to, edit.target, edit.by) for edit in edits]
        asked = [row for row, half in enumerate(halves) if half is not None]
        if asked:
            found[asked] = judged(self._considered([half for half in halves if half is not None]))
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
            found[asked] = judged_pairs(made[::2], made[1::2], np.stack(between))
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
        return considered(self._seen, self.places(list(rows)), at, new, facts)

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
    return frozenset(words), len(words), net().vector(words) if words else np.zeros(0, np.float32)


def words_of_others(said: Sequence[frozenset[str]]) -> list[tuple[str, float]]:
    """The words that most of the other captions have, and the share that have them."""
    counts = Counter(word for words in said for word in words - _LITTLE)
    kept = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:FROM_OTHERS]
    return [(word, number / max(4, len(said))) for word, number in kept]
