"""Collocations: the pairs a word forms with its neighbours, (in, field), (hold, cup), and which pairs captions have.

The same function reads pairs to count them (studies/make_pair_counts.py) and, with the place of a word left open, to
judge other words for it. A common word does not fit a place where it would often be seen if it fitted, but is not seen:
"in a beach", "tall water", "talking on a sandwich".
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from typing import NamedTuple

from equipoise.language.caption import COLLECTIVES, Caption, NounPhrase
from equipoise.language.vocabulary import exclusive, read_data, word_list, word_set

# prep: in, field · object: hold, cup · via: talk on, phone · subject: dog, run · modifier: tall, tree; street, sign ·
# of: slice, cake · particle: sit, on · adverb: massively, tall · verbs: sit, parked · onward: ride (a horse), through
RELATIONS = ("prep", "object", "via", "subject", "modifier", "of", "particle", "adverb", "verbs", "onward")
_CHOOSY = word_set("choosy adjectives")
_BOUND = word_set("bound adjectives")  # high tech, deep dish
_WAYS = word_set("ways")


class WordPair(NamedTuple):
    """Two words in a relation; None stands for the open place."""

    relation: str
    first: str | None
    second: str | None
    prefix: str = ""  # of the open first word: "talk" stays where "on" is replaced
    suffix: str = ""  # "on" stays where "talk" is replaced
    narrow: bool = False  # the other word goes with few: a noun or participle as modifier, an adverb

    def filled(self, word: str) -> tuple[str, str, str]:
        first = f"{self.prefix}{word}{self.suffix}" if self.first is None else self.first
        return self.relation, first, word if self.second is None else self.second


def pairs_at(caption: Caption, start: int, end: int) -> Iterator[WordPair]:
    """The pairs that units `start:end` form with their neighbours, with themselves left open."""
    kind = caption.units[start].kind
    phrase = caption.phrase_at.get(start)
    if phrase is not None and phrase.head == end - 1:
        yield from _of_head(caption, phrase, start)
    elif phrase is not None and phrase.core <= start and kind != "verb":
        yield from _of_modifier(caption, start, end, phrase)
    elif phrase is not None and phrase.core <= start:
        yield WordPair(
            "modifier", None, caption.units[phrase.head].lemma, narrow=True
        )  # painted walls, not climbed ones
    elif kind == "verb":
        yield from _of_verb(caption, start, end)
    elif kind == "preposition":
        yield from _of_preposition(caption, start, end)
    elif kind == "adjective":
        yield from _of_predicate(caption, start)


def _of_head(caption: Caption, phrase: NounPhrase, start: int) -> Iterator[WordPair]:
    units = caption.units
    for place in range(phrase.core, start):
        unit = units[place]
        if unit.kind == "adjective":
            narrow = unit.word.endswith("ed") or "-" in unit.word or unit.word in _CHOOSY
            yield WordPair("modifier", unit.word, None, narrow=narrow)
        elif unit.kind in {"noun", "verb"} and (place == start - 1 or unit.kind == "verb"):
            yield WordPair("modifier", unit.word, None, narrow=unit.word not in qualities())
    governor = governor_of(caption, phrase)
    if governor >= 0:
        unit = units[governor]
        if unit.word == "of":
            inner = caption.unit_at(governor - 1)
            if inner is not None and inner.kind == "noun":
                yield WordPair("of", inner.lemma, None, narrow=True)
        elif unit.kind == "preposition":
            yield WordPair("prep", unit.word, None)
            if governor and units[governor - 1].kind == "verb":
                yield WordPair("via", f"{units[governor - 1].lemma} {unit.word}", None)
        elif unit.kind == "verb" and unit.pos in {"VBN", "VBD"} and phrase.start == phrase.core:
            yield WordPair("modifier", unit.word, None, narrow=True)  # eating long clipped | grass
        elif unit.kind == "verb":
            yield WordPair("object", unit.lemma, None)
    after = phrase.end
    if after < len(units) and units[after].word == "of":
        inside = caption.phrase_at.get(after + 1)
        if inside is not None:
            yield WordPair("of", None, units[inside.head].lemma, narrow=True)
    if governor < 0 or units[governor].kind != "preposition" or units[governor].word == "of":
        while after < len(units) and units[after].kind in {"be", "adverb", "relative"}:
            after += 1
        if after < len(units) and units[after].kind == "verb":
            yield WordPair("subject", None, units[after].lemma)


def governor_of(caption: Caption, phrase: NounPhrase) -> int:
    """The preposition or verb before a phrase, or before the first of the phrases that "and" joins; -1 for none."""
    units, before = caption.units, phrase.start - 1
    while before > 0 and units[before].word in {"and", ","}:
        joined = caption.phrase_at.get(before - 1)
        if joined is None or joined.head != before - 1:
            return -1
        before = joined.start - 1
    return before if before >= 0 and units[before].kind in {"preposition", "verb"} else -1


def _of_modifier(caption: Caption, start: int, end: int, phrase: NounPhrase) -> Iterator[WordPair]:
    units = caption.units
    if units[start].kind != "noun" or units[start].word in qualities():
        yield WordPair("modifier", None, units[phrase.head].lemma)
    elif end == phrase.head:
        yield WordPair("modifier", None, units[phrase.head].lemma, narrow=True)
    if start > phrase.start:
        before = units[start - 1]
        if before.kind in {"adverb", "noun"}:
            yield WordPair("adverb", before.word, None, narrow=True)


def _of_predicate(caption: Caption, place: int) -> Iterator[WordPair]:
    units = caption.units
    if place and units[place - 1].kind == "be":
        subjects = caption.subjects_of(place)
        if subjects:
            yield WordPair("modifier", None, subjects[0])
    elif place and units[place - 1].kind in {"adverb", "noun"}:
        yield WordPair("adverb", units[place - 1].word, None, narrow=True)


def _of_verb(caption: Caption, start: int, end: int) -> Iterator[WordPair]:
    units = caption.units
    subjects = caption.subjects_of(start)
    if subjects:
        yield WordPair("subject", subjects[-1], None)
    if start:
        before = units[start - 1]
        if before.kind == "adverb":
            yield WordPair("adverb", before.word, None, narrow=True)
        elif before.kind == "verb":
            yield WordPair("verbs", before.lemma, None, narrow=True)
    if end >= len(units):
        return
    after = units[end]
    phrase = caption.phrase_at.get(end)
    if phrase is not None and phrase.start == end:
        yield WordPair("object", None, units[phrase.head].lemma)
        if phrase.end < len(units) and units[phrase.end].word in _WAYS:
            yield WordPair("onward", None, units[phrase.end].word, narrow=True)
    elif after.kind == "preposition":
        yield WordPair("particle", None, after.word)
        inner = caption.phrase_at.get(end + 1)
        if inner is not None and inner.start == end + 1:
            yield WordPair("via", None, units[inner.head].lemma, suffix=f" {after.word}")
    elif after.kind in {"adverb", "adjective"}:
        yield WordPair("particle", None, after.word, narrow=not after.word.endswith("ly"))
    elif after.kind in {"mark", "and"} or after.kind == "verb":
        yield WordPair("particle", None, "." if after.kind != "verb" else after.lemma)


def _of_preposition(caption: Caption, start: int, end: int) -> Iterator[WordPair]:
    units = caption.units
    phrase = caption.phrase_at.get(end)
    noun = units[phrase.head].lemma if phrase is not None and phrase.start == end else None
    if noun is not None:
        yield WordPair("prep", None, noun)
    if start and units[start - 1].kind == "verb":
        verb = units[start - 1].lemma
        yield WordPair("particle", verb, None)
        if noun is not None:
            yield WordPair("via", None, noun, prefix=f"{verb} ")


def noun_before(caption: Caption, start: int, end: int) -> tuple[int, WordPair] | None:
    """The first character of the nouns that modify the head at `start:end`, and the last noun's pair with it."""
    units, place = caption.units, start - 1
    phrase = caption.phrase_at.get(start)
    if phrase is None or phrase.head != end - 1 or place < phrase.core or units[place].kind != "noun":
        return None
    if caption.is_name(place) or units[place - 1].word in _BOUND:
        return None
    if phrase.start == phrase.core and phrase.start and units[phrase.start - 1].kind != "preposition":
        return None  # two mallards float and drink water: no noun at all
    pair = WordPair("modifier", units[place].word, None, narrow=units[place].word not in qualities())
    while place > phrase.core and units[place - 1].kind == "noun":
        place -= 1
    if place and units[place - 1].kind == "number" and units[phrase.head].pos == "NN":
        return None  # a red two level city bus
    return units[place].start, pair


