"""Single words around "and": adjectives, nouns before a noun, ages, prepositions."""

from __future__ import annotations

from collections.abc import Sequence

from equipoise.perturb.english.caption import Caption, Unit
from equipoise.perturb.english.vocabulary import word_set
from equipoise.perturb.english.wordnet import is_animate, is_food, is_person, is_thing, same_sort, sets_of
from equipoise.perturb.operations.coordination.shared import COLOURS, PLACES, POINTS_BACK, Rejected, Swap, last_of

_SHADES = word_set("shades")
_AGES = word_set("ages")
_FILMED = word_set("filmed")
# Heads that are made of, or serve, what two nouns before them name: "a ham and cheese sandwich", "car and bus traffic".
_MADE_OF = word_set("made of two")
_MATERIALS = word_set("materials of two")
_OF_A_SORT = word_set("heads of a sort")
_BESIDE_SOUP = word_set("beside soup")
_QUANTITY = frozenset("many several few other more".split())
_FLAG = frozenset(("red", "white", "blue"))
_IN_ORDER = frozenset(  # said in this order alone
    (("black", "white"), ("young", "old"), ("neat", "tidy"), ("hot", "cold"), ("clean", "tidy"))
)


def adjectives(caption: Caption, place: int) -> Swap | Rejected | None:
    """blue and white bus; worn and rusty train; very large and very posh; light and dark purple flowers."""
    units = caption.units
    last = place - 2 if units[place - 1].word == "," and place > 1 else place - 1
    first_right = place + 1
    if units[first_right].word in {"a", "an"} and first_right + 2 < len(units):
        return _with_own_articles(units, place)
    if units[first_right].kind == "adverb" and last and units[first_right].word == units[last - 1].word:
        first_right += 1  # very large and very posh
    if first_right >= len(units):
        return None
    left, right = units[last], units[first_right]
    after = units[first_right + 1] if first_right + 1 < len(units) else None
    if left.word in _SHADES and right.word in _SHADES and after is not None and after.word in COLOURS:
        return Swap((last, last + 1), (first_right, first_right + 1)) if left.word != right.word else None
    if not _is_adjective(left, None, units[last - 1] if last else None) or not _is_adjective(right, after, None):
        return None
    if left.word in _QUANTITY or right.word in _QUANTITY:
        return None
    if {left.word, right.word} < _FLAG and any(unit.word in _FLAG for unit in units[max(0, last - 2) : last]):
        return Rejected("a fixed list that is always said in this order")  # red, white and blue
    if (left.word, right.word) in _IN_ORDER:
        return Rejected("a fixed pair that is always said in this order")
    if "JJR" in {left.pos, right.pos}:
        return Rejected("one side of and is compared with the other")
    start, end = last, first_right + 1
    if start and units[start - 1].word in _SHADES:
        start -= 1
    if right.word in _SHADES and after is not None and after.word in COLOURS:
        end += 1
        after = units[end] if end < len(units) else None
    colours = left.word in COLOURS and units[end - 1].word in COLOURS
    if colours:
        if _is_of_picture(caption, start, end, {left.word, right.word}):
            return None
    elif not _are_of_a_kind(left, units[end - 1], after):
        return None
    if first_right > place + 1:
        start -= 1
    elif start and units[start - 1].kind in {"adverb", "noun"} and units[start - 1].word not in {"is", "are"}:
        return None  # "a very large and ...": the adverb would move
    if (after is not None and after.word == "and") or (start and units[start - 1].word == "and"):
        return None
    return Swap((start, last + 1), (place + 1, end))


def _are_of_a_kind(left: Unit, right: Unit, after: Unit | None) -> bool:
    """Neither "a large white and old bus" nor "clean and ready for": what follows belongs to one of them."""
    if left.word == right.word:
        return False
    if after is None or after.kind == "mark":
        return True  # are yellow and ripe
    if left.word in COLOURS or right.word in COLOURS:
        return False
    if after.kind == "noun":
        return True
    return after.kind == "adjective" and after.word not in COLOURS


def _is_adjective(unit: Unit, after: Unit | None, before: Unit | None) -> bool:
    if unit.kind == "adjective":
        return True
    if after is None:  # the left one: worn and rusty train
        opens = before is None or before.kind == "determiner"
        return opens and unit.pos in {"VBN", "VBD"} and unit.kind == "verb" and unit.word != "had"
    if after.kind == "verb" and after.pos in {"VBN", "VBD"}:
        return unit.word in COLOURS  # red and gold painted
    if after.kind != "noun":
        return False
    return unit.word in COLOURS or (unit.kind == "verb" and unit.pos in {"VBN", "VBD"}) or unit.word == "fun"


def _with_own_articles(units: Sequence[Unit], place: int) -> Swap | None:
    """a red and a white train cab: one noun for both."""
    left, right, after = units[place - 1], units[place + 2], units[place + 3] if place + 3 < len(units) else None
    if place < 2 or units[place - 2].word not in {"a", "an"} or after is None or after.kind != "noun":
        return None
    colours = left.kind == right.kind == "adjective" and {left.word, right.word} <= COLOURS
    return Swap((place - 1, place), (place + 2, place + 3)) if colours and left.word != right.word else None


