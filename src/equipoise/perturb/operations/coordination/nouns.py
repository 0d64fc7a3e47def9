"""Noun phrases around "and", and members of a list: "a sink, toilet and shower"."""

from __future__ import annotations

from collections.abc import Sequence

from equipoise.perturb.english.caption import COLLECTIVES, Caption, NounPhrase, Unit
from equipoise.perturb.english.forms import verb_lemma
from equipoise.perturb.english.vocabulary import word_set
from equipoise.perturb.english.wordnet import is_animate, is_food, is_garment, is_person, same_sort, sets_of
from equipoise.perturb.operations.coordination.right_context import is_compared, is_frozen, out_of_scope, right_end
from equipoise.perturb.operations.coordination.shared import (
    POINTS_TO_ONE,
    Rejected,
    Swap,
    has,
    is_mass,
    phrase_from,
    with_determiners,
)
from equipoise.perturb.operations.coordination.single_words import is_shared_head

_LIST_HEADS = word_set("list heads")
_PICTURES = word_set("pictures")
_ART = word_set("works of art")
_OF_DRINKS = frozenset("cup glass bottle mug jar".split())
_GROWN = word_set("grown in")
_OF_MANY = word_set("collectives of many")
_CONTAINERS = word_set("containers")
_OF_SOMEONE = word_set("of someone")
_SPLASHING = word_set("verbs with water")
_WITH_FIRST = {
    "computer": frozenset(("mouse",)),
    "wine": frozenset("bottle bottles glass glasses".split()),
    "beer": word_set("beer containers"),
}
_SHARING = {
    "sign": frozenset("road street traffic stop parking".split()),
    "fence": word_set("fence materials"),
    "wall": frozenset("brick stone wood glass".split()),
    "building": frozenset("brick stone glass".split()),
}
_OFTEN_VERBS = word_set("verbs taken for nouns")
_PLURAL_BEFORE_NOUN = word_set("plurals before a noun")


def nouns(caption: Caption, place: int) -> Swap | Rejected:
    found = _around(caption, place)
    return found or _earlier_members(caption, place) or found


def _around(caption: Caption, place: int) -> Swap | Rejected:
    units = caption.units
    end_left = place - 1 if units[place - 1].word == "," else place
    left, right = _left_phrase(caption, end_left - 1), phrase_from(caption, place + 1)
    if left is None or right is None or left.head != end_left - 1:
        return Rejected("the sides of and are not two plain things")
    if not _are_equals(caption, left, right):
        return Rejected("one side of and refers to the other, or is no equal of it")
    if _is_compound_tail(caption, left, right) or is_shared_head(caption, place) or _shares_head(units, left, right):
        return Rejected("the first word may describe the second noun (cheese and tomato pizza)")
    if _is_run(units, left, right):
        return Rejected("one side of and may be a verb")
    end = right_end(caption, left, right)
    if end is None:
        return Rejected("the words after it may describe only the nearer side")
    start = _left_start(caption, left, right, end)
    if start is None:
        return Rejected("the words before it may describe only the first side")
    if end_left < place and _opens_list(caption, left):
        return Rejected("the comma joins sentences, not things")
    if reason := out_of_scope(caption, left, right, start, end):
        return Rejected(reason)
    if start == left.start:
        found = with_determiners(caption, left, right, (start, end_left), (place + 1, end))
        return found or Rejected("both sides of and may share an article, number or adjective")
    return Swap((start, end_left), (place + 1, end))