@functools.cache
def qualities() -> frozenset[str]:
    """Words of our attribute sets: wood, metal and orange go with anything that can be made or painted."""
    sets = (line for line in exclusive() if line.section == "attribute")
    listed = (member for line in sets for group in line.groups for member in group)
    return frozenset(member.entry.text for member in listed if member.replaced or member.chosen)


# Relation -> (how often a pair must be expected before its absence says something, the least share of the expected
# number that must be seen).
_LEAST: dict[str, tuple[float, float]] = {
    "prep": (0.3, 0.25), "object": (0.5, 0.15), "via": (0.4, 0.15), "subject": (2.0, 0.08), "modifier": (2.0, 0.06),
    "of": (0.1, 0.05), "particle": (1.0, 0.1), "adverb": (0.0, 0.02), "verbs": (0.0, 0.02), "onward": (0.0, 0.02),
}  # fmt: skip
_UNFIT = frozenset(tuple(pair.split(" + ")) for pair in word_list("pairs that do not fit"))
RARE = 15  # photos: nothing is known of words that fewer photos have
_TELLING = 60  # a verb seen so often takes no object that it was never seen with ("riding his taxi")
OF_ANYTHING = COLLECTIVES | word_set("heads of anything")
# Pairs that fit although no counted caption has them.
FITTING = frozenset(tuple(pair.split(" + ")) for pair in word_list("pairs that fit"))
_ANY_WORD = word_set("adverbs of degree")


