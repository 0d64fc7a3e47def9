"""Positive evidence: captions that have a thing of this sort in this place, or name both things together.

`collocations.py` asks whether the absence of a pair says something; here a pair must have been seen. Two tables more,
counted by studies/make_pair_counts.py: "where" (dog, on couch), for the noun itself and for its sort ("@person"), since
most nouns are too rare to have been seen in every place they can be; and "scene", two nouns in one caption.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import NamedTuple

from equipoise.language.caption import Caption
from equipoise.language.collocations import (
    FITTING,
    OF_ANYTHING,
    WordPair,
    counted,
    in_images,
    is_known,
    misfit,
    pairs_at,
    qualities,
    second_of,
    seen_in,
    variety,
)
from equipoise.language.vocabulary import word_map, word_set
from equipoise.language.wordnet import is_animate, is_food, is_garment, is_person, is_thing, sets_of

CONTENT = frozenset(("noun", "verb", "adjective", "adverb"))
_KNOWN_WELL = 40  # a noun seen in so many places needs no help from its sort
_VEHICLES = frozenset(("road-vehicle", "rail", "air-vehicle", "water-vehicle"))
_TELLING = 20  # a verb seen so often takes no object that it was never seen with
_ENOUGH = 8  # times that the word that stays was seen: fewer say nothing about the words that go with it
# How often a pair must be expected before its absence says something.
_EXPECTED = {
    "prep": 0.1, "object": 0.05, "via": 0.05, "subject": 0.2, "modifier": 0.5, "of": 0.0, "particle": 0.1,
    "adverb": 0.0, "verbs": 0.0, "onward": 0.0, "where": 0.15,
}  # fmt: skip
_SAME_PLACE = {seldom: usual.split(" + ") for seldom, usual in word_map("usual words for a place").items()}
FUR = word_set("fur colours")  # the colours of most animals
COLOURS = word_set("colours")
_PERSONS = ("man", "woman", "person", "people", "boy", "girl", "child")
_SPORT_OF: dict[str, frozenset[str]] = {}
for _sport, _listed in word_map("words of sports").items():
    for _name in _listed.split():
        _SPORT_OF[_name] = _SPORT_OF.get(_name, frozenset()) | {_sport}
_NATURAL = word_set("natural things")
_BROAD = 25  # nouns that an adjective goes with
_FURRY = word_set("furry animals")
BODY = word_set("body parts")
_EVERYWHERE = word_set("words of any scene")
Where = tuple[str, str]  # a thing and its place: (dog, on couch)


@functools.lru_cache(maxsize=1 << 14)
def sort_of(noun: str) -> str:
    """The sort that stands for a noun that is too rare to be judged alone."""
    if is_person(noun):
        return "@person"
    if is_animate(noun):
        return "@animal"
    sets = sets_of(noun)
    if sets & _VEHICLES:
        return "@" + min(sets & _VEHICLES)
    if is_food(noun):
        return "@food"
    if is_garment(noun):
        return "@garment"
    return "@" + min(sets) if sets else ""


@functools.lru_cache(maxsize=2)  # every candidate of a caption asks again
def places_in(caption: Caption) -> tuple[Where, ...]:
    return tuple(_places_in(caption))


def _places_in(caption: Caption) -> Iterator[Where]:
    """(subject, "preposition noun"), as far as word order tells."""
    units = caption.units
    for place, unit in enumerate(units):
        if unit.kind != "preposition" or unit.word == "of" or not place:
            continue
        phrase = caption.phrase_at.get(place + 1)
        if phrase is None or phrase.start != place + 1:
            continue
        where = f"{unit.word} {units[phrase.head].lemma}"
        for subject in dict.fromkeys(_subjects(caption, place)):
            yield subject, where


def _subjects(caption: Caption, place: int) -> Iterator[str]:
    before = caption.units[place - 1]
    if before.kind in {"verb", "be", "adverb"}:
        at = place - 1
        while at > 0 and caption.units[at].kind in {"verb", "be", "adverb"}:
            at -= 1
        subjects = caption.subjects_of(at + 1)
        if subjects:
            yield subjects[-1]
    elif before.kind == "noun":
        phrase = caption.phrase_at.get(place - 1)
        if phrase is not None:
            yield caption.head_lemma(phrase)


@functools.lru_cache(maxsize=1 << 16)
def _is_seen_at(noun: str, where: str) -> bool:
    """Whether some caption has the noun there; for a rare noun, a noun of its sort."""
    if seen_in("where", noun, where):
        return True
    sort = sort_of(noun)
    few = counted("where", noun, where).first < _KNOWN_WELL
    return bool(sort) and (few or sort == "@person") and seen_in("where", sort, where) >= 2


@functools.lru_cache(maxsize=1 << 16)
def _is_seen_beside(noun: str, other: str) -> bool:
    """Whether some caption names both, or the two are too rare for an absence to say something."""
    if noun == other or seen_in("scene", noun, other) or seen_in("scene", other, noun):
        return True
    return counted("scene", noun, other).expected < 1.5


NOT_KNOWN, UNLIKELY, IMPOSSIBLE = 1, 2, 3
_PLACES = word_set("sets of places")
_SHARE_OF_PLACE = 0.7
_HARDLY = 0.25  # less than this share is as good as never
_SHARE = 0.5  # of the photos expected by chance that must show two things together
_KIN_SHARE = frozenset(("where", "subject", "scene"))  # relations in which a word's kin may stand for it
_SURE_ASKS = frozenset(("modifier", "adverb", "verbs", "onward"))  # relations that lines marked `sure` must pass too


class Doubt(NamedTuple):
    """A reason against a word in a place, and its weight: not known, unlikely, or impossible (it would be seen)."""

    reason: str
    weight: int
    of: str = ""  # the relation


@functools.lru_cache(maxsize=32)
def _pairs(caption: Caption, start: int, end: int) -> tuple[WordPair, ...]:
    return tuple(pairs_at(caption, start, end))


def doubts(caption: Caption, start: int, end: int, word: str, target: str, mark: str = "") -> Iterator[Doubt]:
    """Pairs that `word` would form at units `start:end` and that never occur in captions. For lines marked `sure` only
    the nearest neighbours count; for lines marked `kin` it is enough that captions have the old word there, if they say
    nothing of the new."""
    for doubt in _all_doubts(caption, start, end, word, target, mark == "sure"):
        if not (mark == "kin" and doubt.of in _KIN_SHARE and doubt.weight == NOT_KNOWN):
            yield doubt


def _all_doubts(caption: Caption, start: int, end: int, word: str, target: str, is_sure: bool) -> Iterator[Doubt]:
    if target == "attribute" and word in COLOURS:
        if _has_no_noun(caption, start):
            yield Doubt("the colour stands alone, so it is not clear what has it", IMPOSSIBLE)
        before = caption.units[start - 1].word if start else ""
        if before.endswith("ish") or before in COLOURS:
            yield Doubt("the colour is part of a mixed colour", IMPOSSIBLE)  # blueish green, an orange gray bird
        phrase = caption.phrase_at.get(start)
        if phrase is not None and any(unit.word == word for unit in caption.units[phrase.start : phrase.end]):
            yield Doubt(f"the thing has the new colour already: {word!r}", IMPOSSIBLE)
        noun = caption.units[phrase.head].lemma if phrase is not None else ""
        if noun in _FURRY and word not in FUR | {"yellow" if noun in {"dog", "puppy"} else "white"}:
            yield Doubt(f"no such animal has this colour: {word!r} {noun!r}", IMPOSSIBLE)
    alive = target == "attribute" and (phrase := caption.phrase_at.get(start)) and _is_grown(caption, phrase.head)
    for pair in _pairs(caption, start, end):
        if is_sure and pair.relation not in _SURE_ASKS:
            continue
        relation, first, second = pair.filled(word)
        if misfit(pair, word):
            yield Doubt(f"the new word does not go with its neighbour: {first!r} with {second!r}", IMPOSSIBLE)
        elif (first, second) not in FITTING and not (relation == "of" and first in OF_ANYTHING):
            count = counted(relation, first, second)
            painted = target == "object" and not count.seen and _has_own_colours(first, word)
            rare = alive and count.seen < max(2, 0.1 * count.expected)
            if relation == "modifier" and (rare or painted):
                yield Doubt(f"captions never use these two words together: {first!r} {second!r}", IMPOSSIBLE)
            elif not count.seen and not (target == "object" and _says_little(pair)):
                known = count.first if pair.second is None else second_of(relation, second)
                if known < _ENOUGH:
                    few = f"too few captions have these words to judge them together: {first!r} with {second!r}"
                    yield Doubt(few, NOT_KNOWN, relation)
                elif not _seen_by_kin(pair, word, target):
                    sure = count.expected > _EXPECTED[relation]
                    if relation in {"object", "via"}:  # a rare verb says nothing for itself
                        sure |= count.first < _ENOUGH if target == "action" else count.first >= _TELLING
                    never = f"captions never use these two words together: {first!r} with {second!r}"
                    yield Doubt(never, UNLIKELY if sure else NOT_KNOWN, relation)
    if target in {"object", "action"} and (sport := _other_sport(caption, start, end, word)):
        yield Doubt(f"the new word is of another sport: {word!r} beside {sport!r}", IMPOSSIBLE)
    if is_sure:
        return
    if target == "object":
        yield from _doubts_of_scene(caption, caption.units[end - 1].lemma, word)
        yield from _doubts_of_image(caption, start, end, word)
    elif target == "relation":
        yield from _doubts_of_place(caption, caption.units[start].word, word)


def _says_little(pair: WordPair) -> bool:
    """Whether it is a quality that goes with most things: red, large, old; not "unmade", "hybrid" or "main"."""
    if pair.relation != "modifier" or pair.narrow or pair.first is None:
        return False
    return pair.first in qualities() or variety("modifier", pair.first) >= _BROAD


@functools.lru_cache(maxsize=1 << 12)
def _sports_of(word: str) -> frozenset[str]:
    return frozenset(sport for name in {word, *word.split()} for sport in _SPORT_OF.get(name, ()))


def _other_sport(caption: Caption, start: int, end: int, word: str) -> str | None:
    """A word of the caption from a sport, if the new word is only from other sports."""
    sports = _sports_of(word)
    if not sports:
        return None
    others = {unit.lemma for place, unit in enumerate(caption.units) if not start <= place < end}
    others |= {part for lemma in others for part in lemma.split()}
    names = [name for name in sorted(others) if name in _SPORT_OF]
    return None if any(sports & _SPORT_OF[name] for name in names) else next(iter(names), None)


def _has_own_colours(quality: str, noun: str) -> bool:
    """Whether it is a colour, and the noun has colours of its own (animals, food, places): a green kitten."""
    return quality in COLOURS and (is_animate(noun) or is_food(noun) or noun in _NATURAL)


def _has_no_noun(caption: Caption, place: int) -> bool:
    """Whether the colour has no noun: two dogs, one black. But "dressed in black" is the colour of clothes."""
    phrase = caption.phrase_at.get(place)
    if place and caption.units[place - 1].word in {"in", "wearing", "wears", "wear"}:
        return False
    if phrase is None or phrase.head <= place:
        return True
    noun = caption.units[phrase.head].lemma  # often a verb, after the fruit: an orange cut in half
    return not is_thing(noun) or (caption.units[place].word == "orange" and not seen_in("modifier", "orange", noun))


def _is_grown(caption: Caption, head: int) -> bool:
    """Whether it has colours of its own: an animal, a person, food, a plant, the sky."""
    noun = caption.units[head].lemma
    return is_animate(noun) or is_food(noun) or noun in _NATURAL or noun in BODY


def _seen_by_kin(pair: WordPair, word: str, target: str) -> bool:
    """Whether the pair was seen with another word for a person: a gentleman can be where men are."""
    if target != "object" or not is_person(word):
        return False
    return any(counted(*pair.filled(kin)).seen for kin in _PERSONS)


def _is_not_first(caption: Caption, noun: str) -> bool:
    """Whether the noun is not the first of the caption: in "two children on the dirt with an umbrella", the umbrella
    is the children's."""
    phrase = next((p for p in caption.phrases if caption.units[p.head].lemma == noun), None)
    return phrase is not None and caption.phrases[0] is not phrase


