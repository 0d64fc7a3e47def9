"""The judge: a learned net that estimates how likely a strict reader is to accept a negative, and which words might do.

Words of the caption and of the photo's other captions go through two small layers of attention. A place is what these
make of the words that stand there. A new word is judged by its place and by what it finds among the other words, as
pass, may be true, implausible or no good English; a swap by what is made of both its halves and of the words between. A
second, cheaper head ranks all nouns or verbs for a place. studies/judge/learn.py has the same arithmetic in torch.

Many captions are judged together, in large products; a row of a product does not depend on the other rows (except for a
single one, see `product`), so a caption gets the same numbers in any company. The word table is int8, the rest float16,
the arithmetic float32: on another machine a chance may differ in its sixth digit.
"""

from __future__ import annotations

import functools
import io
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import IO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from equipoise.language.caption import Caption, Kept
from equipoise.language.vocabulary import SECTIONS, Section, read_data, word_set
from equipoise.perturb.recipe import IS_KNOWN, Proposal

Array = NDArray[np.float32]
Ids = NDArray[np.int64]
HEADS = 4
WORDS, FROM_OTHERS, OF_EDIT = 32, 28, 4  # words looked at: of the caption, of the others, of an edit
FACTS = 16
PAD, UNKNOWN = 0, 1


