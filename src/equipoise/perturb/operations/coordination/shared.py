"""What all cases share: the two spans to exchange, words that tie one side to the other, articles that move."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from equipoise.perturb.english.caption import Caption, NounPhrase, Unit
from equipoise.perturb.english.forms import plural
from equipoise.perturb.english.vocabulary import count, expand, word_set
from equipoise.perturb.english.wordnet import is_animate, is_food, same_sort, sets_of

Span = tuple[int, int]  # units


class Swap(NamedTuple):
    """The two sides. With `article`, what goes to the back gets an article of its own there: "a toilet and dirty
    sink" becomes "a dirty sink and a toilet", since in "a dirty sink and toilet" both would be dirty."""

    left: Span
    right: Span
    article: bool = False


class Rejected(str):
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


_QUANTITIES = word_set("shared quantities")
_STAY = word_set("determiners that stay") | _QUANTITIES
_COUNTED = word_set("counted though mass")  # though in @mass
_MASS = (frozenset(expand("@mass")) - _COUNTED) | word_set("uncountable")
_SET_WITH_TABLE = frozenset("chair stool bench seat".split())
_MIXED = frozenset("assorted different mixed miscellaneous".split())  # of several kinds, so said of all of them
_HEADS_SHARE = (  # pairs said in one breath: an adjective before them is of both
    word_set("couples in one breath"),
    word_set("relatives in one breath"),
    frozenset("fruit vegetable veggie veggy".split()),
    frozenset("pot pan".split()),
    frozenset("knife fork spoon".split()),
    frozenset("cabinet drawer cupboard".split()),
)


def with_determiners(
    caption: Caption, left: NounPhrase, right: NounPhrase, left_span: Span, right_span: Span
) -> Swap | None:
    """Decides whether determiners move. "a cat and dog": the article is shared and stays."""
    units = caption.units
    first = units[left.start]
    if right.core > right.start:
        return _both_own(caption, left, right, left_span, right_span)
    heads = _heads_only(caption, left, right)
    left_modified, right_modified = left.head > left.core, right.head > right.core
    if left.core == left.start:  # trees and bushes; white plates and bowls
        if left_modified and not right_modified:
            return heads
        if _is_described(caption, left) and not _is_described(caption, right):
            return None  # black blankets and pillow cases
        later = caption.is_plural(right) or is_mass(units[right.head])
        listed = left.start > 2 and units[left.start - 1].word == "," and _shares_article(caption, left)
        return Swap(left_span, right_span, article=listed and later and _is_countable(caption, left))
    article = first.word in {"a", "an"}
    ends_later = right_span[1] > right.end
    if article and not ends_later and (caption.is_plural(right) or is_mass(units[right.head])):
        if _is_described(caption, left) and (not right_modified and units[right.head].lemma in _SET_WITH_TABLE):
            return None  # a wooden table and chairs
        return Swap(left_span, right_span)  # a hiker and dogs: the article goes with its noun
    number = first.kind == "number" and first.word not in _QUANTITIES
    counted = number or first.word in {"several", "many", "multiple", "numerous"}
    if counted and is_mass(units[right.head]) and not ends_later:
        return Swap(left_span, right_span)  # two brushes and toothpaste
    kinds = {is_food(units[phrase.head].lemma) for phrase in (left, right)}
    if number and len(kinds) == 2 and right_modified and not ends_later:
        return Swap(left_span, right_span)  # three small oranges and cutting knives
    if number and not left_modified and _is_described(caption, right) and not ends_later:
        # two couches and colourful walls: nobody counts both at once; two cats and small dogs: perhaps
        unlike = not same_sort(units[left.head].lemma, units[right.head].lemma, strict=True)
        return Swap(left_span, right_span) if unlike else None
    if left_modified and not right_modified:
        return heads  # a white sink and toilet: the colour may be shared
    if first.word not in _STAY or left.core - left.start > 1:  # two dogs and cats: two of each?
        return None
    if article and not _may_be_counted(units[right.head]):
        return None
    same_head = units[left.head].lemma == units[right.head].lemma  # a large zebra and baby zebra
    if _is_described(caption, left) and not _is_described(caption, right) and not same_head:
        return None  # a brown couch and foot stool
    if first.word in _QUANTITIES and not _share_quantity(caption, left, right):
        return None
    if ends_later or (not left_modified and _is_described(caption, right)):
        # a toilet and dirty sink: the article is said again, or both would be dirty
        if ends_later and caption.is_plural(right):
            return Swap(left_span, right_span) if article else None  # a spider and lots of pumpkins
        return Swap((left.core, left_span[1]), right_span, article=True) if article else None
    return Swap((left.core, left_span[1]), right_span)