def _doubts_of_scene(caption: Caption, old: str, new: str) -> Iterator[Doubt]:
    first = caption.head_lemma(caption.phrases[0]) if caption.phrases else ""
    for subject, where in places_in(caption):
        preposition, _, noun = where.rpartition(" ")
        if subject == old and not (preposition == "with" and _is_not_first(caption, old)):
            yield from _doubt_at(new, where)
        if noun == old and not (first != subject and _is_seen_at(first, f"{preposition} {new}")):
            yield from _doubt_at(subject, f"{preposition} {new}")
    for phrase in caption.phrases:
        other = caption.units[phrase.head].lemma
        if other != old and not _is_seen_beside(new, other):
            yield Doubt(f"captions never name these two things together: {new!r} and {other!r}", UNLIKELY)


def _doubts_of_image(caption: Caption, start: int, end: int, new: str) -> Iterator[Doubt]:
    """Photos that have the other words of the caption hardly ever show the new thing: "skis" and a street."""
    if not is_known(new):
        yield Doubt(f"too few photos show the new thing to know where it may be: {new!r}", UNLIKELY)
        return
    share = _SHARE_OF_PLACE if sets_of(new) & _PLACES else _SHARE
    for place, unit in enumerate(caption.units):
        # Only the last unit goes: in "a bathroom toilet" that becomes a bed, "bathroom" still names the room.
        if unit.kind in CONTENT and unit.lemma not in _EVERYWHERE and place != end - 1:
            seen, expected = in_images(new, unit.lemma)
            if expected >= 1 and seen < share * expected:
                weight = UNLIKELY if expected >= 2 and seen < _HARDLY * expected else NOT_KNOWN
                why = f"the new thing is seldom in photos of this kind: {new!r} beside {unit.lemma!r}"
                yield Doubt(why, weight, "image")


