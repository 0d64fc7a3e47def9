"""Checks by what captions say: a new word goes with its neighbours, and is not likely to be in the photo anyway."""

from __future__ import annotations

import functools

from equipoise.perturb.candidate import Candidate
from equipoise.perturb.english.caption import Caption, NounPhrase
from equipoise.perturb.english.collocations import governor_of
from equipoise.perturb.english.evidence import IMPOSSIBLE, doubts
from equipoise.perturb.english.fit import is_seen_with
from equipoise.perturb.english.forms import lemma_of
from equipoise.perturb.english.noun_classes import is_animate, is_garment, sets_of
from equipoise.perturb.english.vocabulary import word_set
from equipoise.perturb.english.word_lists import exclusive


def plausible(caption: Caption, candidate: Candidate) -> str | None:
    """A negative's new word must have been seen in its place: with its verb, its colour, its noun, where it is, and
    beside the other things of the caption. What was never counted is not known to be possible."""
    edit = candidate.edit
    if candidate.kind != "negative" or edit.op != "replace" or edit.span is None or not edit.to:
        return None
    place = caption.units_of(edit.span)
    if place is None or edit.by == "gender" or (edit.by == "captions" and edit.target == "attribute"):
        return None  # a colour is only added where captions have it with its noun; man and woman are seen everywhere
    word = lemma_of(edit.to, edit.target)
    found = doubts(caption, *place, word, edit.target or "")
    return next((doubt.reason for doubt in found if doubt.weight == IMPOSSIBLE), None)


def not_there_too(caption: Caption, candidate: Candidate) -> str | None:
    """What a photo has "with" or "near" something else may well be there beside the old thing.

    So it may not be what captions of such photos often name: a street with cars has bikes too. The same for one of a
    list. What a person or an animal has with it is held or worn, and a pizza is the meal: there the new thing replaces
    the old.
    """
    edit = candidate.edit
    if candidate.kind != "negative" or edit.op != "replace" or edit.target != "object" or not edit.span or not edit.to:
        return None
    place = caption.units_of(edit.span)
    phrase = caption.phrase_at.get(place[1] - 1) if place else None
    if phrase is None:
        return None
    governor = governor_of(caption, phrase)
    unit = caption.units[governor] if governor >= 0 else None
    if not (unit is not None and unit.lemma in _BESIDE) and not _is_listed(caption, phrase):
        return None
    if unit is not None and unit.lemma in _HAVING and any(map(is_animate, caption.subjects_of(governor))):
        return None
    new = lemma_of(edit.to, "object")
    old = caption.units[phrase.head].lemma
    if _INGREDIENTS & sets_of(new) or old in {"floor", "ground"}:
        return f"the new thing may be in the photo as well: {new!r} beside {old!r}"
    if is_animate(new) or "food-piece" in sets_of(new):
        return None
    beside = _is_listed(caption, phrase) or (unit is not None and unit.lemma in _BESIDE - _HAVING)
    if beside and not is_garment(new) and sets_of(new) & _SMALL:
        return f"the new thing may be in the photo as well: {new!r}"  # luggage and a box, a knife and a board
    names = _names(new)
    for other in caption.phrases:
        noun = caption.units[other.head].lemma
        if any(is_seen_with(noun, name) or is_seen_with(noun.split()[-1], name) for name in names):
            return f"such photos often show the new thing too: {new!r} with {noun!r}"
    return None


def _names(noun: str) -> frozenset[str]:
    """The noun and what our sets do not tell from it: a pick up truck is seen where trucks are."""
    return _groups().get(noun, frozenset()) | {noun, noun.split()[-1]}


@functools.cache
def _groups() -> dict[str, frozenset[str]]:
    """Noun -> all that stands in one group with it."""
    found: dict[str, frozenset[str]] = {}
    for group in (group for line in exclusive() if line.section == "object" for group in line.groups):
        mine = frozenset(m.entry.text for m in group if m.replaced or m.chosen)
        found |= {noun: found.get(noun, frozenset()) | mine for noun in mine}
    return found


def _is_listed(caption: Caption, phrase: NounPhrase) -> bool:
    """One of several things: "a plate with meat, carrots and a roll"."""
    units = caption.units
    before = units[phrase.start - 1].word if phrase.start else ""
    after = units[phrase.end].word if phrase.end < len(units) else ""
    return before in {"and", ","} or (after in {"and", ","} and phrase.end + 1 in caption.phrase_at)


_SMALL = word_set("sets of small things")
_INGREDIENTS = frozenset(("vegetable", "mass-food", "fruit", "covering"))
_HAVING = word_set("having")
_BESIDE = _HAVING | word_set("beside")
