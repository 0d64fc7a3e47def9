"""The judge's net, in numpy: a caption is read once, then all new words for its places are judged at once.

Words of the caption and of the photo's other captions go through two small layers of attention. A place is what these
make of the words that stand there. A new word is judged by its place and by what it finds among the other words, as
pass, may be true, implausible or no good English; a swap by what is made of both its halves and of the words between.
A second, cheaper head ranks all nouns or verbs for a place. runs/judge/learn.py has the same arithmetic in torch.

The word table is int8, the rest float16, the arithmetic float32: on one machine the same bytes every time, on another
a chance may differ in its sixth digit.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from importlib import resources
from typing import IO, NamedTuple

import numpy as np
from numpy.typing import NDArray

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
