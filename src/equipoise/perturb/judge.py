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
        result = product(x, self.weights[f"{name}.weight"])
        if (bias := self.weights.get(f"{name}.bias")) is not None:
            result += bias
        return result

    def normed(self, name: str, x: Array) -> Array:
        width = np.float32(x.shape[-1])
        centred = x - np.add.reduce(x, -1, keepdims=True) / width
        centred /= np.sqrt(np.add.reduce(centred * centred, -1, keepdims=True) / width + np.float32(1e-5))
        return np.asarray(centred * self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"])

    def vector(self, words: Sequence[str], name: str = "words") -> Array:
        """The mean of the words' vectors; with the name "new", of their vectors as new words."""
        table, rows = self.weights[f"{name}.weight"], [self.ids.get(word, UNKNOWN) for word in words]
        return np.asarray(table[rows[0]] if len(rows) == 1 else table[rows].mean(0))


def product(x: Array, weight: Array) -> Array:
    """`x @ weight`. A single row, and columns that do not fill a block, BLAS would add up in another order."""
    columns = weight.shape[1]
    if columns % 16:
        weight = np.ascontiguousarray(np.pad(weight, ((0, 0), (0, -columns % 16))))
    result = x @ weight if len(x) != 1 else (np.concatenate((x, x)) @ weight)[:1]
    return result[:, :columns]


@functools.cache
def net() -> Net:
    return loaded(io.BytesIO(read_data("judge.npz")))


def loaded(handle: IO[bytes]) -> Net:
    """Read the net that studies/judge/learn.py wrote."""
    stored = np.load(handle, allow_pickle=False)
    texts = {name: bytes(stored[name]).decode().split("\n") for name in ("vocabulary", "nouns", "verbs")}
    listed = (name for name in stored.files if name not in {*texts, "words", "scale"})
    weights = {name: stored[name].astype(np.float32, order="C") for name in listed}
    weights["words.weight"] = stored["words"].astype(np.float32) * stored["scale"].astype(np.float32)
    for kind in ("weight", "bias"):  # one product for three
        weights[f"place.{kind}"] = np.concatenate([weights[f"{part}.{kind}"] for part in ("first", "A", "C")], axis=-1)
    # The products of a new word are the same in every caption.
    joined = np.concatenate([weights[f"{part}.weight"] for part in ("B", "Dn", "q")], axis=-1)
    weights["new.weight"] = weights["words.weight"] @ joined
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
    """The net's vectors for the words of one place: one for the ranking, two for the judging."""

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
        """The numbers of the words in characters `start:end`; None for no word, or too far into a long caption."""
        first = bisect_left(self._starts, start)
        last = first + len(words_of(self._text[start:end]))
        return (first, last) if first < last <= len(self.words) else None

    def _look(self, start: int, end: int) -> _Here | None:
        if (where := self.words_at(start, end)) is None:
            return None
        old = self.words[slice(*where)]
        return where, frozenset(old), self._share(frozenset(old) - _LITTLE), min(len(old), OF_EDIT) / OF_EDIT

    def knows(self, where: tuple[int, int]) -> bool:
        """Whether the net has learned all of these words: it cannot tell what others exclude."""
        return all(word in net().ids for word in self.words[slice(*where)])

    @functools.cached_property
    def known_share(self) -> float:
        return sum(word in net().ids for word in self.words) / max(1, len(self.words))

    def halves(self, edits: Iterable[tuple[int, int, str, int]]) -> list[_Half | None]:
        """New words in places; an edit has characters `start:end`, the words, a number that `_about` gave."""
        halves: list[_Half | None] = []
        places, said = self._here, self._all_said
        for start, end, to, about in edits:
            if (start, end) not in places:
                places[start, end] = self._look(start, end)
            here, (new, row, size) = places[start, end], _known(to)
            if here is None or not new:
                halves.append(None)
            else:
                where, old, old_share, old_size = here
                new_share = 0.0 if new.isdisjoint(said) else self._share(new - old)
                halves.append((where, to, row, about, old_share, new_share, old_size, size))
        return halves

    def chances(self, edits: Sequence[Proposal]) -> Array:
        return chances([(self, edits)])[0]

    def swaps(self, pairs: Sequence[Pair]) -> Array:
        return swaps([(self, pairs)])[0]

    def _share(self, words: frozenset[str]) -> float:
        """The share of the other captions that have one of the words."""
        if words.isdisjoint(self._all_said):
            return 0.0
        return sum(not words.isdisjoint(said) for said in self.said) / len(self.said)


# The words of a place, the share of the other captions that have them, and their number (divided by OF_EDIT).
_Here = tuple[tuple[int, int], frozenset[str], float, float]
# The old words, the new text, its row of the word table (-1 if it is not one word), the number of its facts, the shares
# of the other captions that have the old and the new words, the numbers of both (divided by OF_EDIT).
_Half = tuple[tuple[int, int], str, int, int, float, float, float, float]


@functools.cache
def _about(target: Section, by: str, sort: int | None = None) -> int:
    """A number for all edits with these facts: their place in `_ABOUT`."""
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
    """The words of an edit, the row of a single one, and their number (divided by OF_EDIT)."""
    words = words_of(text)[-OF_EDIT:]
    row = net().ids.get(words[0], UNKNOWN) if len(words) == 1 else -1
    return frozenset(words), row, len(words) / OF_EDIT


@functools.lru_cache(maxsize=1 << 13)
def _vectors(text: str) -> tuple[Array, Array]:
    """The vector of an edit's words, and their vector as new words."""
    words = words_of(text)[-OF_EDIT:]
    return net().vector(words), net().vector(words, "new")


def words_of_others(said: Sequence[frozenset[str]]) -> list[tuple[str, float]]:
    """The words that most of the other captions have, and the share that have them."""
    counts = Counter(word for words in said for word in words - _LITTLE)
    kept = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:FROM_OTHERS]
    return [(word, number / max(4, len(said))) for word, number in kept]