def _is_of_picture(caption: Caption, start: int, end: int, colours: set[str]) -> bool:
    """A black and white photo; a picture in black and white: a fixed phrase."""
    if not colours <= {"black", "white"}:
        return False
    near = caption.units[end : end + 3]
    if any(unit.lemma in _FILMED or unit.word in _FILMED for unit in near):
        return True
    loose = end == len(caption.units) or caption.units[end].kind in {"mark", "preposition"}
    return loose and (start == 0 or caption.units[start - 1].kind == "preposition")


def ages(caption: Caption, place: int) -> Swap | None:
    """adult and young elephants; an adult and a baby zebra: the adult is a zebra too."""
    units = caption.units
    right = place + 2 if units[place + 1].word in {"a", "an"} else place + 1
    if right + 1 >= len(units) or units[place - 1].word not in _AGES or units[right].word not in _AGES:
        return None
    if units[place - 1].word == units[right].word:
        return None
    before = units[place - 2] if place > 1 else None
    if right > place + 1 and (before is None or before.word not in {"a", "an"}):
        return None
    if before is not None and before.kind not in {"determiner", "preposition"}:
        return None
    phrase = caption.phrase_at.get(right)
    if phrase is None or phrase.head != right + 1 or not is_animate(units[phrase.head].lemma):
        return None
    if is_person(units[phrase.head].lemma):
        return None  # a baby and a young boy
    return Swap((place - 1, place), (right, right + 1))


def modifiers(caption: Caption, place: int) -> Swap | None:
    """a pepperoni and mushroom pizza: two nouns before the one that both describe."""
    if not is_shared_head(caption, place):
        return None
    left, right = caption.units[place - 1], caption.units[place + 1]
    if "macaroni" in left.word or left.word == right.word:
        return None
    return Swap((place - 1, place), (place + 1, place + 2))


def is_shared_head(caption: Caption, place: int) -> bool:
    units = caption.units
    if place + 2 >= len(units):
        return False
    left, right, head = units[place - 1], units[place + 1], units[place + 2]
    if head.word in {"covered", "filled", "lined", "topped"} and left.kind == right.kind == "noun":
        return place + 3 < len(units) and units[place + 3].kind == "noun"  # a snow and rock covered mountain
    if {left.lemma, right.lemma} <= _MATERIALS and head.kind == "noun":
        return left.lemma != right.lemma  # a stone and cement room
    if {left.kind, right.kind, head.kind} != {"noun"} or right.pos != "NN":
        return False
    if (place + 3 < len(units) and units[place + 3].kind == "noun") or is_animate(left.lemma):
        return False
    cut_of = head.lemma == "slice" and place + 3 < len(units) and units[place + 3].word == "of"
    if head.lemma in _MADE_OF or cut_of:
        if (
            (left.pos != "NN" and left.word.endswith("s"))
            or left.lemma in _BESIDE_SOUP
            or "drink" in sets_of(left.lemma)
        ):
            return False
        foods = [is_food(unit.lemma) for unit in (left, right)]
        return all(foods) or (any(foods) and not all(is_thing(unit.lemma) for unit in (left, right)))  # mozzarella
    if left.pos != "NN" or not same_sort(left.lemma, right.lemma) or is_food(left.lemma) or " " in left.word:
        return False
    led = place > 1 and units[place - 2].kind in {"preposition", "verb", "number"}
    return led and (head.lemma == "traffic" or (head.pos == "NNS" and head.lemma in _OF_A_SORT))


def prepositions(caption: Caption, place: int) -> Swap | None:
    """playing on and around a statue; a dog in a parking lot and on a leash."""
    units = caption.units
    right = units[place + 1]
    if right.word not in PLACES or place < 2:
        return None
    phrase = caption.phrase_at.get(place + 2)
    if phrase is None or phrase.start != place + 2:
        return None
    left = units[place - 1]
    if left.word in PLACES:
        led = units[place - 2].kind in {"verb", "noun"} and not _is_bound(units[place - 2])
        return Swap((place - 1, place), (place + 1, place + 2)) if led and left.word != right.word else None
    inner = caption.phrase_at.get(place - 1)
    if inner is None or inner.head != place - 1 or inner.start < 2 or units[inner.start - 1].word not in PLACES:
        return None
    if phrase.end != last_of(caption) or any(u.word in POINTS_BACK for u in units[inner.start : phrase.end]):
        return None
    before = units[inner.start - 2]
    if before.kind not in {"verb", "noun"} or _is_bound(before) or (before.kind == "verb" and before.pos != "VBG"):
        return None
    return Swap((inner.start - 1, place), (place + 1, phrase.end))


def _is_bound(unit: Unit) -> bool:
    """covered in snow, looking at a man: the preposition belongs to the verb."""
    if unit.pos in {"VBN", "VBD"}:
        return unit.word not in {"positioned", "placed", "seated", "parked", "situated", "located"}
    return unit.lemma in {"look", "stare", "point", "gaze", "wave", "smile", "work", "try"}