class _Counts(NamedTuple):
    """The counts of one relation: first word -> second word -> number, and the sums of both."""

    pairs: dict[str, dict[str, int]]
    first: dict[str, int]
    second: dict[str, int]
    total: int


@functools.cache
def _read() -> dict[str, dict[str, dict[str, int]]]:
    tables: dict[str, dict[str, dict[str, int]]] = json.loads(read_data("pairs.json.gz"))
    return tables


@functools.cache
def _tables() -> dict[str, _Counts]:
    tables = {}
    for relation in (*RELATIONS, "where", "scene"):
        pairs = _read().get(relation, {})
        second: dict[str, int] = {}
        for listed in pairs.values():
            for word, number in listed.items():
                second[word] = second.get(word, 0) + number
        first = {word: sum(listed.values()) for word, listed in pairs.items()}
        tables[relation] = _Counts(pairs, first, second, sum(second.values()))
    return tables


class Counted(NamedTuple):
    """How often a pair was counted, how often its words would come together by chance, and the first word's count."""

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
    """The number of words with which the first word of a relation was seen."""
    return len(_tables()[relation].pairs.get(first, ()))


@functools.lru_cache(maxsize=1 << 16)
def in_images(word: str, other: str) -> tuple[int, float]:
    """How many photos have both words in their captions, and how many would by chance.

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
    """Whether photos that show `noun` quite often show the `other` too, by their captions."""
    return other in _read()["together"].get(noun, ())


def misfit(pair: WordPair, word: str, strictness: float = 1.0) -> bool:
    """Whether captions show that the word does not fit the pair. Nouns as modifiers, participles and adverbs go with
    few words ("name plate", "open faced", "massively tall"): these pairs must have been seen. For others, absence must
    say something."""
    narrow = pair.narrow
    if narrow and pair.first and pair.second is None and pair.relation in {"of", "modifier"}:
        narrow = not _is_broad(pair.relation, pair.first)
    return _misfit(*pair.filled(word), narrow, strictness)


@functools.lru_cache(maxsize=1 << 14)
def _is_broad(relation: str, first: str) -> bool:
    """Whether the first word goes with anything: "picture of", "colored", a misspelt word that no caption has."""
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