def readings_of(captions: Iterable[Caption]) -> list[Reading]:
    """Readings of the captions, kept with them; the missing ones are read together."""
    readings = []
    for caption in captions:
        if (reading := _READINGS.get(caption)) is None:
            reading = _READINGS.put(caption, Reading(caption))
            IS_KNOWN.put(caption, reading.known_share == 1)
        readings.append(reading)
    read(readings)
    return readings


_READINGS: Kept[Reading] = Kept()


def reading_of(caption: Caption) -> Reading:
    return _READINGS.get(caption) or readings_of([caption])[0]


def read(readings: Sequence[Reading]) -> None:
    """Compute the missing states of the captions' words, then of the others' words."""
    if not (readings := [reading for reading in readings if reading.words and not reading.states.size]):
        return
    model = net()
    sizes = [len(reading.words) + len(reading.others) for reading in readings]
    starts = np.concatenate(([0], np.cumsum(sizes)))
    names = [word for reading in readings for word in (*reading.words, *(other for other, _ in reading.others))]
    states = model.weights["upped.weight"][[model.ids.get(word, UNKNOWN) for word in names]]
    for reading, start in zip(readings, starts, strict=False):
        own, all_ = start + len(reading.words), start + len(reading.words) + len(reading.others)
        states[start:own] += model.weights["pos"][: len(reading.words)]
        shares = np.array([share for _, share in reading.others], np.float32)[:, None]
        states[own:all_] += model.weights["seg"][0] + shares * model.weights["seg"][1]
    alike = {size: starts[:-1][[s == size for s in sizes]][:, None] + np.arange(size) for size in sorted(set(sizes))}
    layer = 0
    while f"layers.{layer}.o.weight" in model.weights:
        states = _layer(model, f"layers.{layer}", states, list(alike.values()))
        layer += 1
    states = model.normed("norm", states)
    keys, values = model.linear("k", states), model.linear("v", states)
    for reading, start, size in zip(readings, starts, sizes, strict=False):
        rows = slice(start, start + size)
        reading.states = states[rows]
        reading.keys, reading.values = (
            np.ascontiguousarray(array[rows].reshape(size, HEADS, -1).transpose(order))
            for array, order in ((keys, (1, 2, 0)), (values, (1, 0, 2)))
        )