class Net(NamedTuple):
    ids: dict[str, int]
    weights: dict[str, Array]
    nouns: tuple[str, ...]  # that may be proposed
    verbs: tuple[str, ...]

    def linear(self, name: str, x: Array) -> Array:
        made = product(x, self.weights[f"{name}.weight"])
        if (bias := self.weights.get(f"{name}.bias")) is not None:
            made += bias
        return made

    def normed(self, name: str, x: Array) -> Array:
        width = np.float32(x.shape[-1])
        centred = x - np.add.reduce(x, -1, keepdims=True) / width
        centred /= np.sqrt(np.add.reduce(centred * centred, -1, keepdims=True) / width + np.float32(1e-5))
        return np.asarray(centred * self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"])

    def vector(self, words: Sequence[str], name: str = "words") -> Array:
        """The mean of the words' vectors; with "new", of what the net makes of them as new words."""
        table, rows = self.weights[f"{name}.weight"], [self.ids.get(word, UNKNOWN) for word in words]
        return np.asarray(table[rows[0]] if len(rows) == 1 else table[rows].mean(0))


def product(x: Array, weight: Array) -> Array:
    """`x @ weight`. A single row, and columns that do not fill a block, BLAS would add up in another order."""
    columns = weight.shape[1]
    if columns % 16:
        weight = np.ascontiguousarray(np.pad(weight, ((0, 0), (0, -columns % 16))))
    made = x @ weight if len(x) != 1 else (np.concatenate((x, x)) @ weight)[:1]
    return made[:, :columns]


@functools.cache
def net() -> Net:
    return loaded(io.BytesIO(read_data("judge.npz")))


def loaded(handle: IO[bytes]) -> Net:
    """What studies/judge/learn.py wrote."""
    stored = np.load(handle, allow_pickle=False)
    texts = {name: bytes(stored[name]).decode().split("\n") for name in ("vocabulary", "nouns", "verbs")}
    listed = (name for name in stored.files if name not in {*texts, "words", "scale"})
    weights = {name: stored[name].astype(np.float32, order="C") for name in listed}
    weights["words.weight"] = stored["words"].astype(np.float32) * stored["scale"].astype(np.float32)
    for kind in ("weight", "bias"):  # one product for three
        weights[f"place.{kind}"] = np.concatenate([weights[f"{part}.{kind}"] for part in ("first", "A", "C")], axis=-1)
    # What new words are made into is the same in every caption.
    made = np.concatenate([weights[f"{part}.weight"] for part in ("B", "Dn", "q")], axis=-1)
    weights["new.weight"] = weights["words.weight"] @ made
    weights["upped.weight"] = weights["words.weight"] @ weights["up.weight"]
    ids = {word: place for place, word in enumerate(texts["vocabulary"])}
    return Net(ids, weights, tuple(texts["nouns"]), tuple(texts["verbs"]))


def _softmax(x: Array) -> Array:
    grown = np.exp(x - np.maximum.reduce(x, -1, keepdims=True))
    grown /= np.add.reduce(grown, -1, keepdims=True)
    return np.asarray(grown)


_positive = functools.partial(np.maximum, 0)
_WORD = re.compile(r"[a-z]+(?:'[a-z]+)?|\d+")
_LITTLE = word_set("words without content")


class Pair(NamedTuple):
    """Words that change places: characters `first` become `into_first`."""

    sort: int  # of SORTS
    first: tuple[int, int]
    second: tuple[int, int]
    into_first: str
    into_second: str


SORTS = ("quality", "number", "noun", "phrase")
VERDICTS = ("pass", "may be true", "implausible", "no good English")


def words_of(text: str) -> list[str]:
    return _WORD.findall(text.lower())


@functools.lru_cache(maxsize=64)  # a photo's captions are each other's others
def _said(text: str) -> frozenset[str]:
    return frozenset(words_of(text))


class Place(NamedTuple):
    """What the net makes of the words that stand somewhere: for the ranking, and twice for the judging."""

    rank: Array
    scale: Array
    shift: Array


class Reading:
    """A caption as the net sees it. `states` of its words and of the others' words come with `read`."""

    def __init__(self, caption: Caption) -> None:
        self._text = caption.text
        self._starts = [match.start() for match in _WORD.finditer(caption.text.lower())]
        self.words = words_of(caption.text)[:WORDS]
        self.said = [_said(text) for text in caption.others]
        self.others = words_of_others(self.said)
        self._all_said = frozenset().union(*self.said)
        self.states = self.keys = self.values = np.zeros((0, 0), np.float32)
        self.places: dict[tuple[int, int], Place] = {}
        self._here: dict[tuple[int, int], _Here | None] = {}

    @functools.cached_property
    def mean(self) -> Array:
        return _mean(self.states)

    def words_at(self, start: int, end: int) -> tuple[int, int] | None:
        """Which words characters `start:end` are; None where they are none, or too far into a long caption."""
        first = bisect_left(self._starts, start)
        last = first + len(words_of(self._text[start:end]))
        return (first, last) if first < last <= len(self.words) else None

    def _look(self, start: int, end: int) -> _Here | None:
        if (where := self.words_at(start, end)) is None:
            return None
        old = self.words[slice(*where)]
        return where, frozenset(old), self._share(frozenset(old) - _LITTLE), min(len(old), OF_EDIT) / OF_EDIT

    def knows(self, where: tuple[int, int]) -> bool:
        """Whether it has learned all of these words: of others it cannot tell what they exclude."""
        return all(word in net().ids for word in self.words[slice(*where)])

    @functools.cached_property
    def known_share(self) -> float:
        return sum(word in net().ids for word in self.words) / max(1, len(self.words))

    def halves(self, edits: Iterable[tuple[int, int, str, int]]) -> list[_Half | None]:
        """New words in places: characters `start:end`, the words, a number that `_about` gave."""
        found: list[_Half | None] = []
        places, said = self._here, self._all_said
        for start, end, to, about in edits:
            if (start, end) not in places:
                places[start, end] = self._look(start, end)
            here, (new, row, size) = places[start, end], _known(to)
            if here is None or not new:
                found.append(None)
            else:
                where, old, told_old, old_size = here
                told = 0.0 if new.isdisjoint(said) else self._share(new - old)
                found.append((where, to, row, about, told_old, told, old_size, size))
        return found

    def chances(self, edits: Sequence[Proposal]) -> Array:
        return chances([(self, edits)])[0]

    def swaps(self, pairs: Sequence[Pair]) -> Array:
        return swaps([(self, pairs)])[0]

    def _share(self, words: frozenset[str]) -> float:
        """Of the other captions that have one of the words."""
        if words.isdisjoint(self._all_said):
            return 0.0
        return sum(not words.isdisjoint(said) for said in self.said) / len(self.said)


# Which words stand in a place, the share of the other captions that have them, and how many they are (of OF_EDIT).
_Here = tuple[tuple[int, int], frozenset[str], float, float]
# Which words, what they become, its row of the word table (-1 where it is not one word), the number of its facts, the
# shares of the other captions that have the old words and the new ones, how many these are (of OF_EDIT).
_Half = tuple[tuple[int, int], str, int, int, float, float, float, float]


@functools.cache
def _about(target: Section, by: str, sort: int | None = None) -> int:
    """A number for all edits with these facts, which stand in `_ABOUT`."""
    facts = np.zeros(FACTS, np.float32)
    facts[SECTIONS.index(target)] = 1.0
    facts[4], facts[5], facts[15] = by == "captions", by == "gender", by == "judge"
    if sort is not None:
        facts[11 + sort] = 1.0
    _ABOUT.append(facts)
    return len(_ABOUT) - 1


_ABOUT: list[Array] = []


@functools.lru_cache(maxsize=1 << 14)
def _known(text: str) -> tuple[frozenset[str], int, float]:
    """The words of an edit, the row of a single one, and how many they are."""
    words = words_of(text)[-OF_EDIT:]
    row = net().ids.get(words[0], UNKNOWN) if len(words) == 1 else -1
    return frozenset(words), row, len(words) / OF_EDIT


@functools.lru_cache(maxsize=1 << 13)
def _vectors(text: str) -> tuple[Array, Array]:
    """Of an edit: its words, and what the net makes of them as new words."""
    words = words_of(text)[-OF_EDIT:]
    return net().vector(words), net().vector(words, "new")


def words_of_others(said: Sequence[frozenset[str]]) -> list[tuple[str, float]]:
    """The words that most of the other captions have, and the share that have them."""
    counts = Counter(word for words in said for word in words - _LITTLE)
    kept = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:FROM_OTHERS]
    return [(word, number / max(4, len(said))) for word, number in kept]


