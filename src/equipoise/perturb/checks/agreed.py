"""Checks by the other captions of a photo: what its captions do not agree on cannot be made false for sure.

"Eating ice cream" where the others see an apple or a snack: whether bread would be wrong nobody knows. "Two jets" where
the others see several: three may be right.
"""

from __future__ import annotations

import functools
import re

from equipoise.perturb.candidate import Candidate
from equipoise.perturb.english.caption import Caption
from equipoise.perturb.english.forms import lemma_of, noun_lemma
from equipoise.perturb.english.noun_classes import is_animate, is_food, is_garment, is_person, sets_of
from equipoise.perturb.english.word_lists import exclusive, synonyms

_NUMBERS = {
    **dict.fromkeys(("two", "2"), frozenset("two 2 couple pair both".split())),
    "three": frozenset(("three", "3", "trio")),
    "four": frozenset(("four", "4")),
    "five": frozenset(("five", "5")),
    "six": frozenset(("six", "6")),
    "seven": frozenset(("seven", "7")),
    "eight": frozenset(("eight", "8")),
}
_NUMBERS |= {str(n): _NUMBERS[name] for n, name in enumerate("two three four five six seven eight".split(), 2)}
_COUNTED = frozenset(  # things that are there in any number
    "food-piece fruit road-vehicle air-vehicle water-vehicle seat furniture thrown cutlery dish computer".split()
)
_ENOUGH = 2  # other captions: fewer do not contradict by their silence


def agreed(caption: Caption, candidate: Candidate) -> str | None:
    """A negative may only replace what the other captions do not see otherwise."""
    edit = candidate.edit
    if candidate.kind != "negative" or edit.op != "replace" or not edit.source or edit.by == "captions":
        return None
    if edit.target == "attribute" and edit.source.lower() in _NUMBERS:
        return _number_told(caption, candidate)
    if edit.target == "object" and len(caption.others) >= _ENOUGH:
        old = lemma_of(edit.source.split()[0] if edit.by == "gender" else edit.source, "object")
        new = lemma_of(edit.to or "", "object")
        if not _GEAR.get(new, frozenset()).isdisjoint(caption.other_words):
            return f"another caption of the image speaks of the gear of the new word: {new!r}"
        return _not_told_who(caption, old, edit.to or "") or _seen_otherwise(caption, old)
    if edit.target == "relation":
        return _there_too(caption, candidate)
    if edit.target == "action":
        return _not_plain(caption, candidate) or _posture_told(caption, candidate)
    return None


_GEAR = {  # who somebody is, by what the others tell: a snowboarder on skis
    "skier": frozenset("ski skis skiing skied".split()),
    "snowboarder": frozenset("snowboard snowboards snowboarding board".split()),
    "surfer": frozenset("surf surfing surfs surfboard".split()),
    "skateboarder": frozenset("skateboard skateboarding skateboards".split()),
    "cyclist": frozenset("bike bikes biking bicycle bicycling cycling biker".split()),
    "kayaker": frozenset("kayak kayaking paddle".split()),
}


def _not_told_who(caption: Caption, old: str, to: str) -> str | None:
    """Of a man whom all others call a person, or of whom only legs are seen, nobody knows that he is no woman."""
    words = caption.other_words
    for listed in (_MALE, _FEMALE):
        if old in listed and words.isdisjoint(listed) and len(caption.others) > _ENOUGH:
            return "no other caption of the image confirms that it is a man or a woman"
    if old in _YOUNG and lemma_of(to, "object") in _GROWN and (words.isdisjoint(_CHILDISH) or words & _BETWEEN):
        return "no other caption of the image confirms that it is a child"
    return None


_MALE = frozenset(
    "man men boy boys guy guys male males gentleman gentlemen he his him himself father dad son brother husband lad "
    "grandfather policeman cowboy groom boyfriend bearded beard shirtless mustache".split()
)
_FEMALE = frozenset(
    "woman women girl girls lady ladies female females she her herself hers mother mom daughter sister wife dress "
    "skirt grandmother bride girlfriend bikini".split()
)
_YOUNG = frozenset("child kid toddler boy girl youngster".split())
_GROWN = frozenset("man woman lady guy adult".split())
_CHILDISH = frozenset(
    "child children kid kids boy boys girl girls little young toddler toddlers baby youngster small".split()
)
_BETWEEN = frozenset("teen teens teenage teenager teenagers adult adults youth man men woman women student".split())
_SAYS_TOO = {  # where something is, said otherwise
    "along": "along|down|on|in", "next to": "next to|beside|by|near", "beside": "next to|beside|by|near",
    "on": "on|on top of|atop|upon", "on top of": "on|on top of|atop|upon", "in": "in|inside|inside of|within",
    "inside": "in|inside|inside of|within", "under": "under|beneath|underneath|below", "behind": "behind",
    "beneath": "under|beneath|underneath|below", "in front of": "in front of", "outside": "outside|outside of",
    "outside of": "outside|outside of", "past": "past|by", "away from": "away from",
}  # fmt: skip


