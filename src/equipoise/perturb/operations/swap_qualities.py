"""Swap two qualities of different sorts: a wooden table with a white vase -> a white table with a wooden vase.

To be true, both things would have to have the other's quality too, which hardly ever is so. Captions must have each new
pair ("wooden vase"), or it is the colour of a garment. Persons, animals and food keep theirs.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from equipoise.perturb.candidate import Candidate, Refused
from equipoise.perturb.english.caption import COLLECTIVES, Caption, NounPhrase
from equipoise.perturb.english.fit import seen_in
from equipoise.perturb.english.noun_classes import is_animate, is_food, is_garment, is_thing
from equipoise.perturb.operations.swap_looks import COLOURS, GROWN, TOLD_APART, swap_spans
from equipoise.perturb.operations.swap_negative import NO_THING
from equipoise.perturb.sources.base import Source

_SORTS = {
    "colour": " ".join(sorted(COLOURS)),
    "material": "wooden wood metal glass stone brick plastic leather concrete",
    "pattern": "striped plaid floral checkered",
    "size": "large big huge small tiny",
    "age": "old vintage antique new modern",
    "state": "open closed wet dirty clean empty broken round square",
}
_SORT_OF = {word: sort for sort, listed in _SORTS.items() for word in listed.split()}
_LEAST = 2  # captions that have a quality with a thing
_FIRM = frozenset(("colour", "material", "pattern"))  # easy to tell: a white bed in a large room may be large too


class Quality(NamedTuple):
    place: int
    word: str
    sort: str
    phrase: NounPhrase
    noun: str


def swap_qualities(caption: Caption, sources: Sequence[Source], rng: random.Random) -> Iterator[Candidate | Refused]:
    pairs = itertools.combinations(_qualities(caption), 2)
    found = [
        ((a.place, a.place + 1), (b.place, b.place + 1), _unswappable(caption, a, b))
        for a, b in pairs
        if a.sort != b.sort and a.phrase != b.phrase
    ]
    if not found:
        yield Refused("no two unlike qualities that could change places (a red car and a wooden house)")
    yield from swap_spans(caption, found, rng)


def _qualities(caption: Caption) -> Iterator[Quality]:
    """Of phrases with one quality: two would have to stand in their order."""
    units = caption.units
    for phrase in caption.phrases:
        noun = units[phrase.head].lemma
        modifiers = range(phrase.core, phrase.head)
        if len(modifiers) != 1 or noun in NO_THING | COLLECTIVES | TOLD_APART or caption.is_name(phrase.head):
            continue
        word = units[phrase.core].word
        if word in _SORT_OF and not caption.is_name(phrase.core):
            yield Quality(phrase.core, word, _SORT_OF[word], phrase, noun)


def _unswappable(caption: Caption, first: Quality, second: Quality) -> str | None:
    if not {first.sort, second.sort} <= _FIRM:
        return "one of the two qualities cannot be told for sure from a photo"
    if first.noun == second.noun:
        return "the two things have one name"
    for mine, other in ((first, second), (second, first)):
        if not _may_have(mine.noun, other):
            return f"captions never use these two words together: {other.word!r} {mine.noun!r}"
        if other.sort == "colour" and any(f"{other.word} {mine.noun}" in text.lower() for text in caption.others):
            return "another caption of the image says what the swap would say"
    return None


def _may_have(noun: str, quality: Quality) -> bool:
    if not is_thing(noun) or is_animate(noun) or is_food(noun) or noun in GROWN:
        return False
    if quality.sort == "colour":
        return is_garment(noun) or seen_in("modifier", quality.word, noun) > 0
    return seen_in("modifier", quality.word, noun) >= _LEAST