def _earlier_members(caption: Caption, place: int) -> Swap | None:
    """Of "a sink, toilet and shower with a curtain" the first two, where the last is not free to move."""
    units = caption.units
    second = _left_phrase(caption, place - (2 if units[place - 1].word == "," else 1))
    if second is None or second.start < 2 or units[second.start - 1].word != "," or second.end < place - 1:
        return None
    first = _left_phrase(caption, second.start - 2)
    if first is None or first.head != second.start - 2 or not _are_equals(caption, first, second):
        return None
    third = phrase_from(caption, place + 1)
    if third is None and units[place + 1].word not in {"something", "outside"}:
        return None
    if third is not None and is_compared(units[third.start : third.end]):
        return None  # a woman, a girl, and a younger girl
    if is_frozen(units[first.head].lemma, units[second.head].lemma) or _is_of_place(units, first):
        return None  # pots, pans and utensils; from the inside of airplanes, carriers and tarmac
    if (
        third is not None
        and _is_modified(units, second)
        and third.start == third.core
        and not _is_modified(units, third)
    ):
        return None  # a laptop, extra monitor and keyboard
    before = units[first.start - 1] if first.start else None
    if before is not None and before.word not in _LIST_HEADS | {",", "of"} and before.lemma not in _LIST_HEADS:
        return None
    if first.start == 0 and first.start == first.core and first.head > first.core:
        return None  # "Favourite sandwich, banana and honey" may explain itself
    start = _left_start(caption, first, second, second.end)
    if start != first.start or (second.start == second.head and units[second.head].word in _OFTEN_VERBS):
        return None
    return with_determiners(caption, first, second, (start, first.end), (second.start, second.end))


def _is_of_place(units: Sequence[Unit], first: NounPhrase) -> bool:
    return first.start > 1 and units[first.start - 1].word == "of" and units[first.start - 2].word in {"inside", "side"}


def _left_phrase(caption: Caption, head: int) -> NounPhrase | None:
    """The phrase that ends at `head`; of "some chairs white pillows", a list without commas, only its last member."""
    units = caption.units
    phrase = caption.phrase_at.get(head)
    if phrase is None or phrase.head != head:
        return phrase
    owned = units[phrase.start].word in {"a", "an", "his", "her", "its", "their"}
    for i in range(head - 1, phrase.core - 1, -1):
        unit = units[i]
        if unit.kind == "number":
            return NounPhrase(i, i + 1, head)
        before_noun = unit.word in _PLURAL_BEFORE_NOUN or " " in unit.word
        if unit.pos == "NNS" and not before_noun and not (i == phrase.core and unit.word == "sports"):
            body = units[head].lemma in {"neck", "face", "head", "back"} and is_animate(unit.lemma)  # a giraffes neck
            return None if owned and not body else NounPhrase(i + 1, i + 1, head)  # his legs split and board
    if phrase.start == phrase.core == 1 and units[0].word == "cut":
        return NounPhrase(0, 0, head)
    if phrase.start == phrase.core and phrase.start and units[phrase.start - 1].pos in {"VBN", "VBD"}:
        earlier = units[phrase.start - 2] if phrase.start > 1 else None
        if earlier is not None and (earlier.word == "over" or earlier.kind in {"verb", "adverb", "determiner"}):
            return None  # an over ripened banana; a wildly decorated knit cap
        if units[phrase.start - 1].word.endswith(("ed", "en")) and (earlier is None or earlier.kind != "noun"):
            return NounPhrase(phrase.start - 1, phrase.start - 1, head)  # a picture of glazed donuts
    return phrase


def _is_run(units: Sequence[Unit], left: NounPhrase, phrase: NounPhrase) -> bool:
    """people drinks; a woman ski: the tagger took a verb for a noun, or a comma is missing."""
    inner = [units[i] for i in range(phrase.core, phrase.head) if units[i].kind == "noun"]
    if any(u.pos == "NNS" and u.word not in _PLURAL_BEFORE_NOUN and " " not in u.word for u in inner):
        return True
    head = units[phrase.head]
    if phrase.start == phrase.head and verb_lemma(head.word) in _OFTEN_VERBS:
        return True  # people hold signs and march; wears a helmet and jumps
    if units[phrase.start].word == "one" and units[phrase.core].kind == "verb":
        return True  # and one captured in the air
    first = units[phrase.core].word
    if phrase.start == phrase.core and first.endswith("ing") and verb_lemma(first) in _SPLASHING:
        return True  # driving through a puddle and spraying water
    if inner and (head.word in _OFTEN_VERBS or (head.word.endswith("ing") and verb_lemma(head.word) in _OFTEN_VERBS)):
        return True
    taken = any(is_animate(u.lemma) for u in inner) and not is_animate(head.lemma)
    return taken and is_animate(units[left.head].lemma)