def readings_of(captions: Iterable[Caption]) -> list[Reading]:
    """Readings of the captions, kept with them; what is missing is read together."""
    found = []
    for caption in captions:
        if (reading := _READINGS.get(caption)) is None:
            reading = _READINGS.put(caption, Reading(caption))
            IS_KNOWN.put(caption, reading.known_share == 1)
        found.append(reading)
    read(found)
    return found


_READINGS: Kept[Reading] = Kept()


def reading_of(caption: Caption) -> Reading:
    return _READINGS.get(caption) or readings_of([caption])[0]


def read(readings: Sequence[Reading]) -> None:
    """The states of the captions' words, then of the others' words, where they are missing."""
    if not (readings := [each for each in readings if each.words and not each.states.size]):
        return
    mine = net()
    sizes = [len(each.words) + len(each.others) for each in readings]
    starts = np.concatenate(([0], np.cumsum(sizes)))
    names = [word for each in readings for word in (*each.words, *(other for other, _ in each.others))]
    states = mine.weights["upped.weight"][[mine.ids.get(word, UNKNOWN) for word in names]]
    for each, start in zip(readings, starts, strict=False):
        own, all_ = start + len(each.words), start + len(each.words) + len(each.others)
        states[start:own] += mine.weights["pos"][: len(each.words)]
        shares = np.array([share for _, share in each.others], np.float32)[:, None]
        states[own:all_] += mine.weights["seg"][0] + shares * mine.weights["seg"][1]
    alike = {size: starts[:-1][[s == size for s in sizes]][:, None] + np.arange(size) for size in sorted(set(sizes))}
    layer = 0
    while f"layers.{layer}.o.weight" in mine.weights:
        states = _layer(mine, f"layers.{layer}", states, list(alike.values()))
        layer += 1
    states = mine.normed("norm", states)
    keys, values = mine.linear("k", states), mine.linear("v", states)
    for each, start, size in zip(readings, starts, sizes, strict=False):
        rows = slice(start, start + size)
        each.states = states[rows]
        each.keys, each.values = (
            np.ascontiguousarray(asked[rows].reshape(size, HEADS, -1).transpose(order))
            for asked, order in ((keys, (1, 2, 0)), (values, (1, 0, 2)))
        )


