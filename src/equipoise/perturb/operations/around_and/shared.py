"""What all cases share: the two spans to exchange, and the words that tie one side to the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from equipoise.perturb.english.caption import Caption, NounPhrase, Unit
from equipoise.perturb.english.vocabulary import word_set

Span = tuple[int, int]  # units


class Swap(NamedTuple):
    """The two sides. With `article`, what goes to the back gets an article of its own there: "a toilet and dirty
    sink" becomes "a dirty sink and a toilet", since in "a dirty sink and toilet" both would be dirty."""

    left: Span
    right: Span
    article: bool = False


class No(str):
    """Why two sides may not be exchanged. False, so that `a or b` goes on to the next case."""

    def __bool__(self) -> bool:
        return False


COLOURS = word_set("colours and shades")
POINTS_BACK = word_set("pronouns that point back")
POINTS_TO_ONE = word_set("pronouns that point to one")
# Prepositions of place: none of them leads from one place to the next ("up", "into"), none needs the other ("out").
PLACES = word_set("places of both")


_USED_FOR = frozenset("eating serving cooking cutting baking".split())  # eating utensils


def has(units: Sequence[Unit], span: Span, words: frozenset[str] | set[str]) -> bool:
    return any(unit.word in words for unit in units[span[0] : span[1]])


def last_of(caption: Caption) -> int:
    """Where the caption ends, its full stop left out."""
    end = len(caption.units)
    while end and caption.units[end - 1].kind == "mark":
        end -= 1
    return end


def phrase_from(caption: Caption, place: int) -> NounPhrase | None:
    """The noun phrase that begins at `place`; also "sliced bananas" and "very large rugs"."""
    found = caption.phrase_at.get(place)
    if found is not None:
        return found if found.start == place else None
    unit, after = caption.units[place], caption.phrase_at.get(place + 1)
    if after is None or after.start != place + 1 or after.core != after.start:
        return None
    opens = unit.pos in {"VBN", "VBD"} and unit.word.endswith(("ed", "en")) and unit.kind != "be"
    tool = caption.units[after.head].lemma in {"utensil", "knife", "spoon", "dish", "tool", "board", "tray"}
    opens = opens or unit.word in {"very", "cut"} or (unit.word in _USED_FOR and tool)
    return NounPhrase(place, place, after.head) if opens else None