def _there_too(caption: Caption, candidate: Candidate) -> str | None:
    """Two people walk across the street: along it, if another caption has them walk down the street."""
    edit = candidate.edit
    place = caption.units_of(edit.span) if edit.span else None
    noun = caption.object_of(place[1] - 1) if place else None
    if noun is None or not edit.to:
        return None
    said = _SAYS_TOO.get(edit.to.lower(), re.escape(edit.to.lower()))
    asked = re.compile(rf"\b(?:{said}) (?:\w+ ){{0,2}}{re.escape(noun)}")
    if any(asked.search(text.lower()) for text in caption.others):
        return f"another caption of the image says the new word, or the like: {edit.to!r}"
    return None


_POSTURES = {
    **dict.fromkeys("stand standing stands".split(), "stand"),
    **dict.fromkeys("sit sits sitting seated".split(), "sit"),
    **dict.fromkeys("lie lies lying lay lays laying sleep sleeps sleeping asleep".split(), "lie"),
    **dict.fromkeys("walk walks walking".split(), "walk"),
    **dict.fromkeys("run runs running".split(), "run"),
}


_ON_THE_WAY_TO = frozenset("to from of by for about without how".split())
_ALONE = frozenset("walk run jump stand sit fly swim".split())


def _not_plain(caption: Caption, candidate: Candidate) -> str | None:
    """Only a plain predicate: not "how to ride" or "a break from riding", not "walking two dogs" or "jumps high", and
    no object that more is said of ("a stick running in the sand", "a child and a phone")."""
    edit, units = candidate.edit, caption.units
    place = caption.units_of(edit.span) if edit.span else None
    if place is None or not edit.to:
        return None
    start, end = place
    if start and units[start - 1].word in _ON_THE_WAY_TO:
        return "the action is only spoken of, not done (how to ride)"
    after = units[end] if end < len(units) else None
    phrase = caption.phrase_at.get(end)
    if units[start].lemma in _ALONE and end == start + 1 and phrase is not None and phrase.start == end:
        return "the action has an object that a new action may not take (walking two dogs)"
    if edit.to.split()[0].lower() in _POSTURES and after is not None and after.kind in {"adverb", "adjective"}:
        return f"the caption says how the action is done, which may not fit a new one: {after.word!r}"
    if phrase is None or phrase.start != end or phrase.end >= len(units):
        return None
    onward = units[phrase.end]
    if onward.kind in {"verb", "and", "to"} or onward.word in {edit.to.split()[-1], "off of", "up", "out"}:
        return "the caption goes on about the object of the action"
    return None


def _posture_told(caption: Caption, candidate: Candidate) -> str | None:
    """Cows that stand around do not lie on the grass."""
    edit = candidate.edit
    new = _POSTURES.get((edit.to or "").split()[0].lower()) if edit.to else None
    if new is None or edit.span is None:
        return None
    left = (unit for unit in caption.units if not edit.span[0] <= unit.start < edit.span[1])
    told = {_POSTURES[unit.word] for unit in left if unit.kind in {"verb", "adjective"} and unit.word in _POSTURES}
    return f"the caption says of somebody already how they stand, sit or move: {min(told)!r}" if told - {new} else None


def _number_told(caption: Caption, candidate: Candidate) -> str | None:
    """Another caption gives the same number, of what may be there in any number."""
    edit = candidate.edit
    place = caption.units_of(edit.span) if edit.span else None
    phrase = caption.phrase_at.get(place[0]) if place else None
    if phrase is None:
        return "what the number counts is not named"  # a plate for two
    noun = caption.units[phrase.head].lemma
    one = caption.units[phrase.start].word in {"a", "an", "the"}
    if one or not (is_animate(noun) or sets_of(noun) & _COUNTED) or is_garment(noun):
        return "such things come in a set number"  # four engines, two poles, a four poster bed
    if caption.others and _NUMBERS[(edit.source or "").lower()].isdisjoint(caption.other_words):
        return "no other caption of the image confirms the number"
    return None


def _seen_otherwise(caption: Caption, old: str) -> str | None:
    mine = names_of(old)
    if mine & caption.other_words or is_person(old):
        return None
    sets, food = sets_of(old), is_food(old)
    if not sets and not food:
        return None
    for word in sorted(caption.other_words - mine):
        if (sets & sets_of(word) or (food and is_food(word))) and word not in caption.words:
            return f"another caption of the image names another thing of the kind: {word!r}"
    return None


def names_of(noun: str) -> frozenset[str]:
    """The noun and what our lists do not tell from it."""
    return _same().get(noun, frozenset()) | {noun, noun.split()[-1], noun_lemma(noun)}


@functools.cache
def _same() -> dict[str, frozenset[str]]:
    """Noun -> what stands in one group with it, or is called its synonym."""
    found: dict[str, frozenset[str]] = {}
    for line in exclusive():
        if line.section == "object" and not line.name.startswith("wide"):
            for group in line.groups:
                listed = frozenset(member.entry.text for member in group)
                found |= {noun: found.get(noun, frozenset()) | listed for noun in listed}
    for pair in synonyms():
        if pair.section == "object":
            noun = pair.source.text
            found[noun] = found.get(noun, frozenset()) | {entry.text for entry in pair.targets}
    return found