def _layer(mine: Net, name: str, states: Array, alike: Sequence[Ids]) -> Array:
    """`alike`: the rows of the captions of one length, for each length."""
    asked = mine.linear(f"{name}.qkv", mine.normed(f"{name}.n1", states))
    width = states.shape[1]
    found = np.empty_like(states)
    for rows in alike:
        count, size = rows.shape
        query, key, value = asked[rows].reshape(count, size, 3, HEADS, width // HEADS).transpose(2, 0, 3, 1, 4)
        seen = _softmax(query @ key.swapaxes(-1, -2) / np.sqrt(np.float32(width // HEADS))) @ value
        found[rows] = seen.transpose(0, 2, 1, 3).reshape(count, size, width)
    states = states + mine.linear(f"{name}.o", found)
    inner = _positive(mine.linear(f"{name}.f1", mine.normed(f"{name}.n2", states)))
    return np.asarray(states + mine.linear(f"{name}.f2", inner))


def find_places(wanted: Sequence[tuple[Reading, Iterable[tuple[int, int]]]]) -> None:
    """What the net makes of words `start:end` of each caption, kept in `Reading.places`."""
    mine = net()
    missing = [(each, where) for each, wheres in wanted for where in dict.fromkeys(wheres) if where not in each.places]
    if not missing:
        return
    seen = [np.concatenate((_mean(each.states[slice(*where)]), each.mean)) for each, where in missing]
    old = np.stack([mine.vector(each.words[slice(*where)], "upped") for each, where in missing])
    found = mine.linear("place", _positive(mine.linear("slot", np.concatenate((np.stack(seen), old), axis=1))))
    rank, scale = mine.weights["first.weight"].shape[1], mine.weights["A.weight"].shape[1]
    for (each, where), row in zip(missing, found, strict=True):
        each.places[where] = Place(row[:rank], row[rank : rank + scale], row[rank + scale :])


def _mean(states: Array) -> Array:
    return states[0] if len(states) == 1 else np.asarray(np.add.reduce(states, 0) / np.float32(len(states)))


def chances(asked: Sequence[tuple[Reading, Sequence[Proposal]]]) -> list[Array]:
    """Of VERDICTS for each edit of each caption; nothing passes where the net cannot look."""
    halves = [one.halves([(e.start, e.end, e.to, _about(e.target, e.by)) for e in edits]) for one, edits in asked]
    made = _considered([(one, list(filter(None, mine))) for (one, _), mine in zip(asked, halves, strict=True)])
    judged = _softmax(net().linear("out2", made)) if len(made) else made
    return _scattered([[half is not None for half in listed] for listed in halves], judged)


def swaps(asked: Sequence[tuple[Reading, Sequence[Pair]]]) -> list[Array]:
    """The same for words that change places."""
    found: list[list[tuple[_Half, _Half] | None]] = []
    for one, pairs in asked:
        abouts = [_about("attribute" if pair.sort == 0 else "object", "", pair.sort) for pair in pairs]
        firsts = one.halves((*pair.first, pair.into_first, about) for pair, about in zip(pairs, abouts, strict=True))
        seconds = one.halves((*pair.second, pair.into_second, about) for pair, about in zip(pairs, abouts, strict=True))
        found.append([(a, b) if a and b else None for a, b in zip(firsts, seconds, strict=True)])
    halves, between = [], []
    read([one for one, _ in asked])
    for (one, _), listed in zip(asked, found, strict=True):
        halves.append((one, [half for two in listed if two for half in two]))
        for first, second in filter(None, listed):
            inside = one.states[first[0][1] : second[0][0]]
            between.append(np.add.reduce(inside, 0) / np.float32(max(1, len(inside))))
    if len(judged := (made := _considered(halves))):
        joined = np.concatenate((made[::2], made[1::2], np.stack(between)), axis=1)
        judged = _softmax(net().linear("both2", _positive(net().linear("both1", joined))))
    return _scattered([[two is not None for two in listed] for listed in found], judged)


def _considered(asked: Sequence[tuple[Reading, Sequence[_Half]]]) -> Array:
    """What the net makes of each new word, its place and its facts; all of a caption at a time look at its words."""
    mine = net()
    asked = [(one, halves) for one, halves in asked if halves]
    read([one for one, _ in asked])
    if not asked:
        return np.zeros((0, mine.weights["out1.weight"].shape[1]), np.float32)
    find_places([(one, [half[0] for half in halves]) for one, halves in asked])
    listed = [half for _, halves in asked for half in halves]
    rows = [half[2] for half in listed]
    new, made = mine.weights["words.weight"][rows], mine.weights["new.weight"][rows]
    for place, row in enumerate(rows):
        if row < 0:
            new[place], made[place] = _vectors(listed[place][1])
    size = mine.weights["B.weight"].shape[1]
    found, start = np.empty_like(new), 0
    for one, halves in asked:
        here = slice(start, start := start + len(halves))
        width = one.values.shape[-1]
        query = made[here, 2 * size :].reshape(-1, HEADS, width).transpose(1, 0, 2)
        seen = _softmax(query @ one.keys / np.sqrt(np.float32(width))) @ one.values
        found[here] = seen.transpose(1, 0, 2).reshape(len(halves), -1)
    places: dict[tuple[int, tuple[int, int]], int] = {}
    at = [places.setdefault((k, half[0]), len(places)) for k, (_, halves) in enumerate(asked) for half in halves]
    known = [asked[k][0].places[where] for k, where in places]
    inner = np.stack([place.scale for place in known])[at]
    inner *= made[:, :size]
    inner += np.stack([place.shift for place in known])[at]
    inner += made[:, size : 2 * size]
    inner += mine.linear("r", _facts(asked, listed))
    found *= new
    inner += mine.linear("p", found)
    return np.asarray(_positive(mine.linear("out1", _positive(inner))))


def _facts(asked: Sequence[tuple[Reading, Sequence[_Half]]], halves: Sequence[_Half]) -> Array:
    """Target, source and sort of swap, and how many of the other captions have the old words and the new ones."""
    *_, abouts, old, new, old_size, new_size = zip(*halves, strict=True)
    found = np.stack(_ABOUT)[list(abouts)]
    found[:, 6] = np.repeat([min(len(one.said), 7) / 5 for one, _ in asked], [len(mine) for _, mine in asked])
    found[:, 7:11] = np.array((old, new, old_size, new_size)).T
    return found


def _scattered(known: Sequence[Sequence[bool]], judged: Array) -> list[Array]:
    """The rows of what was judged, zeros where nothing could be."""
    every = np.array([one for listed in known for one in listed], bool)
    rows = np.zeros((len(every), len(VERDICTS)), np.float32)
    if every.any():
        rows[every] = judged
    return np.split(rows, np.cumsum([len(listed) for listed in known])[:-1])
