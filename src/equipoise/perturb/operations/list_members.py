"""The members of a list that "and" joins, and what of two neighbours may change places.

A modifier, a number or an article may be of both: "white plates and bowls", "two dogs and cats", "a cat and dog".
"""

from __future__ import annotations

from typing import NamedTuple

from equipoise.language.caption import Caption, NounPhrase, Unit
from equipoise.language.collocations import seen_in
from equipoise.language.vocabulary import count, members, word_set
from equipoise.language.wordnet import is_food, is_thing, same_sort, sets_of

Span = tuple[int, int]  # units
FILMED = word_set("filmed") - {"television"}
MASS = members("@mass") | {"paper", "wrap", "gear", "equipment", "foil"}
LOTS = word_set("vague amounts")
_MIXTURES, _NARROW = word_set("mixtures"), word_set("mixtures of one sort")
_SERVED = word_set("served by the piece")
_UNCLEAR = word_set("unclear alone")
_SHARED = word_set("shared quantities")


class Member(NamedTuple):
    phrase: NounPhrase  # what it speaks of: the plate, in "a plate of food"
    start: int
    end: int


def members_of(caption: Caption, place: int) -> list[Member]:
    """What the "and" at `place` joins; nothing where commas are missing or "of" leaves open what belongs together."""
    units, at = caption.units, caption.phrase_at
    comma = units[place - 1].word == ","
    many = 2 * (place + 3 < len(units) and units[place + 1].word in LOTS and units[place + 2].word == "of")
    right = at.get(place + 1 + many)
    after = units[place + 1]
    if after.word.endswith("ing") and (after.kind != "noun" or not is_thing(after.lemma)):
        return []  # through a puddle and spraying water
    if right is None or right.start != place + 1 + many:
        return []
    found: list[Member] = []
    stop, inner, comma_after = place - comma, None, False
    while (phrase := at.get(stop - 1)) is not None and phrase.end == stop:
        inner, start = phrase, phrase.start
        while start > 1 and units[start - 1].word == "of" and (outer := at.get(start - 2)) and outer.end == start - 1:
            if units[outer.head].lemma in FILMED:
                break
            phrase, start = outer, outer.start
        if (
            found
            and not comma_after
            and not (has_own(caption, found[0]) and has_own(caption, Member(phrase, start, stop)))
        ):
            return []  # some chairs white pillows and a lamp
        found.insert(0, Member(phrase, start, stop))
        comma_after = start > 0 and units[start - 1].word == ","
        stop = start - comma_after
    if not found or (found[0].start and comma_after) or (comma and len(found) == 1):
        return []
    if found[0].start > 1 and units[found[0].start - 2].word in LOTS and units[found[0].start - 1].word == "of":
        found[0] = found[0]._replace(start=found[0].start - 2)  # a lot of
    others = [*found[1:], Member(right, place + 1, right.end)]
    bare = not any(has_own(caption, each) for each in others)
    of = inner is not None and inner != found[0].phrase
    if inner is not None and of and bare:  # a bowl of rice and beans
        if inner.core > inner.start:
            return []  # the top of a bus and tree
        found[0] = Member(inner, inner.start, inner.end)
    elif of and not has_own(caption, found[0]) and not caption.is_plural(found[0].phrase):
        return []
    last = _with_of(caption, found[-1], right)
    return [*found, last._replace(start=place + 1)] if _of_is_its_own(caption, found[-1], right, last) else []


def _with_of(caption: Caption, before: Member, right: NounPhrase) -> Member:
    units, at, stop = caption.units, caption.phrase_at, right.end
    if has_own(caption, Member(right, right.start, right.end)) or not has_own(caption, before):
        while stop + 1 < len(units) and units[stop].word == "of" and (inner := at.get(stop + 1)):
            stop = inner.end
    return Member(right, right.start, stop)


def _of_is_its_own(caption: Caption, before: Member, right: NounPhrase, made: Member) -> bool:
    """Not so in "bottles and glasses of wine"."""
    if made.end == right.end or has_own(caption, made):
        return True
    inner = caption.phrase_at[right.end + 1]
    heads = (caption.units[phrase.head].lemma for phrase in (before.phrase, inner))
    return before.end == before.phrase.end and not seen_in("of", *heads)


def has_own(caption: Caption, member: Member) -> bool:
    first = caption.units[member.start]
    return first.kind in {"determiner", "number"} or first.word in LOTS


