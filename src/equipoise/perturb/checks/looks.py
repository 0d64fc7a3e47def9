"""Checks of looks by the other captions of a photo: a size, an age or a colour is only made false where they tell it.

What is large is a matter of taste: "a small pizza" is wrong for sure only where others call it large. A ball that is
colorful may be red too.
"""

from __future__ import annotations

import re

from equipoise.perturb.candidate import Candidate
from equipoise.perturb.checks.agreed import names_of
from equipoise.perturb.english.caption import Caption
from equipoise.perturb.english.evidence import COLOURS
from equipoise.perturb.english.forms import noun_lemma

_SIZES = {
    **dict.fromkeys("large big huge giant enormous massive gigantic oversized".split(), "large"),
    **dict.fromkeys("small tiny little miniature mini".split(), "small"),
    **dict.fromkeys("tall high towering".split(), "tall"),
    **dict.fromkeys("low short".split(), "low"),
}
_AGAINST = {"large": frozenset(("small", "low")), "small": frozenset(("large", "tall")),
            "tall": frozenset(("low", "small")), "low": frozenset(("tall", "large"))}  # fmt: skip
_ENOUGH = 2  # other captions that must say the opposite of a size that this caption does not speak of
_IN_SIZES = frozenset(("dog",))  # of what comes in sizes one is enough
_FAR = 3  # words before a noun that may tell of it
_NEARLY_GROWN = frozenset(("teenage", "older", "teenaged"))
_SURELY_SMALL = frozenset("little small tiny toddler toddlers kid kids child children baby infant".split())
_OF_THE_SMALL = frozenset(
    "crib cradle stroller carseat highchair playpen diaper diapers pacifier bib potty booster pram".split()
) | {"car seat", "high chair", "baby carriage", "sippy cup"}
_MANY_COLOURS = frozenset(
    "colorful colourful multicolored multicoloured multicolor multi-colored multi-coloured "
    "multi-color multi rainbow striped stripe stripes stripped patterned pattern plaid checkered checked spotted "
    "floral flowered tie-dye tie-dyed camouflage camo polka bright-colored brightly printed print decorated".split()
)
_WORD = re.compile(r"[a-z'-]+")


def looks_agreed(caption: Caption, candidate: Candidate) -> str | None:
    """A negative's size, age or colour must be told otherwise by the other captions, and not left open by any."""
    edit = candidate.edit
    if candidate.kind != "negative" or edit.op != "replace" or edit.target != "attribute" or not edit.source:
        return None
    old, new = _WORD.findall(edit.source.lower()), _WORD.findall((edit.to or "").lower())
    brought = [word for word in new if word not in old]
    noun = _noun(caption, candidate)
    if noun is None or not brought:
        return None
    if brought[0] in _NEARLY_GROWN:
        return _age(caption)
    if brought[0] in _SIZES:
        return _size(caption, noun, brought[0], next((word for word in old if word in _SIZES), None))
    if not COLOURS.isdisjoint(brought):
        return _colours(caption, candidate, noun)
    return None


def _noun(caption: Caption, candidate: Candidate) -> str | None:
    """What the quality is said of; of "man in a red shirt" the shirt."""
    edit = candidate.edit
    last = noun_lemma((edit.to or "").lower().split()[-1])
    if last not in _SIZES and last not in COLOURS and last not in _NEARLY_GROWN:
        return last
    place = caption.units_of(edit.span) if edit.span else None
    phrase = caption.phrase_at.get(place[0]) if place else None
    return caption.units[phrase.head].lemma if phrase is not None else None


def _told_of(text: str, noun: str) -> set[str]:
    """The words of a text that stand shortly before the noun or another name of it."""
    words, names, found = _WORD.findall(text.lower()), names_of(noun), set()
    for place, word in enumerate(words):
        if word in names or noun_lemma(word) in names:
            found.update(words[max(0, place - _FAR) : place])
    return found


def _size(caption: Caption, noun: str, new: str, old: str | None) -> str | None:
    if not caption.others:
        return None if old else "no other caption tells the size"
    mine = _SIZES[new]
    told = [{_SIZES[word] for word in _told_of(text, noun) & _SIZES.keys()} for text in caption.others]
    if any(mine in sizes for sizes in told):
        return f"another caption of the image calls it {mine}"
    if old is not None:
        same = any(_SIZES[old] in sizes for sizes in told)
        return None if same else f"no other caption of the image calls it {old!r}"
    against = sum(bool(sizes & _AGAINST[mine]) for sizes in told)
    return None if against >= (1 if noun in _IN_SIZES else _ENOUGH) else "fewer than two other captions tell its size"


def _age(caption: Caption) -> str | None:
    """A young girl may be a teenager; a little one is none. No teenager sits in a car seat."""
    if not _OF_THE_SMALL.isdisjoint(caption.words | caption.other_words) or "car seat" in caption.text.lower():
        return "what only small children have"
    if _SURELY_SMALL.isdisjoint(caption.other_words):
        return "no other caption of the image calls the child little"
    return None


def _colours(caption: Caption, candidate: Candidate, noun: str) -> str | None:
    place = caption.units_of(candidate.edit.span) if candidate.edit.span else None
    phrase = caption.phrase_at.get(place[0]) if place else None
    mine = {unit.word for unit in caption.units[phrase.start : phrase.end]} if phrase is not None else set()
    if not _MANY_COLOURS.isdisjoint(mine):
        return "a thing of many colours may have the new one too"
    if any(not _MANY_COLOURS.isdisjoint(_told_of(text, noun)) for text in caption.others):
        return "another caption of the image gives it many colours or a pattern"
    return None
