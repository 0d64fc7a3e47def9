"""Swap the colours of two things: a man in red beside a dark blue car -> a man in dark blue beside a red car.

A colour is all of it: "black and white", "dark blue"; of clothes also a pattern ("striped"), and the bare colour of
"dressed in black". Clothes and made things may have any colour, what lives or grows only those that captions have.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from equipoise.perturb.candidate import Candidate, Refused
from equipoise.perturb.english.caption import COLLECTIVES, Caption, NounPhrase
from equipoise.perturb.english.evidence import NATURAL
from equipoise.perturb.english.fit import seen_in
from equipoise.perturb.english.forms import plural
from equipoise.perturb.english.noun_classes import is_animate, is_food, is_garment, is_person, is_thing
from equipoise.perturb.operations.swap_negative import NO_THING, are_alike, swapped
from equipoise.perturb.sources.base import Source

COLOURS = frozenset("white black red blue green yellow brown orange pink purple gray grey tan beige".split())
_PATTERNS = frozenset("striped plaid floral checkered".split())
_SHADES = frozenset(("dark", "light", "bright", "neon"))
_BOUND = frozenset(
    "pale deep navy pastel hot royal sky lime olive dull rusty faded fall autumn grassy leafy water".split()
)
_DRESSED = frozenset("in wearing wears wear".split())
_CLOTHES = "clothes"  # what a bare colour is the colour of
GROWN = NATURAL | frozenset(
    "marking spot patch fur beard skin face mane plant fence wood hedge shrub log stick bone branch road".split()
)
TOLD_APART = frozenset("light wine pepper tape team background one board meat house card side stripe".split()) | {
    "stop sign", "street sign", "traffic light",
}  # fmt: skip
_ALIKE = (  # what one calls one and the next the other
    {"gray", "grey"}, {"tan", "beige", "brown", "yellow", "orange"}, {"white", "beige"}, {"red", "pink"},
    {"red", "orange"}, {"pink", "purple"}, {"blue", "purple"},
)  # fmt: skip
_FUR = frozenset("white black brown tan gray grey beige".split())
_OF_ANIMALS = frozenset("marking spot patch fur mane ear paw tail nose face foot leg head muzzle".split())
_HAIR = frozenset("black brown red".split())
_LEAST = 3  # captions that have a colour with something that grows


class Look(NamedTuple):
    start: int  # units
    end: int
    words: frozenset[str]
    noun: str
    owner: NounPhrase | None  # who wears it


def swap_looks(caption: Caption, sources: Sequence[Source], rng: random.Random) -> Iterator[Candidate | Refused]:
    pairs = list(itertools.combinations(_looks(caption), 2))
    if not pairs:
        yield Refused("no two things with a colour or pattern each")
    yield from swap_spans(
        caption, [((a.start, a.end), (b.start, b.end), _unswappable(a, b, caption)) for a, b in pairs], rng
    )


Span = tuple[int, int]  # units


def swap_spans(
    caption: Caption, pairs: list[tuple[Span, Span, str | None]], rng: random.Random
) -> Iterator[Candidate | Refused]:
    """The attributes of each pair exchanged, in any order; where there is a reason against it, that."""
    rng.shuffle(pairs)
    for first, second, reason in pairs:
        yield swapped(caption, first, second, "attribute") if reason is None else Refused(reason)


def _looks(caption: Caption) -> Iterator[Look]:
    units = caption.units
    for phrase in caption.phrases:
        head = units[phrase.head]
        before = units[phrase.start - 1].word if phrase.start else ""
        if head.word in COLOURS and before in _DRESSED and phrase.core == phrase.head:
            yield Look(phrase.head, phrase.end, frozenset({head.word}), _CLOTHES, _owner(caption, phrase))
            continue
        span = _span(caption, phrase)
        if span is not None and not caption.is_name(phrase.head) and head.lemma not in NO_THING | COLLECTIVES:
            words = frozenset(units[place].word for place in range(*span)) & (COLOURS | _PATTERNS | _SHADES)
            yield Look(*span, words, head.lemma, _owner(caption, phrase) if is_garment(head.lemma) else None)
    for place, unit in enumerate(units):  # in red and
        if unit.word in COLOURS and place and units[place - 1].word in _DRESSED and place not in caption.phrase_at:
            after = units[place + 1] if place + 1 < len(units) else None
            if after is None or (after.kind not in {"noun", "adjective"} and after.word != "and"):
                phrase = NounPhrase(place, place, place)
                yield Look(place, place + 1, frozenset({unit.word}), _CLOTHES, _owner(caption, phrase))


def _span(caption: Caption, phrase: NounPhrase) -> tuple[int, int] | None:
    """The one colour of a phrase, with its shade and what "and" joins to it."""
    units = caption.units
    known = COLOURS | (_PATTERNS if is_garment(units[phrase.head].lemma) else frozenset())
    places = [place for place in range(phrase.core, phrase.head) if units[place].word in known]
    if not places:
        return None
    start, end = places[0], places[-1] + 1
    if any(units[p].word not in known and units[p].word not in {"and", ",", "&"} for p in range(start, end)):
        return None
    if end < phrase.head and (units[end].word in {"and", ","} or units[end].word.endswith(("ed", "-"))):
        return None  # red and rusty; a red haired man
    if start > phrase.core and units[start - 1].word in _SHADES:
        start -= 1
    if start > phrase.core and units[start - 1].word.endswith("ish"):
        return None  # orangish red
    if any(unit.word in _BOUND for unit in units[phrase.core : phrase.end + 1]):
        return None  # pale green is no pale black; orange fall leaves, a green grassy strip
    if start and units[start - 1].word in {"and", ",", "&"} and (start > phrase.core or units[start - 2].word in known):
        return None  # a large, red and white bus is fine, "old and red" is not
    return start, end


def _owner(caption: Caption, phrase: NounPhrase) -> NounPhrase | None:
    """The person or animal named last before a garment."""
    before = [p for p in caption.phrases if p.end <= phrase.start and is_animate(caption.units[p.head].lemma)]
    return before[-1] if before else None


def _unswappable(first: Look, second: Look, caption: Caption) -> str | None:
    apart = first.words - second.words - _SHADES, second.words - first.words - _SHADES
    if not all(apart) or any(apart[0] & group and apart[1] & group for group in _ALIKE):
        return "the two colours are the same, or nearly"
    one, two = (look.owner or caption.phrase_at.get(look.start) for look in (first, second))
    lemmas = [caption.units[owner.head].lemma if owner else "" for owner in (one, two)]
    of_one = one == two and first.noun == second.noun
    if of_one or (one != two and lemmas[0] == lemmas[1] and (not one or not two or are_alike(caption, one, two))):
        return "the two things have one name, so nobody could say which has which colour"
    before = [_owner(caption, NounPhrase(look.start, look.start, look.start)) for look in (first, second)]
    if before[0] and before[1] and before[0] != before[1]:  # a man in an orange kayak and a man in a blue one
        same = caption.units[before[0].head].lemma == caption.units[before[1].head].lemma
        if same and are_alike(caption, before[0], before[1]):
            return "the two things have one name, so nobody could say which has which colour"
    for mine, other in ((first, second), (second, first)):
        if not _may_have(mine.noun, other.words):
            return f"captions never use these words together: {' '.join(sorted(other.words))!r} {mine.noun!r}"
        if _is_told(caption, mine.noun, other.words):
            return "another caption of the image says what the swap would say"
    return None


def _is_told(caption: Caption, noun: str, colours: frozenset[str]) -> bool:
    """Another caption has one of the colours, or what is called so too, shortly before the noun."""
    asked = (colours & COLOURS).union(*(group for group in _ALIKE if group & colours))
    for text in caption.others:
        words = text.lower().replace(",", " ").split()
        for place, word in enumerate(words):
            if word.strip(".") in {noun, plural(noun)} and not asked.isdisjoint(words[max(0, place - 3) : place]):
                return True
    return False


def _may_have(noun: str, words: frozenset[str]) -> bool:
    if noun == _CLOTHES:
        return words <= COLOURS and len(words) == 1  # "in dark blue" yes, "in striped" no
    if is_garment(noun):
        return True
    if is_person(noun) or noun in TOLD_APART or not words <= COLOURS:
        return False
    if noun == "hair":
        return words <= _HAIR
    if (is_animate(noun) or noun in _OF_ANIMALS) and not words <= _FUR | ({"yellow"} if noun == "dog" else set()):
        return False
    if is_animate(noun) or is_food(noun) or noun in GROWN:
        return all(seen_in("modifier", word, noun) >= _LEAST for word in words)
    return is_thing(noun)