def _both_own(caption: Caption, left: NounPhrase, right: NounPhrase, left_span: Span, right_span: Span) -> Swap:
    units = caption.units
    listed = left.start > 1 and units[left.start - 1].word in {",", "and"} and _shares_article(caption, left)
    if listed and left.core == left.start and _is_countable(caption, left):
        if units[right.start].word in {"a", "an"}:  # a lemon, banana and a melon
            return Swap((left.core, left_span[1]), (right.core, right_span[1]))
        return Swap(left_span, right_span, article=True)  # a television, sink and two boxes
    return Swap(left_span, right_span)


def _shares_article(caption: Caption, member: NounPhrase) -> bool:
    """a sink, toilet and ...: whether the member before has the article that this one goes without."""
    units = caption.units
    earlier = caption.phrase_at.get(member.start - 2)
    while earlier is not None and earlier.start == earlier.core and earlier.start > 1:
        if units[earlier.start - 1].word != ",":
            return False
        earlier = caption.phrase_at.get(earlier.start - 2)
    return earlier is not None and units[earlier.start].word in {"a", "an"}


def _heads_only(caption: Caption, left: NounPhrase, right: NounPhrase) -> Swap | None:
    """An elderly man and woman; fresh fruits and vegetables: the adjective stays where it is, before both."""
    heads = {caption.units[left.head].lemma, caption.units[right.head].lemma}
    mixed = all(unit.word in _MIXED for unit in caption.units[left.core : left.head]) and caption.is_plural(right)
    set_up = heads == {"table", "chair"} and caption.is_plural(left) and caption.is_plural(right)
    if len(heads) == 2 and (mixed or set_up or any(heads <= pair for pair in _HEADS_SHARE)):
        return Swap((left.head, left.end), (right.head, right.end))
    return None


def _share_quantity(caption: Caption, left: NounPhrase, right: NounPhrase) -> bool:
    first, second = caption.units[left.head], caption.units[right.head]
    some = caption.units[left.start].word == "some"
    if (is_mass(second) and not some) or not (caption.is_plural(right) or is_mass(second)):
        return False  # some bushes and building; many broccoli
    return is_animate(first.lemma) == is_animate(second.lemma) and is_food(first.lemma) == is_food(second.lemma)


def _is_described(caption: Caption, phrase: NounPhrase) -> bool:
    """Whether an adjective comes first, which would reach over to the next noun."""
    unit = caption.units[phrase.core]
    return phrase.head > phrase.core and unit.kind in {"adjective", "verb", "adverb"}


def _is_countable(caption: Caption, phrase: NounPhrase) -> bool:
    noun = caption.units[phrase.head]
    if caption.is_plural(phrase) or is_mass(noun) or noun.pos.startswith("NNP"):
        return False
    return _may_be_counted(noun)


def _may_be_counted(noun: Unit) -> bool:
    """Whether the plural is known: "a signage" would not be English."""
    return count(plural(noun.lemma)) > 0 or bool(sets_of(noun.lemma)) or noun.lemma != noun.lemma.rsplit(" ", 1)[-1]


def is_mass(noun: Unit) -> bool:
    return noun.lemma in _MASS or noun.lemma.rsplit(" ", 1)[-1] in _MASS