def _layer(model: Net, name: str, states: Array, alike: Sequence[Ids]) -> Array:
    """`alike`: the rows of the captions of one length, for each length."""
    projected = model.linear(f"{name}.qkv", model.normed(f"{name}.n1", states))
    width = states.shape[1]
    attended = np.empty_like(states)
    for rows in alike:
        count, size = rows.shape
        query, key, value = projected[rows].reshape(count, size, 3, HEADS, width // HEADS).transpose(2, 0, 3, 1, 4)
        seen = _softmax(query @ key.swapaxes(-1, -2) / np.sqrt(np.float32(width // HEADS))) @ value
        attended[rows] = seen.transpose(0, 2, 1, 3).reshape(count, size, width)
    states = states + model.linear(f"{name}.o", attended)
    inner = _positive(model.linear(f"{name}.f1", model.normed(f"{name}.n2", states)))
    return np.asarray(states + model.linear(f"{name}.f2", inner))


def find_places(requests: Sequence[tuple[Reading, Iterable[tuple[int, int]]]]) -> None:
    """Compute the missing `Place` of words `start:end` of each caption, and keep it in `Reading.places`."""
    model = net()
    missing = [
        (reading, where)
        for reading, wheres in requests
        for where in dict.fromkeys(wheres)
        if where not in reading.places
    ]
    if not missing:
        return
    seen = [np.concatenate((_mean(reading.states[slice(*where)]), reading.mean)) for reading, where in missing]
    old = np.stack([model.vector(reading.words[slice(*where)], "upped") for reading, where in missing])
    vectors = model.linear("place", _positive(model.linear("slot", np.concatenate((np.stack(seen), old), axis=1))))
    rank, scale = model.weights["first.weight"].shape[1], model.weights["A.weight"].shape[1]
    for (reading, where), row in zip(missing, vectors, strict=True):
        reading.places[where] = Place(row[:rank], row[rank : rank + scale], row[rank + scale :])


def _mean(states: Array) -> Array:
    return states[0] if len(states) == 1 else np.asarray(np.add.reduce(states, 0) / np.float32(len(states)))


def chances(requests: Sequence[tuple[Reading, Sequence[Proposal]]]) -> list[Array]:
    """The chances of VERDICTS for each edit of each caption; zeros where the net cannot look."""
    halves = [
        reading.halves([(e.start, e.end, e.to, _about(e.target, e.by)) for e in edits]) for reading, edits in requests
    ]
    features = _considered(
        [(reading, list(filter(None, listed))) for (reading, _), listed in zip(requests, halves, strict=True)]
    )
    judged = _softmax(net().linear("out2", features)) if len(features) else features
    return _scattered([[half is not None for half in listed] for listed in halves], judged)


def swaps(requests: Sequence[tuple[Reading, Sequence[Pair]]]) -> list[Array]:
    """`chances` for words that change places."""
    half_pairs: list[list[tuple[_Half, _Half] | None]] = []
    for reading, pairs in requests:
        abouts = [_about("attribute" if pair.sort == 0 else "object", "", pair.sort) for pair in pairs]
        firsts = reading.halves(
            (*pair.first, pair.into_first, about) for pair, about in zip(pairs, abouts, strict=True)
        )
        seconds = reading.halves(
            (*pair.second, pair.into_second, about) for pair, about in zip(pairs, abouts, strict=True)
        )
        half_pairs.append([(a, b) if a and b else None for a, b in zip(firsts, seconds, strict=True)])
    halves, between = [], []
    read([reading for reading, _ in requests])
    for (reading, _), listed in zip(requests, half_pairs, strict=True):
        halves.append((reading, [half for half_pair in listed if half_pair for half in half_pair]))
        for first, second in filter(None, listed):
            inside = reading.states[first[0][1] : second[0][0]]
            between.append(np.add.reduce(inside, 0) / np.float32(max(1, len(inside))))
    if len(judged := (features := _considered(halves))):
        joined = np.concatenate((features[::2], features[1::2], np.stack(between)), axis=1)
        judged = _softmax(net().linear("both2", _positive(net().linear("both1", joined))))
    return _scattered([[half_pair is not None for half_pair in listed] for listed in half_pairs], judged)


def _considered(requests: Sequence[tuple[Reading, Sequence[_Half]]]) -> Array:
    """A row of features for each new word in its place; the new words of a caption attend to its words together."""
    model = net()
    requests = [(reading, halves) for reading, halves in requests if halves]
    read([reading for reading, _ in requests])
    if not requests:
        return np.zeros((0, model.weights["out1.weight"].shape[1]), np.float32)
    find_places([(reading, [half[0] for half in halves]) for reading, halves in requests])
    listed = [half for _, halves in requests for half in halves]
    rows = [half[2] for half in listed]
    new, projected = model.weights["words.weight"][rows], model.weights["new.weight"][rows]
    for place, row in enumerate(rows):
        if row < 0:
            new[place], projected[place] = _vectors(listed[place][1])
    size = model.weights["B.weight"].shape[1]
    attended, start = np.empty_like(new), 0
    for reading, halves in requests:
        here = slice(start, start := start + len(halves))
        width = reading.values.shape[-1]
        query = projected[here, 2 * size :].reshape(-1, HEADS, width).transpose(1, 0, 2)
        seen = _softmax(query @ reading.keys / np.sqrt(np.float32(width))) @ reading.values
        attended[here] = seen.transpose(1, 0, 2).reshape(len(halves), -1)
    places: dict[tuple[int, tuple[int, int]], int] = {}
    at = [places.setdefault((k, half[0]), len(places)) for k, (_, halves) in enumerate(requests) for half in halves]
    known = [requests[k][0].places[where] for k, where in places]
    inner = np.stack([place.scale for place in known])[at]
    inner *= projected[:, :size]
    inner += np.stack([place.shift for place in known])[at]
    inner += projected[:, size : 2 * size]
    inner += model.linear("r", _facts(requests, listed))
    attended *= new
    inner += model.linear("p", attended)
    return np.asarray(_positive(model.linear("out1", _positive(inner))))


def _facts(requests: Sequence[tuple[Reading, Sequence[_Half]]], halves: Sequence[_Half]) -> Array:
    """Target, source and sort of swap, and how many of the other captions have the old words and the new ones."""
    *_, abouts, old, new, old_size, new_size = zip(*halves, strict=True)
    facts = np.stack(_ABOUT)[list(abouts)]
    facts[:, 6] = np.repeat(
        [min(len(reading.said), 7) / 5 for reading, _ in requests], [len(listed) for _, listed in requests]
    )
    facts[:, 7:11] = np.array((old, new, old_size, new_size)).T
    return facts


def _scattered(known: Sequence[Sequence[bool]], judged: Array) -> list[Array]:
    """The judged rows, and zeros where nothing could be judged."""
    mask = np.array([is_known for listed in known for is_known in listed], bool)
    rows = np.zeros((len(mask), len(VERDICTS)), np.float32)
    if mask.any():
        rows[mask] = judged
    return np.split(rows, np.cumsum([len(listed) for listed in known])[:-1])
