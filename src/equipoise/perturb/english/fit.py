"""Which words go together in captions of photos (collocation), by counts of pairs (runs/make_pair_counts.py).

A word that is common, in a place where it would often be seen if it fitted, and is not seen there, does not fit: "in a
beach", "tall water", "talking on a sandwich".
"""

from __future__ import annotations

import functools
import gzip
import json
from importlib import resources
from typing import NamedTuple

from equipoise.perturb.english.caption import COLLECTIVES
from equipoise.perturb.english.collocations import RELATIONS, Pair
from equipoise.perturb.english.vocabulary import word_set

# Relation -> (how often a pair would have to be expected before its absence says something, the least share of that
# that must be seen).
_LEAST: dict[str, tuple[float, float]] = {
    "prep": (0.3, 0.25),
    "object": (0.5, 0.15),
    "via": (0.4, 0.15),
    "subject": (2.0, 0.08),
    "modifier": (2.0, 0.06),
    "of": (0.1, 0.05),
    "particle": (1.0, 0.1),
    "adverb": (0.0, 0.02),
    "verbs": (0.0, 0.02),
    "onward": (0.0, 0.02),
}
_UNFIT = frozenset(  # though captions say so; to jump on a horse is to mount it
    [(f"{verb} on", noun) for verb in ("jump", "leap") for noun in ("horse", "motorcycle", "bike", "moped", "scooter")]
    + [(noun, "drive") for noun in ("bike", "bicycle")]
    + [("ride", noun) for noun in ("car", "truck", "van", "airplane", "plane", "ski", "kite")]
)
RARE = 15  # photos: of words that fewer have nothing is known
_TELLING = 60  # a verb seen so often takes no object that it was never seen with ("riding his taxi")
OF_ANYTHING = COLLECTIVES | word_set("heads of anything")
FITTING = frozenset(  # though no caption we counted says so
    (
        ("fly", "drone"),
        ("fly", "flag"),
        ("fly", "balloon"),
        ("ride", "camel"),
        ("ride", "donkey"),
        ("talk on", "walkie talkie"),
    )
)
_ANY_WORD = word_set("adverbs of degree")


class _Counts(NamedTuple):
    """Of one relation: first word -> second word -> number, and the sums of both."""

    pairs: dict[str, dict[str, int]]
    first: dict[str, int]
    second: dict[str, int]
    total: int


@functools.cache
def _read() -> dict[str, dict[str, dict[str, int]]]:
    with resources.files("equipoise.perturb").joinpath("data", "pairs.json.gz").open("rb") as handle:
        found: dict[str, dict[str, dict[str, int]]] = json.loads(gzip.decompress(handle.read()))
    return found


@functools.cache
def _tables() -> dict[str, _Counts]:
    found = {}
    for relation in (*RELATIONS, "where", "scene"):
        pairs = _read().get(relation, {})
        second: dict[str, int] = {}
        for listed in pairs.values():
            for word, number in listed.items():
                second[word] = second.get(word, 0) + number
        first = {word: sum(listed.values()) for word, listed in pairs.items()}
        found[relation] = _Counts(pairs, first, second, sum(second.values()))
    return found


class Counted(NamedTuple):
    """How often a pair was counted, how often it would be if its words came together by chance, and its first word."""

    seen: int
    expected: float
    first: int


@functools.lru_cache(maxsize=1 << 17)
def counted(relation: str, first: str, second: str) -> Counted:
    table = _tables()[relation]
    seen, all_first = table.pairs.get(first, {}).get(second, 0), table.first.get(first, 0)
    return Counted(seen, all_first * table.second.get(second, 0) / max(1, table.total), all_first)


def seen_in(relation: str, first: str, second: str) -> int:
    """How often a pair was counted."""
    return _tables()[relation].pairs.get(first, {}).get(second, 0)


def second_of(relation: str, second: str) -> int:
    """How often a word was the second of a relation."""
    return _tables()[relation].second.get(second, 0)


def variety(relation: str, first: str) -> int:
    """With how many words the first word of a relation was seen."""
    return len(_tables()[relation].pairs.get(first, ()))


@functools.lru_cache(maxsize=1 << 16)
def in_images(word: str, other: str) -> tuple[int, float]:
    """How many photos are told of with both words, in one caption or two; and how many by chance.

    A word that too few photos have stands for its last part (a school bus for a bus); 0.0: nothing is known.
    """
    shown = _read()["images"][""]
    if shown.get(word, 0) < RARE:
        word = word.split()[-1]
    if shown.get(word, 0) < RARE:
        return 0, 0.0
    return _read()["image"].get(word, {}).get(other, 0), shown[word] * shown.get(other, 0) / shown[""]


def is_known(word: str) -> bool:
    """Whether enough photos have it to say where it may be."""
    shown = _read()["images"][""]
    return max(shown.get(word, 0), shown.get(word.split()[-1], 0)) >= RARE


def is_seen_with(noun: str, other: str) -> bool:
    """Photos that show `noun` quite often show the `other` too, as far as their captions tell."""
    return other in _read()["together"].get(noun, ())


def misfit(pair: Pair, word: str, strictness: float = 1.0) -> bool:
    """What follows a noun as modifier, a participle or an adverb must have been seen at all: these go with few words
    ("name plate", "open faced", "massively tall"). Elsewhere absence must say something."""
    narrow = pair.narrow
    if narrow and pair.first and pair.second is None and pair.relation in {"of", "modifier"}:
        narrow = not _is_broad(pair.relation, pair.first)
    return _misfit(*pair.filled(word), narrow, strictness)


@functools.lru_cache(maxsize=1 << 14)
def _is_broad(relation: str, first: str) -> bool:
    """Goes with anything: "picture of", "colored", a misspelt word that no caption has."""
    if relation == "of":
        return first in OF_ANYTHING or variety(relation, first) >= 40
    often = counted(relation, first, "").first
    return often == 0 or variety(relation, first) >= max(12, 0.4 * often)


@functools.lru_cache(maxsize=1 << 16)
def _misfit(relation: str, first: str, second: str, narrow: bool, strictness: float) -> bool:
    if (relation == "adverb" and first in _ANY_WORD) or (first, second) in FITTING:
        return False
    if (first, second) in _UNFIT:
        return True
    if relation == "of" and first in OF_ANYTHING:
        return False
    seen, expected, often = counted(relation, first, second)
    common, share = _LEAST[relation]
    if seen == 0:
        telling = often >= _TELLING and relation in {"object", "via"}
        return narrow or telling or expected * strictness > common
    return seen < strictness * share * expected
