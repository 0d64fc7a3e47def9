"""Whole clauses around "and": "a lady wearing skis and a man holding skis", "a dog is here and a cat is there"."""

from __future__ import annotations

from collections.abc import Sequence

from equipoise.perturb.english.caption import Caption, NounPhrase, Unit
from equipoise.perturb.english.noun_classes import is_animate, is_garment, same_sort
from equipoise.perturb.english.vocabulary import word_set
from equipoise.perturb.operations.around_and.shared import POINTS_BACK, Swap, has, last_of

_IN_PLACE = word_set("places of one")
_OWN = frozenset("his her its their".split())  # with his legs in the air and sparks flying
_TIES = POINTS_BACK | word_set("ties between clauses")
# Grounds on which one thing can be, never things beside the next ("limes on a tray and a jug on a table").
_GROUNDS = word_set("grounds")
_PLACED = word_set("participles of place")


def clauses(caption: Caption, place: int) -> Swap | None:
    """Two halves of the whole caption, each with a noun phrase of its own at its front."""
    units = caption.units
    second = caption.phrase_at.get(place + 1)
    end = last_of(caption)
    if second is None or second.start != place + 1:
        return None
    first = _after_with(caption, place) or _opening(caption, place)
    if (
        first is None
        or first.end >= place
        or has(units, (place + 1, end), _TIES)
        or has(units, (first.start, place), _OWN)
        or _is_broken(units, first, place, end)
    ):
        return None
    if first.start == 0 and (found := _with_thing(caption, first, second, place, end)):
        return found
    if first.start == 0 and (found := _finite(caption, first, second, place, end)):
        return found
    if second.end >= end:
        return None
    if any(u.kind == "be" or u.pos in {"VBZ", "VBP"} for u in [*units[first.end : place], *units[second.end : end]]):
        return None
    before = caption.phrase_at.get(place - 1)
    if before is None or before.start <= first.start or is_animate(caption.head_lemma(before)):
        return None
    whole = Swap((first.start, place), (place + 1, end))
    left, right = units[first.end], units[second.end]
    animate = is_animate(caption.head_lemma(second))
    if left.pos == right.pos == "VBG" and animate and is_animate(caption.head_lemma(first)) and first.start == 0:
        return whole
    placed = left.word in _IN_PLACE or (left.word in _PLACED and units[first.end + 1].word in _IN_PLACE)
    if (
        not placed
        or before.start != _after_place(units, first.end)
        or (_is_bare(second) and not caption.is_plural(second))
    ):
        return None
    own_place = right.word in _IN_PLACE and caption.object_of(second.end) is not None
    own_place = own_place or right.word in _PLACED or (right.pos == "VBG" and animate)
    where = caption.object_of(second.end) or "nowhere"
    ends = caption.phrase_at.get(second.end + 1) == caption.phrases[-1] and caption.phrases[-1].end == end
    if left.word == right.word and animate and same_sort(caption.head_lemma(before), where, strict=True):
        return (
            whole if ends else None
        )  # a girl on a bike and a boy on a scooter; a man in a suit and a woman in a dress
    apart = caption.head_lemma(before) in _GROUNDS or where in {"wall", "ceiling", "background"}
    return whole if own_place and apart else None


def _with_thing(caption: Caption, first: NounPhrase, second: NounPhrase, place: int, end: int) -> Swap | None:
    """A bull with large horns and a calf: the calf is another animal, not what the bull is with."""
    units, inner = caption.units, caption.phrase_at.get(place - 1)
    if second.end != end or inner is None or units[first.end].word not in {"with", "in"}:
        return None
    if inner.start > first.end + 2 or (inner.start == first.end + 2 and units[first.end + 1].kind != "adverb"):
        return None
    alive = is_animate(caption.head_lemma(first)) and is_animate(caption.head_lemma(second))
    own = units[second.start].word in {"a", "an"} or units[second.start].kind == "number"
    if not alive or not own or is_animate(caption.head_lemma(inner)):
        return None
    worn = units[first.end].word == "with" or is_garment(caption.head_lemma(inner))
    return Swap((0, place), (place + 1, end)) if worn else None


def _opening(caption: Caption, place: int) -> NounPhrase | None:
    """The phrase that the left half begins with: at the front, or after "there are" of as many."""
    units = caption.units
    first = caption.phrase_at.get(0)
    if first is not None:
        return first if first.start == 0 else None
    if len(units) > 3 and units[0].word == "there" and units[1].kind == "be":
        first, second = caption.phrase_at.get(2), caption.phrase_at.get(place + 1)
        if first is not None and second is not None and first.start == 2:
            return first if caption.is_plural(first) == caption.is_plural(second) else None
    return None


def _after_with(caption: Caption, place: int) -> NounPhrase | None:
    """A room with decorations on a shelf and ...: the phrase after "with", if it stands in a place of its own."""
    found = [phrase for phrase in caption.phrases if phrase.start and phrase.end < place]
    found = [phrase for phrase in found if caption.units[phrase.start - 1].word in {"with", "has"}]
    return found[-1] if found else None


def _after_place(units: Sequence[Unit], place: int) -> int:
    return place + 1 if units[place].word in _IN_PLACE else place + 2


def _is_bare(phrase: NounPhrase) -> bool:
    return phrase.core == phrase.start


def _is_broken(units: Sequence[Unit], first: NounPhrase, place: int, end: int) -> bool:
    return any(
        units[i].kind in {"relative", "and", "pronoun"} or units[i].word in {",", ".", ";"}
        for i in range(first.end, end)
        if i != place
    )


def _finite(caption: Caption, first: NounPhrase, second: NounPhrase, place: int, end: int) -> Swap | None:
    """A giraffe is in front and a zebra is behind: two sentences, neither of which speaks of the other."""
    units = caption.units
    left, right = units[first.end], units[min(second.end, end - 1)]
    if (
        second.end >= end
        or "POS" in {left.pos, right.pos}
        or not all(u.kind == "be" or u.pos in {"VBZ", "VBP"} for u in (left, right))
    ):
        return None
    named = {units[phrase.head].lemma for phrase in caption.phrases if phrase.start < place}
    if units[second.head].lemma in named:
        return None  # a man rides a horse and the horse is brown
    if (units[second.start].word == "the") != (units[0].word == "the"):
        return None  # what is known comes first
    if left.kind != "be" or right.kind != "be":
        return None  # a man throws a ball and a dog catches it
    return Swap((0, place), (place + 1, end))
