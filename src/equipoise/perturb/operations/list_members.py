"""The members of a list that "and" joins, and the spans of two neighbours that may change places.

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


class ListMember(NamedTuple):
    phrase: NounPhrase  # its main noun: the plate, in "a plate of food"
    start: int
    end: int


def members_of(caption: Caption, place: int) -> list[ListMember]:
    """The members that the "and" at `place` joins; none if commas are missing or "of" leaves open what it joins."""
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
    listed: list[ListMember] = []
    last = ListMember(right, place + 1, right.end)
    stop, inner, comma_after = place - comma, None, False
    while (phrase := at.get(stop - 1)) is not None and phrase.end == stop:
        inner, start = phrase, phrase.start
        while start > 1 and units[start - 1].word == "of" and (outer := at.get(start - 2)) and outer.end == start - 1:
            if units[outer.head].lemma in FILMED:
                break
            phrase, start = outer, outer.start
        if (
            listed
            and not comma_after
            and not all(has_own(caption, member) for member in (ListMember(phrase, start, stop), listed[0], last))
        ):
            return []  # some chairs white pillows and a lamp
        listed.insert(0, ListMember(phrase, start, stop))
        comma_after = start > 0 and units[start - 1].word == ","
        stop = start - comma_after
    if not listed or (listed[0].start and comma_after) or (comma and len(listed) == 1):
        return []
    if listed[0].start > 1 and units[listed[0].start - 2].word in LOTS and units[listed[0].start - 1].word == "of":
        listed[0] = listed[0]._replace(start=listed[0].start - 2)  # a lot of
    bare = not any(has_own(caption, member) for member in (*listed[1:], last))
    of = inner is not None and inner != listed[0].phrase
    if inner is not None and of and bare:  # a bowl of rice and beans
        if inner.core > inner.start:
            return []  # the top of a bus and tree
        listed[0] = ListMember(inner, inner.start, inner.end)
    elif of and not has_own(caption, listed[0]) and not caption.is_plural(listed[0].phrase):
        return []
    last = _with_of(caption, listed[-1], right)
    return [*listed, last._replace(start=place + 1)] if _of_is_its_own(caption, listed[-1], right, last) else []


def _with_of(caption: Caption, before: ListMember, right: NounPhrase) -> ListMember:
    units, at, stop = caption.units, caption.phrase_at, right.end
    if has_own(caption, ListMember(right, right.start, right.end)) or not has_own(caption, before):
        while stop + 1 < len(units) and units[stop].word == "of" and (inner := at.get(stop + 1)):
            stop = inner.end
    return ListMember(right, right.start, stop)


def _of_is_its_own(caption: Caption, before: ListMember, right: NounPhrase, last: ListMember) -> bool:
    """Whether its "of" belongs to the last member alone; not in "bottles and glasses of wine"."""
    if last.end == right.end or has_own(caption, last):
        return True
    inner = caption.phrase_at[right.end + 1]
    heads = (caption.units[phrase.head].lemma for phrase in (before.phrase, inner))
    return before.end == before.phrase.end and not seen_in("of", *heads)


def has_own(caption: Caption, member: ListMember) -> bool:
    first = caption.units[member.start]
    return first.kind in {"determiner", "number"} or first.word in LOTS


def is_mixture(caption: Caption, listed: list[ListMember]) -> bool:
    """Whether "of" takes in the whole list: a bowl of rice and beans, not a cup of soup and crackers."""
    units, first = caption.units, listed[0].start
    outer = caption.phrase_at.get(first - 2) if first > 1 and units[first - 1].word == "of" else None
    if outer is None or units[outer.head].lemma.split()[-1] not in _MIXTURES | _NARROW:
        return False
    many = [caption.is_plural(member.phrase) for member in listed]
    mass = [_is_mass(caption, member) for member in listed]
    if units[outer.head].lemma in _NARROW:
        return all(many) or all(mass)
    served = sets_of(units[outer.head].lemma) & {"dish", "plate-of"}
    if served or units[outer.head].lemma in {"tray", "platter", "meal"}:
        return all(is_food(_head(caption, member)) and _head(caption, member) not in _SERVED for member in listed)
    return all(
        plural or stuff or is_food(_head(caption, m)) for plural, stuff, m in zip(many, mass, listed, strict=True)
    )


def _head(caption: Caption, member: ListMember) -> str:
    return caption.units[member.phrase.head].lemma


def _is_mass(caption: Caption, member: ListMember) -> bool:
    return _head(caption, member).split()[-1] in MASS


def spans_of(caption: Caption, listed: list[ListMember], at: int) -> tuple[Span, Span] | None:
    """The spans that change places, with or without the first article; None if a modifier or number may be shared."""
    units, (former, latter) = caption.units, listed[at : at + 2]
    own = has_own(caption, former), has_own(caption, latter)
    left, right = (former.start, former.end), (latter.start, latter.end)
    words = [units[member.phrase.core : member.phrase.head] for member in (former, latter)]
    if any(lacks_commas(caption, member) for member in (former, latter)):
        return None
    plural = [caption.is_plural(member.phrase) for member in (former, latter)]
    of = [member.end > member.phrase.end for member in (former, latter)]
    is_numbered = units[latter.start].kind == "number" and units[latter.start].word not in {"some", "one", "1"}
    if not own[0] and (of[1] > of[0] or (is_numbered and plural[0] and not words[0])):
        return None  # a toilet and rolls of paper, headphones and two phones: said first, "of" and "two" take in both
    many = [plural[0] or _is_mass(caption, former), plural[1] or _is_mass(caption, latter)]
    commas = len(listed) == 2 or units[former.end].word in {",", "and"}
    if (at < len(listed) - 2 or not commas) and own[0] != own[1] and (at or not own[0] or many[1]):
        return None
    if own[1]:  # a lemon, banana and an orange
        return (left, right) if len(listed) == 2 or own[0] or many[0] else None
    first, head = units[former.start], _head(caption, former)
    article = first.word in {"a", "an"}
    if first.word == "all" or (article and former.phrase.core > former.phrase.start + 1):
        return None  # a four post bed and mirror
    if words[1] and at == len(listed) - 2:
        last, head_of_both = words[1][-1], _is_seen(head, _head(caption, latter))
        if head_of_both and not (own[0] or words[0]):
            return None  # traffic and directional signs
        named = last.kind == "noun" or last.lemma in _MATERIALS
        if named and not (plural[1] if article else plural[0] and words[0]):
            joined = len(listed) == 2 and (_is_mass(caption, former) if article else not (own[0] or many[0]))
            dish = is_food(_head(caption, latter)) and is_food(last.lemma)
            if joined or dish or head_of_both or same_sort(head, last.lemma, strict=True):
                return None  # a ham and cheese sandwich, carrot and squash strips, a wood and brick building
    if at == 0 and _may_share(caption, former, latter, bool(words[1])):
        return ((former.phrase.head, former.end), right) if _do_share(caption, former, latter) else None
    if at == 0 and not (article and plural[1]) and _may_share(caption, latter, former, bool(words[0])):
        return (left, right) if article and len(listed) == 2 and is_counted(caption, latter.phrase) else None
    if not own[0]:
        return left, right
    if article and many[1]:  # a table and chairs: chairs and a table
        return (left, right) if plural[1] or _head(caption, latter) not in _SERVED else None
    if plural[0] != plural[1] and first.word != "the" and not (all(many) and first.word in LOTS | {"some"}):
        return None
    if article and not is_thing(_head(caption, latter)):
        return None  # a mug and windex
    shared = first.word in _SHARED and (first.word != "various" or _are_kin(caption, former, latter))
    if first.kind == "number" and not shared:
        return None  # two dogs and cats, various vegetables and chopsticks
    return ((former.phrase.core, former.end), right) if at == 0 and commas else None


def is_counted(caption: Caption, phrase: NounPhrase) -> bool:
    """Whether it is one thing, which needs an article where it comes first."""
    return not caption.is_plural(phrase) and caption.units[phrase.head].lemma.split()[-1] not in MASS


def _are_kin(caption: Caption, first: ListMember, second: ListMember) -> bool:
    return same_sort(_head(caption, first), _head(caption, second), strict=True)


def lacks_commas(caption: Caption, member: ListMember) -> bool:
    """Whether a member is several without commas: a refrigerator oven sink, not a stove top oven."""
    own, before = has_own(caption, member), caption.units[member.phrase.core : member.phrase.head]
    nouns = [unit.lemma for unit in (*before, caption.units[member.phrase.head]) if unit.kind == "noun"]
    alike = any(same_sort(*pair, strict=True) for pair in itertools.pairwise(nouns))
    listed = len(nouns) > 2 and (alike or not own or not _is_seen(*nouns[:2]))
    return listed or any(unit.pos in {"NNS", "JJR"} or (" " in unit.word and not own) for unit in before)


def _may_share(caption: Caption, member: ListMember, other: ListMember, described: bool) -> bool:
    """Whether the words before the head of the member may be said of the other too: red apples and pears, a computer
    keyboard and mouse. Not so if the other has such a word itself."""
    units = caption.units
    before, head = units[member.phrase.core : member.phrase.head], units[member.phrase.head]
    noun = units[other.phrase.head].lemma
    if " " in head.word and noun in _UNCLEAR and _is_seen(head.word.split()[0], noun):
        return True  # a computer keyboard and mouse
    if not before or described:
        apart = units[member.start].word in {"a", "an"} and caption.is_plural(other.phrase)
        own, any_ = units[other.phrase.core], before and before[0].word in _SIZES | COLOURS and not apart
        return len(before) > 2 or bool(any_ and own.kind == "noun" and own.lemma not in _MATERIALS)
    rare = count(units[other.phrase.head].word) < _COMMON
    odd = rare or is_counted(caption, other.phrase) or (member > other and before[0].word in _SIZES)
    if any(unit.kind != "noun" for unit in before) and (odd or _are_kin(caption, member, other)):
        return True
    return any(_is_seen(unit.word, noun) for unit in before)


def _do_share(caption: Caption, former: ListMember, latter: ListMember) -> bool:
    """Whether they surely share an adjective: it goes with both, and they agree in kind and number: small plates and
    bowls."""
    units, nouns = caption.units, (_head(caption, former), _head(caption, latter))
    before = units[former.phrase.core : former.phrase.head]
    of = latter.end < len(units) and units[latter.end].word == "of"
    if not before or any(unit.kind != "adjective" for unit in before) or of or former.end > former.phrase.end:
        return False
    if latter.phrase.core < latter.phrase.head or sum(noun in _YOUNG for noun in nouns) == 1:
        return False
    natural = any(unit.word in COLOURS for unit in before) and any(is_food(noun) or is_garment(noun) for noun in nouns)
    alike = is_counted(caption, former.phrase) == is_counted(caption, latter.phrase) and _are_kin(
        caption, former, latter
    )
    new = [unit.word for unit in before if unit.word not in _VAGUE]
    stuff = new and any(_is_mass(caption, member) for member in (former, latter))  # dry grass and trees
    return alike and not natural and not stuff and all(_is_seen(word, noun) for word in new for noun in nouns)


def _is_seen(modifier: str, noun: str) -> bool:
    return count(f"{modifier} {noun}") > 1 or seen_in("modifier", modifier, noun) > 0
