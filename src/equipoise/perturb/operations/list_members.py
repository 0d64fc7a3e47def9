"""The members of a list that "and" joins, and what of two neighbours may change places.

A modifier, a number or an article may be of both: "white plates and bowls", "two dogs and cats", "a cat and dog".
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

from equipoise.language.caption import Caption, NounPhrase
from equipoise.language.collocations import seen_in
from equipoise.language.plausibility import COLOURS
from equipoise.language.vocabulary import count, members, word_set
from equipoise.language.wordnet import is_food, is_garment, is_thing, same_sort, sets_of

Span = tuple[int, int]  # units
FILMED = word_set("filmed") - {"television"}
MASS = members("@mass") | word_set("stuff of captions")
LOTS = word_set("vague amounts")
_MIXTURES, _NARROW = word_set("mixtures"), word_set("mixtures of one sort")
_SERVED, _DOING = word_set("served by the piece"), word_set("adjectives in ing")
_UNCLEAR = word_set("unclear alone")
_SHARED = word_set("shared quantities")
_MATERIALS = word_set("materials")
_VAGUE = frozenset(("different", "assorted", "colorful", "fresh"))
_SIZES, _YOUNG = word_set("before a colour"), word_set("young nouns")
_COMMON = 30  # times in captions: a noun that would have been seen with an adjective that goes with it


class Member(NamedTuple):
    phrase: NounPhrase  # what it speaks of: the plate, in "a plate of food"
    start: int
    end: int


def members_of(caption: Caption, place: int) -> list[Member]:
    """What the "and" at `place` joins; nothing where commas are missing or "of" leaves open what belongs together."""
    units, at = caption.units, caption.phrase_at
    comma = units[place - 1].word == ","
    many = 2 * (place + 3 < len(units) and units[place + 1].word in LOTS and units[place + 2].word == "of")
    right, after = at.get(place + 1 + many), units[place + 1]
    done = at.get(place + 2) if after.pos in {"VBN", "VBD"} and after.word.endswith("ed") else None
    if done is not None and done.start == done.core == place + 2 and sum(unit.pos == "VBD" for unit in units) < 2:
        right = NounPhrase(place + 1, place + 1, done.head)  # and framed pictures
    if after.word.endswith("ing") and after.word not in _DOING and (after.kind != "noun" or not is_thing(after.lemma)):
        return []  # through a puddle and spraying water
    if right is None or right.start != place + 1 + many:
        return []
    found: list[Member] = []
    last = Member(right, place + 1, right.end)
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
            and not all(has_own(caption, each) for each in (Member(phrase, start, stop), found[0], last))
        ):
            return []  # some chairs white pillows and a lamp
        found.insert(0, Member(phrase, start, stop))
        comma_after = start > 0 and units[start - 1].word == ","
        stop = start - comma_after
    if not found or (found[0].start and comma_after) or (comma and len(found) == 1):
        return []
    if found[0].start > 1 and units[found[0].start - 2].word in LOTS and units[found[0].start - 1].word == "of":
        found[0] = found[0]._replace(start=found[0].start - 2)  # a lot of
    bare = not any(has_own(caption, each) for each in (*found[1:], last))
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
    if outer is None or units[outer.head].lemma.split()[-1] not in _MIXTURES | _NARROW:
        return False
    many = [caption.is_plural(each.phrase) for each in listed]
    mass = [_is_mass(caption, each) for each in listed]
    if units[outer.head].lemma in _NARROW:
        return all(many) or all(mass)
    served = sets_of(units[outer.head].lemma) & {"dish", "plate-of"}
    if served or units[outer.head].lemma in {"tray", "platter", "meal"}:
        return all(is_food(_head(caption, each)) and _head(caption, each) not in _SERVED for each in listed)
    return all(each or other or is_food(_head(caption, m)) for each, other, m in zip(many, mass, listed, strict=True))


def _head(caption: Caption, member: Member) -> str:
    return caption.units[member.phrase.head].lemma


def _is_mass(caption: Caption, member: Member) -> bool:
    return _head(caption, member).split()[-1] in MASS


def spans_of(caption: Caption, listed: list[Member], at: int) -> tuple[Span, Span] | None:
    """What changes places, with or without the first article; None where a modifier or a number may be shared."""
    units, (one, other) = caption.units, listed[at : at + 2]
    own = has_own(caption, one), has_own(caption, other)
    left, right = (one.start, one.end), (other.start, other.end)
    words = [units[each.phrase.core : each.phrase.head] for each in (one, other)]
    if any(lacks_commas(caption, each) for each in (one, other)):
        return None
    plural = [caption.is_plural(each.phrase) for each in (one, other)]
    of = [each.end > each.phrase.end for each in (one, other)]
    counts = units[other.start].kind == "number" and units[other.start].word not in {"some", "one", "1"}
    if not own[0] and (of[1] > of[0] or (counts and plural[0] and not words[0])):
        return None  # a toilet and rolls of paper, headphones and two phones: said first, "of" and "two" take in both
    many = [plural[0] or _is_mass(caption, one), plural[1] or _is_mass(caption, other)]
    commas = len(listed) == 2 or units[one.end].word in {",", "and"}
    if (at < len(listed) - 2 or not commas) and own[0] != own[1] and (at or not own[0] or many[1]):
        return None
    if own[1]:  # a lemon, banana and an orange
        return (left, right) if len(listed) == 2 or own[0] or many[0] else None
    first, head = units[one.start], _head(caption, one)
    article = first.word in {"a", "an"}
    if first.word == "all" or (article and one.phrase.core > one.phrase.start + 1):
        return None  # a four post bed and mirror
    if words[1] and at == len(listed) - 2:
        last, head_of_both = words[1][-1], _is_seen(head, _head(caption, other))
        if head_of_both and not (own[0] or words[0]):
            return None  # traffic and directional signs
        named = last.kind == "noun" or last.lemma in _MATERIALS
        if named and not (plural[1] if article else plural[0] and words[0]):
            joined = len(listed) == 2 and (_is_mass(caption, one) if article else not (own[0] or many[0]))
            dish = is_food(_head(caption, other)) and is_food(last.lemma)
            if joined or dish or head_of_both or same_sort(head, last.lemma, strict=True):
                return None  # a ham and cheese sandwich, carrot and squash strips, a wood and brick building
    if at == 0 and _may_share(caption, one, other, bool(words[1])):
        return ((one.phrase.head, one.end), right) if _do_share(caption, one, other) else None
    if at == 0 and not (article and plural[1]) and _may_share(caption, other, one, bool(words[0])):
        return (left, right) if article and len(listed) == 2 and is_counted(caption, other.phrase) else None
    if not own[0]:
        return left, right
    if article and many[1]:  # a table and chairs: chairs and a table
        return (left, right) if plural[1] or _head(caption, other) not in _SERVED else None
    if plural[0] != plural[1] and first.word != "the" and not (all(many) and first.word in LOTS | {"some"}):
        return None
    if article and not is_thing(_head(caption, other)):
        return None  # a mug and windex
    shared = first.word in _SHARED and (first.word != "various" or _are_kin(caption, one, other))
    if first.kind == "number" and not shared:
        return None  # two dogs and cats, various vegetables and chopsticks
    return ((one.phrase.core, one.end), right) if at == 0 and commas else None


def is_counted(caption: Caption, phrase: NounPhrase) -> bool:
    """One thing, that needs an article where it comes first."""
    return not caption.is_plural(phrase) and caption.units[phrase.head].lemma.split()[-1] not in MASS


def _are_kin(caption: Caption, one: Member, other: Member) -> bool:
    return same_sort(_head(caption, one), _head(caption, other), strict=True)


def lacks_commas(caption: Caption, member: Member) -> bool:
    """A refrigerator oven sink; not a stove top oven."""
    own, before = has_own(caption, member), caption.units[member.phrase.core : member.phrase.head]
    nouns = [unit.lemma for unit in (*before, caption.units[member.phrase.head]) if unit.kind == "noun"]
    alike = any(same_sort(*two, strict=True) for two in itertools.pairwise(nouns))
    listed = len(nouns) > 2 and (alike or not own or not _is_seen(*nouns[:2]))
    return listed or any(unit.pos in {"NNS", "JJR"} or (" " in unit.word and not own) for unit in before)


def _may_share(caption: Caption, one: Member, other: Member, described: bool) -> bool:
    """Whether what stands before the head of the first may be said of the other too: red apples and pears, a computer
    keyboard and mouse. Not so if the other has a word of the kind itself."""
    units = caption.units
    before, head = units[one.phrase.core : one.phrase.head], units[one.phrase.head]
    noun = units[other.phrase.head].lemma
    if " " in head.word and noun in _UNCLEAR and _is_seen(head.word.split()[0], noun):
        return True  # a computer keyboard and mouse
    if not before or described:
        apart = units[one.start].word in {"a", "an"} and caption.is_plural(other.phrase)
        own, any_ = units[other.phrase.core], before and before[0].word in _SIZES | COLOURS and not apart
        return len(before) > 2 or bool(any_ and own.kind == "noun" and own.lemma not in _MATERIALS)
    rare = count(units[other.phrase.head].word) < _COMMON
    odd = rare or is_counted(caption, other.phrase) or (one > other and before[0].word in _SIZES)
    if any(unit.kind != "noun" for unit in before) and (odd or _are_kin(caption, one, other)):
        return True
    return any(_is_seen(unit.word, noun) for unit in before)


def _do_share(caption: Caption, one: Member, other: Member) -> bool:
    """Surely: an adjective that goes with both, before two things of a kind and number: small plates and bowls."""
    units, nouns = caption.units, (_head(caption, one), _head(caption, other))
    before = units[one.phrase.core : one.phrase.head]
    of = other.end < len(units) and units[other.end].word == "of"
    if not before or any(unit.kind != "adjective" for unit in before) or of or one.end > one.phrase.end:
        return False
    if other.phrase.core < other.phrase.head or sum(noun in _YOUNG for noun in nouns) == 1:
        return False
    natural = any(unit.word in COLOURS for unit in before) and any(is_food(noun) or is_garment(noun) for noun in nouns)
    alike = is_counted(caption, one.phrase) == is_counted(caption, other.phrase) and _are_kin(caption, one, other)
    new = [unit.word for unit in before if unit.word not in _VAGUE]
    stuff = new and any(_is_mass(caption, each) for each in (one, other))  # dry grass and trees
    return alike and not natural and not stuff and all(_is_seen(word, noun) for word in new for noun in nouns)


def _is_seen(modifier: str, noun: str) -> bool:
    return count(f"{modifier} {noun}") > 1 or seen_in("modifier", modifier, noun) > 0