def _are_equals(caption: Caption, left: NounPhrase, right: NounPhrase) -> bool:
    units = caption.units
    if has(units, (left.start, left.end), POINTS_TO_ONE - {"his", "her", "its", "one", "another"}):
        return False
    if has(units, (left.start, left.end), {"another"}) and (not left.start or units[left.start - 1].word != "between"):
        return False
    if has(units, (right.start, right.end), POINTS_TO_ONE - {"one"} | {"their", "them", "more", "no"}):
        return False
    if units[right.start].word == "one" and units[left.head].lemma in {units[right.head].lemma, "people"}:
        return right.head > right.core  # "three men and one man" is one of them? not so "and one small man"
    if has(units, (max(left.start - 1, 0), left.end), {"both", "either", "neither"}):
        return False
    bare = left.start == left.core or right.start == right.core
    pair = {units[left.head].lemma, units[right.head].lemma}
    if (
        (bare and len(pair & _OF_SOMEONE) == 1 and not pair & {"father", "mother", "dad", "mom"})
        or pair == {"bow", "arrow"}
        or units[right.head].word == "half"
    ):
        return False
    if right.start == right.head and units[right.head].word in _WITH_FIRST.get(
        units[left.head].word.partition(" ")[0], ()
    ):
        return False  # a computer keyboard and mouse
    if is_garment(units[left.head].lemma) != is_garment(units[right.head].lemma):
        return not left.start or units[left.start - 1].word != "in"  # a man in a shirt and a refrigerator
    return True


def _opens_list(caption: Caption, left: NounPhrase) -> bool:
    """A comma before "and" in no list: "a toilet with a lid, and a sink" joins sentences, not the lid and the sink."""
    return left.start == 0 or caption.units[left.start - 1].word not in {",", "and"}


def _shares_head(units: Sequence[Unit], left: NounPhrase, right: NounPhrase) -> bool:
    """an adult and a baby zebra: the adult is a zebra too."""
    ages = {"adult", "baby", "male", "female", "young", "child", "mother", "infant", "juvenile"}
    return left.head == left.core and units[left.head].lemma in ages and has(units, (right.core, right.head), ages)


def _is_compound_tail(caption: Caption, left: NounPhrase, right: NounPhrase) -> bool:
    """surf and bogey boards: the left noun may modify the right head."""
    units = caption.units
    count_nouns = sum(units[i].kind == "noun" for i in range(right.start, right.end))
    if units[left.start].kind == "number" and units[left.head].pos == "NN" and count_nouns > 1:
        return True  # three adult and two child skiers
    bare = right.core == right.start
    if not bare or caption.is_plural(left):
        return False
    left_noun = units[left.head]
    last = units[right.head].lemma.rsplit(" ", 1)[-1]
    if last in {"image", "picture", "photo", "view", "scene", "design", "combination", "combo"} and count_nouns > 1:
        return True  # a bath and toilet image
    if left_noun.lemma.rsplit(" ", 1)[-1] in _SHARING.get(last, ()):
        return True  # a road and stop sign; a chain link and electric fence
    if left.start == left.core and is_animate(left_noun.lemma) and count_nouns > 1:
        return True  # assorted baby and kids toys
    compound = count_nouns > 1 or (" " in units[right.head].lemma and caption.is_plural(right))
    compound = compound or (right.head > right.core and left_noun.pos == "NN" and not is_mass(left_noun))
    if left.start == left.head:
        return compound  # auto and pedestrian traffic
    # a fruit and veggie stand: two eatables before something that is none
    eaten = count_nouns > 1 and same_sort(left_noun.lemma, units[right.head - 1].lemma, strict=True)
    return eaten and left.core == left.head and not same_sort(left_noun.lemma, units[right.head].lemma, strict=True)


