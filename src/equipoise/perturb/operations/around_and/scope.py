"""Whether words before or after "A and B" may speak of one side only: after a swap they would speak of the other."""

from __future__ import annotations

from collections.abc import Sequence

from equipoise.perturb.english.caption import COLLECTIVES, Caption, NounPhrase, Unit
from equipoise.perturb.english.noun_classes import is_animate, is_food, is_garment, is_person, is_thing, sets_of
from equipoise.perturb.english.vocabulary import word_list, word_set
from equipoise.perturb.operations.around_and.determiners import is_mass

_FROZEN = frozenset(tuple(pair.split(" + ")) for pair in word_list("fixed pairs"))
_ANYTHING = word_set("names of anything")
_COMPARED = word_set("compared")
_INTO = word_set("ways into")
_FULL = word_set("filled")
_FAR = frozenset(("background", "foreground", "distance"))
# What two do together; any other participle ("greeting", "wearing") may be what the nearer one does.
_TOGETHER = word_set("done together")
_ONE_OF_TWO = word_set("worn in pairs")
_VEHICLES = frozenset(("road-vehicle", "rail", "air-vehicle", "water-vehicle"))
_CONTAINERS = word_set("containers")


def out_of_scope(caption: Caption, left: NounPhrase, right: NounPhrase, start: int, end: int) -> str | None:
    """The reason not to exchange two noun phrases, or None. `start` and `end` are those of both sides together."""
    units = caption.units
    heads = units[left.head].lemma, units[right.head].lemma
    modified = [phrase.head > phrase.core for phrase in (left, right)]
    if is_frozen(*heads) and not any(modified):
        return "a fixed pair that is always said in this order"
    for phrase, noun in zip((left, right), heads, strict=True):
        bare = phrase.start == phrase.head and not caption.is_name(phrase.head)
        if bare and not is_thing(noun) and not is_food(noun):
            return "one side of and is not a thing that can be seen"
    if is_compared(units[left.start : left.end]) or is_compared(units[right.start : right.end]):
        return "one side of and is compared with the other"
    last = [noun.rsplit(" ", 1)[-1] for noun in heads]
    if last[0] == last[1] and heads[0] != heads[1]:
        return "one side of and is a kind of the other"  # lights and traffic lights
    if len(set(heads) & _ANYTHING) == 1:
        return "one side of and may include the other (food and condiments)"  # food and condiments
    if start == 0 and is_animate(heads[0]) and not is_animate(heads[1]):
        return "a living thing is named before a lifeless one"
    if not caption.is_title and any(caption.is_name(phrase.head) for phrase in (left, right)):
        return "names keep their order"  # Buddy Holly and the Crickets
    if any(unit.word == "its" for unit in units[left.start : left.end]):
        return "the word its would then mean the other side"
    if all(map(is_garment, heads)) and any(unit.word == "and" for unit in units[:start]):
        return "it may be that each of two people wears one of them"  # a man and woman in a suit and a dress
    for phrase in (left, right):
        inner = [unit for unit in units[phrase.core : phrase.head] if unit.kind == "noun"]
        if len(inner) > 1:
            return "a list without commas, so the sides of and are not clear"  # a refrigerator stove sink
        if any(unit.word == "people" or (is_food(unit.lemma) and is_food(units[phrase.head].lemma)) for unit in inner):
            return "a list without commas, so the sides of and are not clear"  # white rice carrots; people drinks
    alone = [_is_bare_one(caption, phrase) for phrase in (left, right)]
    if start < left.start and units[start].kind == "noun" and right.core > right.start:
        return "one side of and has an article, the other none"  # group of girls and a dog
    listed = start > 0 and units[start - 1].word == ","
    if alone[0] != alone[1] and right.core > right.start and not listed:
        return "one side of and has an article, the other none"
    if listed and is_person(heads[0]) != is_person(heads[1]):
        return "in a list people come before animals and things"
    own = right.core > right.start
    before = units[start - 1] if start else None
    if start and before is not None and before.kind == "noun":
        return "a list without commas, so the sides of and are not clear"
    if any(unit.word == "between" for unit in units[: max(0, start - 1)]):
        return "the two sides of and are what something is between"
    if before is not None and before.word in _INTO and own and left.core == left.start:
        return "it is not clear whether the place is that of both or of one"
    after = units[end] if end < len(units) else None
    if before is not None and (before.kind == "number" or before.word.isdigit()):
        return "the number may count only the first side"
    if before is not None and before.word == "of" and start > 1:
        outer = units[start - 2].lemma
        plain = not modified[1] and not own and (caption.is_plural(right) or is_mass(units[right.head]))
        alike = is_food(heads[0]) == is_food(heads[1])
        if outer in COLLECTIVES | _CONTAINERS and not (plain and not modified[0] and alike):
            return "it is not clear whether the amount is of both or of the first alone"
    worn = all(map(is_garment, heads))
    if before is not None and before.word in _INTO and any(modified) and not own and not worn:
        return "it is not clear whether the place is that of both or of one"
    host = caption.phrase_at.get(start - 2) if before is not None and before.word == "with" else None
    if host is not None and is_garment(units[host.head].lemma):
        return "the second thing may be part of what is worn"  # wears a helmet with chin strap and red top
    full = start > 1 and (units[start - 2].word in _FULL or (before is not None and before.word in _FULL))
    if full and not (caption.is_plural(right) or is_mass(units[right.head])):
        return "nothing is full of, or covered with, a single thing"
    if after is None or after.kind == "mark":
        return None
    named = {noun.rsplit(" ", 1)[-1] for noun in heads}
    if any(unit.kind == "noun" and unit.lemma in named for unit in units[end:]):
        return "the words after it name one of the two again"
    if start > 0 and (after.pos in {"VBG", "VBN"} or after.kind == "relative") and not _of_the_whole(caption, start):
        return "the words after it may describe only the nearer side"
    if start > 0 and after.word == "with":
        return "the words after it may describe only the nearer side"
    if after.lemma == "park" and not all(sets_of(noun) & _VEHICLES for noun in heads):
        return "only one of them can be parked"
    if start > 0 and any(unit.word.rsplit(" ", 1)[-1] in _FAR for unit in units[end : end + 4]):
        return "only the nearer one may be in the background"
    if after.pos == "VBG" and own and after.lemma not in _TOGETHER:
        held = caption.phrase_at.get(end + 1)
        if held is None or not caption.is_plural(held) or units[held.head].word in _ONE_OF_TWO:
            return "the words after it may describe only the nearer side"
    return None


def _is_bare_one(caption: Caption, phrase: NounPhrase) -> bool:
    """One thing that can be counted, without an article: "turbaned man and two officers"."""
    bare = phrase.start == phrase.core and not caption.is_plural(phrase) and not caption.is_name(phrase.head)
    return bare and not is_mass(caption.units[phrase.head])


def is_frozen(first: str, second: str) -> bool:
    """Two nouns that are said in this order alone."""
    return (first, second) in _FROZEN


def is_compared(units: Sequence[Unit]) -> bool:
    """A younger girl: younger than the one named before."""
    return any(unit.pos == "JJR" or unit.word in _COMPARED for unit in units)


def _of_the_whole(caption: Caption, start: int) -> bool:
    """A man in a shirt and a hat standing: the man stands."""
    first = caption.phrases[0]
    return first.end <= start and is_animate(caption.head_lemma(first))