def _doubts_of_place(caption: Caption, old: str, new: str) -> Iterator[Doubt]:
    for subject, where in places_in(caption):
        preposition, _, noun = where.rpartition(" ")
        if preposition == old and not any(_is_seen_at(subject, f"{kin} {noun}") for kin in _SAME_PLACE.get(new, ())):
            yield from _doubt_at(subject, f"{new} {noun}")


def _doubt_at(noun: str, where: str) -> Iterator[Doubt]:
    if not _is_seen_at(noun, where):
        expected = max(counted("where", name, where).expected for name in (noun, sort_of(noun)))
        weight = IMPOSSIBLE if expected > 1 else UNLIKELY if expected > _EXPECTED["where"] else NOT_KNOWN
        yield Doubt(f"captions never have the thing in that place: {noun!r} {where!r}", weight, "where")


def seen_pair(relation: str, first: str, second: str, free: bool) -> bool:
    """Whether captions have the pair; a `free` quality goes with any thing that can be made or painted."""
    count = counted(relation, first, second)
    if relation == "modifier" and free:
        if is_animate(second) or is_food(second) or second in _NATURAL:
            return count.seen >= max(2, 0.1 * count.expected)
        return count.seen > 0 or count.expected < 1
    if count.seen >= max(1, 0.05 * count.expected):
        return True
    return is_person(second) and relation != "modifier" and any(seen_in(relation, first, kin) for kin in _PERSONS)