def _left_start(caption: Caption, left: NounPhrase, right: NounPhrase, end: int) -> int | None:
    """Where the left side begins: at its noun phrase, or at "a group" of "a group of people and a dog"."""
    units = caption.units
    if left.start == 0:
        return 0
    before = units[left.start - 1]
    left_head, right_head = units[left.head].lemma, caption.head_lemma(right)
    alike = is_animate(left_head) == is_animate(right_head)
    if before.word in {",", "and"} or before.kind == "noun":
        return _member_start(caption, left, right, end) if alike else None
    if before.word == "of":
        return _start_after_of(caption, left, right, end, alike)
    if before.word == "there" or before.kind == "be":
        if has(units, (0, left.start), {"and"}):
            return None
        return left.start if caption.is_plural(left) == caption.is_plural(right) else None
    if is_garment(left_head) and is_garment(right_head) and before.word in {"in", "wearing", "with"}:
        return left.start
    if before.word == "in" and left.start > 1 and units[left.start - 2].pos == "VBN" and alike:
        return (
            left.start if left.start == left.core and right.start == right.core else None
        )  # covered in dirt and paint
    if (
        caption.is_name(left.head)
        and caption.is_name(right.head)
        and left.start == left.core
        and right.start == right.core
    ):
        return left.start
    if not alike:  # a street with people and cars
        scene = before.word == "with" and not is_animate(caption.head_lemma(caption.phrases[0]))
        there = [unit.word for unit in units[end : end + 2]] in (["on", "it"], ["in", "it"])
        both = caption.is_plural(left) and caption.is_plural(right)
        return left.start if scene and (both or there) else None
    if before.word == "in" and left.start > 1 and units[left.start - 2].word == "walk":
        return None  # a walk in shower
    single = not caption.is_plural(left) and not is_mass(units[left.head])
    if left.start == left.core and single and units[right.start].kind == "number":
        return None  # a building under construction and many meters
    if before.word in _LIST_HEADS or before.lemma in _LIST_HEADS:
        if end > right.end and units[right.head].lemma in {"table", "room", "field", "street"}:
            return None  # a hand holding a taco and a table of food
        if before.word in {"playing", "using", "watching"} and right.core > right.start:
            return left.start if same_sort(left_head, right_head, strict=True) else None  # playing a game and a couch
        at_table = left_head in {"chair", "stool", "bench"} and right.core > right.start
        if at_table and units[left.start - 2].lemma in {"table", "desk", "counter", "bar"}:
            return None  # a table with chairs and a couch
        host = caption.phrase_at.get(left.start - 2) or caption.phrases[0]
        if is_animate(right_head) and is_animate(caption.head_lemma(host)) and before.word != "between":
            # "a man with a horse and two people": the people may stand beside the man
            return left.start if is_person(left_head) == is_person(right_head) else None
        return left.start
    if before.kind in {"preposition", "verb"} or before.word in {"to", "on", "in", "at"}:
        own = right.core > right.start and end < len(units) and units[end].kind == "preposition"
        return (
            left.start
            if not own and not is_animate(left_head) and same_sort(left_head, right_head, strict=True)
            else None
        )
    return None


def _member_start(caption: Caption, left: NounPhrase, right: NounPhrase, end: int) -> int | None:
    """A later member of a list; the member before it must be of its kind, and must not share its adjective."""
    units, before = caption.units, caption.units[left.start - 1]
    earlier = caption.phrase_at.get(left.start - (1 if before.kind == "noun" else 2))
    if earlier is None:
        return None
    if before.word == "and":
        if end < len(units) and units[end].kind != "mark":
            return None  # a sink and mirror and tissues on the counter
        worn = {is_garment(units[phrase.head].lemma) for phrase in (earlier, left, right)}
        if len(worn) > 1 or (left.start == left.core and earlier.head > earlier.core):
            return None
    return left.start


def _is_modified(units: Sequence[Unit], phrase: NounPhrase) -> bool:
    return any(u.kind in {"adjective", "verb"} for u in units[phrase.core : phrase.head])