def is_mixture(caption: Caption, listed: list[Member]) -> bool:
    """A bowl of rice and beans; not a cup of soup and crackers."""
    units, first = caption.units, listed[0].start
    outer = caption.phrase_at.get(first - 2) if first > 1 and units[first - 1].word == "of" else None
    if outer is None or units[outer.head].lemma not in _MIXTURES | _NARROW:
        return False
    many = [caption.is_plural(each.phrase) for each in listed]
    mass = [_is_mass(caption, each) for each in listed]
    if units[outer.head].lemma in _NARROW:
        return all(many) or all(mass)
    if sets_of(units[outer.head].lemma) & {"dish", "plate-of"} or units[outer.head].lemma in {
        "tray",
        "platter",
        "meal",
    }:
        return all(is_food(_head(caption, each)) and _head(caption, each) not in _SERVED for each in listed)
    return all(each or other or is_food(_head(caption, m)) for each, other, m in zip(many, mass, listed, strict=True))


def _head(caption: Caption, member: Member) -> str:
    return caption.units[member.phrase.head].lemma


def _is_mass(caption: Caption, member: Member) -> bool:
    return caption.units[member.phrase.head].lemma.split()[-1] in MASS


def spans_of(caption: Caption, listed: list[Member], at: int) -> tuple[Span, Span] | None:
    """What changes places, with or without the first article; None where a modifier or a number may be shared."""
    units, (one, other) = caption.units, listed[at : at + 2]
    own = has_own(caption, one), has_own(caption, other)
    left, right = (one.start, one.end), (other.start, other.end)
    words = [units[each.phrase.core : each.phrase.head] for each in (one, other)]
    for mine, some in zip(own, words, strict=True):
        if sum(unit.kind == "noun" for unit in some) > 1 or any(_is_listed(unit, mine) for unit in some):
            return None  # a refrigerator oven sink: commas are missing
    plural = [caption.is_plural(each.phrase) for each in (one, other)]
    many = [plural[0] or _is_mass(caption, one), plural[1] or _is_mass(caption, other)]
    commas = len(listed) == 2 or units[one.end].word in {",", "and"}
    if (at < len(listed) - 2 or not commas) and own[0] != own[1] and (at or not own[0] or many[1]):
        return None
    if own[1]:
        return (
            None if len(listed) > 2 and not own[0] and not many[0] else (left, right)
        )  # a lemon, banana and an orange
    article = units[one.start].word in {"a", "an"}
    named = words[1][0] if words[1] and not words[0] and at == len(listed) - 2 else None
    if named is not None and named.kind == "noun" and same_sort(_head(caption, one), named.lemma, strict=True):
        return None  # a ham and cheese sandwich
    if at == 0 and _may_share(caption, one, other, bool(words[1])):
        return None
    if at == 0 and _may_share(caption, other, one, bool(words[0])):
        return (left, right) if article and len(listed) == 2 and is_counted(caption, other.phrase) else None
    if not own[0]:
        return left, right
    if article and many[1]:  # a table and chairs: chairs and a table
        return (left, right) if plural[1] or _head(caption, other) not in _SERVED else None
    if plural[0] != plural[1] and units[one.start].word != "the" and not all(many):
        return None
    first = units[one.start]
    if article and not is_thing(_head(caption, other)):
        return None  # a mug and windex
    if first.kind == "number" and not (
        first.word in _SHARED and (first.word != "various" or _are_kin(caption, one, other))
    ):
        return None  # two dogs and cats, various vegetables and chopsticks
    return ((one.phrase.core, one.end), right) if at == 0 and commas else None


def is_counted(caption: Caption, phrase: NounPhrase) -> bool:
    """One thing, that needs an article where it comes first."""
    return not caption.is_plural(phrase) and caption.units[phrase.head].lemma.split()[-1] not in MASS


def _are_kin(caption: Caption, one: Member, other: Member) -> bool:
    return same_sort(*(caption.units[each.phrase.head].lemma for each in (one, other)), strict=True)


def _is_listed(unit: Unit, own: bool) -> bool:
    return unit.pos in {"NNS", "JJR"} or (" " in unit.word and not own)


def _may_share(caption: Caption, one: Member, other: Member, described: bool) -> bool:
    """Whether what stands before the head of the first may be said of the other too: red apples and pears, a computer
    keyboard and mouse. Not so if the other has a word of the kind itself."""
    units = caption.units
    before, head = units[one.phrase.core : one.phrase.head], units[one.phrase.head]
    noun = units[other.phrase.head].lemma
    if " " in head.word and noun in _UNCLEAR and _is_seen(head.word.split()[0], noun):
        return True  # a computer keyboard and mouse
    if not before:
        return False
    if described:
        kinds = [unit.kind for unit in before]
        return len(before) > 2 or (kinds[0] != "noun" and units[other.phrase.core].kind == "noun")
    return any(unit.kind != "noun" or _is_seen(unit.word, noun) for unit in before)


def _is_seen(modifier: str, noun: str) -> bool:
    return count(f"{modifier} {noun}") > 1 or seen_in("modifier", modifier, noun) > 0