def _start_after_of(caption: Caption, left: NounPhrase, right: NounPhrase, end: int, alike: bool) -> int | None:
    units = caption.units
    at = left.start - 2
    own, right_of = right.core > right.start, end > right.end
    if at >= 0 and units[at].word in {"a lot", "lots"}:
        free = at == 0 or units[at - 1].word in {"with", ","}
        return (at if free else None) if own else (left.start if alike and not right_of else None)
    if at >= 0 and units[at].word == "full":
        return left.start if alike and not (own and end < len(units) and units[end].kind == "be") else None
    if at >= 0 and units[at].word in {"close up", "close-up", "closeup"}:
        return left.start if alike else None
    if at >= 0 and units[at].lemma in {"consist", "compose", "make"} and units[at].kind == "verb":
        return left.start if alike and not right_of else None
    outer = caption.phrase_at.get(at)
    if outer is None or outer.head != at:
        return None
    outer_head, left_head, right_head = units[outer.head].lemma, units[left.head].lemma, caption.head_lemma(right)
    if right_of:
        pair = {outer_head, units[right.head].lemma}
        snack = len(pair) == 2 and bool(pair & {"piece", "slice"}) and bool(pair & _OF_DRINKS)
        if pair <= _CONTAINERS or pair <= COLLECTIVES or len(pair) == 1 or snack:
            return _whole(caption, outer)
        shown = outer_head in _PICTURES - _ART and units[left.start].word in {"a", "an", "the"} and own
        return left.start if shown else None
    if outer_head in COLLECTIVES:
        if own or (is_animate(left_head) and not alike and caption.units[outer.start].kind == "determiner"):
            return _whole(caption, outer)  # a group of people and luggage
        mass = is_mass(units[right.head]) and outer_head not in _OF_MANY
        wild = units[right.head].lemma in {"zebra", "giraffe", "wildebeest", "elephant", "gazelle", "buffalo"}
        if not caption.is_plural(right) and not mass and not wild:
            return None  # a bunch of apples and cider; a group of kids and instructor
        return left.start if alike else None
    eaten = is_food(left_head) and is_food(right_head)
    if outer_head in {"piece", "slice"} and own:
        return _whole(caption, outer) if not eaten or units[right.start].word in {"a", "an"} else None
    if outer_head in _CONTAINERS:
        same = eaten or same_sort(left_head, right_head)
        if (own and (outer_head in _OF_DRINKS or not same)) or (
            left_head == "food" and (own or not is_food(right_head))
        ):
            return _whole(caption, outer) if own or caption.is_plural(right) or is_mass(units[right.head]) else None
        if outer_head in _OF_DRINKS and caption.is_plural(right):
            return None  # a cup of crackers
        if is_food(left_head) != is_food(right_head):
            return None
        if outer_head not in _OF_DRINKS and "drink" in sets_of(right_head) | {right_head}:
            return None  # a plate of drink
        return left.start if same and not own else None
    bare = left.start == left.core and not own
    grown = outer_head in _GROWN  # a field of grass and flowers
    many = [caption.is_plural(phrase) or (grown and is_mass(units[phrase.head])) for phrase in (left, right)]
    listed = bare and all(many)
    if outer_head in _PICTURES:
        listed = outer_head not in _ART or not own or left.core > left.start
    return left.start if listed and alike else None


def _whole(caption: Caption, outer: NounPhrase) -> int | None:
    """The start of "a group" if it is free to move: at the front, or behind "with" or "holding"."""
    if outer.start == 0 or caption.units[outer.start - 1].word in {"with", ",", "near", "next to", "by", "beside"}:
        return outer.start
    if caption.units[outer.start - 1].lemma in {"hold", "carry", "have", "contain"}:
        return outer.start
    before = caption.units[outer.start - 2] if outer.start > 1 and caption.units[outer.start - 1].word == "of" else None
    return outer.start if before is not None and (before.lemma in _PICTURES or before.word == "close up") else None
