"""Swap what stands around "and", where the two sides are equals: the meaning stays.

Four cases, tried in this order: adjectives ("blue and white bus"), verb phrases ("wearing glasses and holding a
bottle"), whole clauses ("a lady wearing skis and a man holding skis"), noun phrases and list tails ("a sink,
toilet and shower"). Each refuses where one side depends on the other: a shared modifier that would move ("white
plates and bowls"), a pronoun that points back ("an elephant and its child"), a sequence ("jumps and catches"),
a description that may belong to one side only ("a couch and a chair with a pillow").
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from equipoise.perturb.candidate import Candidate, edited
from equipoise.perturb.caption import COLLECTIVES, Caption, NounPhrase, Unit
from equipoise.perturb.forms import like, plural
from equipoise.perturb.nouns import is_animate, is_garment, is_person, same_sort
from equipoise.perturb.sources.base import Source
from equipoise.perturb.sources.files import count, expand
from equipoise.words.articles import article_for

Span = tuple[int, int]  # units

_COLOURS = frozenset(
    "white black red blue green yellow brown orange pink purple gray grey silver gold tan beige cream maroon teal "
    "turquoise navy violet golden crimson".split()
)
_SHADES = frozenset("light dark bright pale deep navy royal neon hot".split())
_DOINGS_AT_ONCE = frozenset(  # verbs of what goes on at the same time; sequences (jump, catch, turn) are left out
    "wear hold sit stand look smile talk carry watch play eat drink read lie lay lean walk pose laugh graze use "
    "point stare gaze chat rest relax sleep wait ride fly drive run ski surf skate swim float hang grow work cook "
    "have face listen sing dance paddle kneel push pull perch roam feature contain include show display".split()
)
_POINTS_BACK = frozenset("it its itself his her hers their him them himself herself themselves he she they".split())
_POINTS_TO_ONE = frozenset("it its his her hers him he she one ones other others another".split())
_LIST_HEADS = frozenset(
    "with of between by near beside behind under over among around without like for from wearing holding carrying "
    "eating containing including has have contains having featuring serving selling showing playing watching "
    "using displaying includes feature features wears holds surrounding against past".split()
) | frozenset(("next to", "in front of", "on top of", "along with", "close to", "inside of", "outside of", "such as"))
_WHERE = frozenset("in on near by outside inside around under together beside".split()) | frozenset(
    ("next to", "on top of", "in front of")
)
_PICTURES = frozenset(
    "picture photo photograph image painting view shot close-up closeup display mixture mix combination sign game "
    "intersection corner meal dinner lunch breakfast arrangement scene sculpture statue drawing dish".split()
)
_OF_DRINKS = frozenset("cup glass bottle mug jar".split())
_LYING = frozenset("sitting hanging laying lying standing resting placed parked displayed arranged set".split())
_CONTAINERS = frozenset(
    "bowl plate cup glass bottle mug basket box pot pan tray jar bag vase plateful platter carton dish".split()
)
_MASS = frozenset(expand("@mass"))
_DETERMINERS_STAY = frozenset("a an the his her their some its several many various multiple numerous".split())


def swap_positive(caption: Caption, sources: Sequence[Source], rng: random.Random) -> Iterator[Candidate]:
    for place, unit in enumerate(caption.units):
        if unit.word != "and" or not 0 < place < len(caption.units) - 1:
            continue
        found = _adjectives(caption, place) or _verb_phrases(caption, place)
        found = found or _clauses(caption, place) or _nouns(caption, place)
        if found:
            left, right = found
            if _same(caption, left, right):
                continue
            yield _swapped(caption, left, right)


def _same(caption: Caption, left: Span, right: Span) -> bool:
    return caption.text_of(*left).lower() == caption.text_of(*right).lower()


# ---------------------------------------------------------------------------- the four cases


def _adjectives(caption: Caption, place: int) -> tuple[Span, Span] | None:
    units = caption.units
    last = place - 2 if units[place - 1].word == "," and place > 1 else place - 1
    left, right = units[last], units[place + 1]
    after = units[place + 2] if place + 2 < len(units) else None
    if left.kind != "adjective" or not _is_adjective(right, after):
        return None
    start, end = last, place + 2
    if start and units[start - 1].word in _SHADES:
        start -= 1
    if right.word in _SHADES and after is not None and after.word in _COLOURS:
        end += 1
        after = units[end] if end < len(units) else None
    colours = left.word in _COLOURS and units[end - 1].word in _COLOURS
    if not colours and left.word in _COLOURS | {units[end - 1].word} and after is not None and after.kind != "mark":
        return None  # "a large white and old bus": the two are not of a kind
    if not colours and after is not None and after.kind not in {"noun", "mark"}:
        return None  # "clean and ready for": what follows belongs to one of them
    if after is not None and after.kind == "adjective" and left.word not in _COLOURS:
        return None
    if start and units[start - 1].kind in {"adverb", "noun"} and units[start - 1].word not in {"is", "are"}:
        return None  # "a very large and ...": the adverb would move
    if left.word in {"black", "white"} and right.word in {"black", "white"} and _is_of_picture(caption, end):
        return None
    if after is not None and after.word == "and":
        return None
    if left.word in {"many", "several", "few"} or right.word in {"many", "several", "few", "other", "more"}:
        return None
    return (start, last + 1), (place + 1, end)


def _is_adjective(unit: Unit, after: Unit | None) -> bool:
    if unit.kind == "adjective":
        return True
    return unit.word in _COLOURS and after is not None and after.kind == "noun"


def _is_of_picture(caption: Caption, place: int) -> bool:
    near = [unit.lemma for unit in caption.units[place : place + 3]]
    return any(word in {"photo", "picture", "photograph", "image", "shot", "film", "drawing", "print"} for word in near)


def _verb_phrases(caption: Caption, place: int) -> tuple[Span, Span] | None:
    units = caption.units
    right = units[place + 1]
    if right.pos != "VBG" or right.lemma not in _DOINGS_AT_ONCE:
        return None
    start = place - 1
    while start >= 0 and not (units[start].kind == "verb" and units[start].pos in {"VBG", "VBN", "VBZ", "VBD", "VBP"}):
        if units[start].kind in {"relative", "be", "and"}:
            return None
        start -= 1
    if start < 0 or units[start].pos != "VBG" or units[start].lemma not in _DOINGS_AT_ONCE:
        return None
    if start and units[start - 1].kind == "determiner":
        return None
    left = units[start]
    if place - start == 1:  # standing and talking in a room
        after = units[place + 2] if place + 2 < len(units) else None
        if after is None or after.kind in {"mark", "relative"} or after.word in _WHERE:
            return (start, place), (place + 1, place + 2)
        if left.lemma not in {"smile", "laugh", "sit", "stand", "pose", "kneel"}:
            return None  # "eating and drinking wine"; but "smiling and holding a cup" swaps as a whole
    end = place + 2
    while (
        end < len(units) and units[end].kind not in {"relative", "and"} and units[end].word not in {",", ".", ";", "!"}
    ):
        if units[end].kind == "verb" and units[end].pos in {"VBZ", "VBP", "VBD"}:
            return None
        end += 1
    if end < len(units) and units[end].kind in {"and", "relative"}:
        return None
    if any(units[i].word in _POINTS_BACK - {"his", "her", "their"} | {"to"} for i in range(place + 1, end)):
        return None
    if left.lemma == right.lemma or _has(units, (start, place), {"together"}):
        return None
    return (start, place), (place + 1, end)


def _clauses(caption: Caption, place: int) -> tuple[Span, Span] | None:
    """A lady wearing snow skis and a man holding snow skis: two equal halves of the whole caption."""
    units = caption.units
    first = caption.phrase_at.get(0)
    second = caption.phrase_at.get(place + 1)
    if first is None or second is None or first.start != 0 or second.start != place + 1 or first.end >= place:
        return None
    left_verb, right_verb = units[first.end], units[second.end] if second.end < len(units) else None
    if right_verb is None or left_verb.pos != "VBG" or right_verb.pos != "VBG":
        return None
    end = len(units)
    while end and units[end - 1].kind == "mark":
        end -= 1
    inside = units[place + 1 : end]
    if any(u.word in _POINTS_BACK or u.kind in {"be", "relative", "and"} or u.word == "," for u in inside):
        return None
    if any(u.kind in {"be", "relative", "and"} or u.word == "," for u in units[:place]):
        return None
    if not (is_animate(caption.head_lemma(first)) and is_animate(caption.head_lemma(second))):
        return None
    before = caption.phrase_at.get(place - 1)
    if before is None or is_animate(caption.head_lemma(before)):
        return None
    return (0, place), (place + 1, end)


def _nouns(caption: Caption, place: int) -> tuple[Span, Span] | None:
    units = caption.units
    end_left = place - 1 if units[place - 1].word == "," else place
    left, right = caption.phrase_at.get(end_left - 1), caption.phrase_at.get(place + 1)
    if left is None or right is None or left.head != end_left - 1 or right.start != place + 1:
        return None
    if _has(units, (left.start, left.end), _POINTS_TO_ONE - {"his", "her", "its"}):
        return None
    if _has(units, (right.start, right.end), _POINTS_TO_ONE | {"their", "them", "more", "some other"}):
        return None
    if _is_compound_tail(caption, left, right) or _shares_head(units, left, right):
        return None
    right_end = _right_end(caption, left, right)
    if right_end is None:
        return None
    left_start = _left_start(caption, left, right, right_end)
    if left_start is None or (end_left < place and _opens_list(caption, left)):
        return None
    start, end = (left_start, end_left), (place + 1, right_end)
    if left_start == left.start:
        return _with_determiners(caption, left, right, start, end)
    return start, end


def _opens_list(caption: Caption, left: NounPhrase) -> bool:
    """A comma before "and" in no list: "a toilet with a lid, and a sink" joins sentences, not the lid and the sink."""
    return left.start == 0 or caption.units[left.start - 1].word not in {",", "and"}


def _shares_head(units: Sequence[Unit], left: NounPhrase, right: NounPhrase) -> bool:
    """an adult and a baby zebra: the adult is a zebra too."""
    ages = {"adult", "baby", "male", "female", "young", "child", "mother", "infant", "juvenile"}
    return left.head == left.core and units[left.head].lemma in ages and _has(units, (right.core, right.head), ages)


def _is_compound_tail(caption: Caption, left: NounPhrase, right: NounPhrase) -> bool:
    """surf and bogey boards: the left noun may modify the right head."""
    units = caption.units
    nouns = sum(units[i].kind == "noun" for i in range(right.start, right.end))
    if units[left.start].kind == "number" and units[left.head].pos == "NN" and nouns > 1:
        return True  # three adult and two child skiers
    bare = right.core == right.start
    compound = nouns > 1 or (" " in units[right.head].lemma and caption.is_plural(right))
    compound = compound or (right.head > right.core and units[left.head].pos == "NN" and not _is_mass(units[left.head]))
    return bare and compound and left.start == left.head and not caption.is_plural(left)  # auto and pedestrian traffic


def _right_end(caption: Caption, left: NounPhrase, right: NounPhrase) -> int | None:
    """Where the right side ends; None where what follows may describe only one of the two."""
    units, end = caption.units, right.end
    if end < len(units) and units[end].word == "of":
        inner = caption.phrase_at.get(end + 1)
        if inner is None or inner.start != end + 1:
            return None
        end = inner.end
    after = units[end] if end < len(units) else None
    tail = units[end:]
    if any(unit.word in _POINTS_TO_ONE - {"his", "her"} for unit in tail) and not _points_to_whole(caption, left, tail):
        return None
    if after is None or after.kind == "mark":
        comma = (
            after is not None and after.word == "," and len(tail) > 1 and tail[1].kind not in {"verb", "preposition"}
        )
        return None if comma or (after is not None and after.text in {"'", '"', "(", "-", "/"}) else end
    if after.pos == "POS" or after.kind in {"noun", "adjective", "and", "number", "to", "determiner", "adverb"}:
        return None
    heads = caption.units[left.head].lemma, caption.units[right.head].lemma
    if all(map(is_garment, heads)) and left.start and after.word not in {"of", "that", "which"}:
        return end  # a man in a suit and tie holding ...: what follows speaks of the man
    if after.word in {"with", "that", "which", "who", "of", "without", "like", "than", "from"}:
        return None
    worn = caption.object_of(end) if after.word == "in" else None
    if worn is not None and is_garment(worn):
        return None  # some people and a man in a black shirt
    animate = is_animate(caption.head_lemma(left)) and is_animate(caption.head_lemma(right))
    before = units[left.start - 1].word if left.start else ""
    if after.kind in {"verb", "be"}:
        if after.pos in {"VBZ", "VBP", "VBD"} or after.kind == "be":  # a subject of its own, unless both are
            of_first = before == "with" or (before == "of" and units[left.start - 2].word == "full")
            outer = caption.phrase_at.get(left.start - 2) if before == "of" else None
            if outer is not None and outer.start == 0 and right.start == right.core:
                return end  # a mixture of rice and broccoli is
            if left.start == 0 or before == "," or (of_first and after.pos != "VBD" and _goes_on(tail)):
                return end
            return None
        if before == "with" and is_animate(caption.head_lemma(caption.phrases[0])) and not is_animate(heads[1]):
            return end  # a lady with a hat and a bag standing: the lady stands
        first = left.start == 0 or before in {"of", "with"}
        alike = first and (after.word in _LYING or (after.pos == "VBG" and same_sort(*heads, strict=True)))
        return end if animate or alike else None
    return end


def _goes_on(tail: Sequence[Unit]) -> bool:
    """Whether something follows the verb; else it may be a plural noun ("foot rests")."""
    return tail[0].kind == "be" or (len(tail) > 1 and tail[1].kind != "mark")


def _points_to_whole(caption: Caption, left: NounPhrase, tail: Sequence[Unit]) -> bool:
    """A desk with a lamp and a phone on it: "it" is the desk, not one of the two."""
    words = [unit.word for unit in tail if unit.kind != "mark"]
    outer = caption.phrases[0]
    return outer.end <= left.start and words in (
        ["on", "it"], ["in", "it"], ["inside", "it"], ["on top of", "it"], ["inside of", "it"]
    )  # fmt: skip


def _left_start(caption: Caption, left: NounPhrase, right: NounPhrase, right_end: int) -> int | None:
    """Where the left side begins: at its noun phrase, or at "a group" of "a group of people and a dog"."""
    units = caption.units
    if left.start == 0:
        return 0
    before = units[left.start - 1]
    left_head, right_head = units[left.head].lemma, caption.head_lemma(right)
    if before.word in {",", "and"} or before.kind == "noun":
        earlier = caption.phrase_at.get(left.start - (1 if before.kind == "noun" else 2))
        return left.start if earlier is not None and is_animate(left_head) == is_animate(right_head) else None
    if before.word == "of" and units[left.start - 2].word == "full" and left.start > 1:
        return left.start if is_animate(left_head) == is_animate(right_head) else None
    if before.word == "of":
        outer = caption.phrase_at.get(left.start - 2)
        if left.start > 1 and units[left.start - 2].word in {"close up", "close-up", "closeup"}:
            return left.start if is_animate(left_head) == is_animate(right_head) else None
        if outer is None or outer.head != left.start - 2:
            return None
        outer_head = units[outer.head].lemma
        right_of = right_end > right.end
        own = right.core > right.start
        if right_of:
            pair = {outer_head, units[right.head].lemma}
            snack = len(pair) == 2 and bool(pair & {"piece", "slice"}) and bool(pair & _OF_DRINKS)
            if pair <= _CONTAINERS or pair <= COLLECTIVES or len(pair) == 1 or snack:
                return _whole(caption, outer)
            return None
        if outer_head in COLLECTIVES:
            if own:
                return _whole(caption, outer)
            return left.start if is_animate(left_head) == is_animate(right_head) else None
        if outer_head in _CONTAINERS:
            if own and (outer_head in _OF_DRINKS or not same_sort(left_head, right_head)):
                return _whole(caption, outer)
            return left.start if same_sort(left_head, right_head) and not own else None
        bare = left.start == left.core and right.start == right.core and not own
        listed = outer_head in _PICTURES or (bare and caption.is_plural(left) and caption.is_plural(right))
        return left.start if listed and is_animate(left_head) == is_animate(right_head) else None
    if before.word in {"there", "is", "are"} or before.kind == "be":
        if _has(units, (0, left.start), {"and"}):
            return None
        return left.start if caption.is_plural(left) == caption.is_plural(right) else None
    if is_garment(left_head) and is_garment(right_head) and before.word in {"in", "wearing", "with"}:
        return left.start
    if is_animate(left_head) != is_animate(right_head):  # a street with people and cars
        scene = before.word == "with" and not is_animate(caption.head_lemma(caption.phrases[0]))
        return left.start if scene else None
    if before.word in _LIST_HEADS or before.lemma in _LIST_HEADS:
        first = caption.head_lemma(caption.phrases[0])
        if is_animate(right_head) and is_animate(first) and before.word != "between":
            # "a man with a horse and two people": the people may stand beside the man
            return left.start if is_person(left_head) == is_person(right_head) else None
        return left.start
    if before.kind in {"preposition", "verb"} or before.word in {"to", "on", "in", "at"}:
        return left.start if not is_animate(left_head) and same_sort(left_head, right_head, strict=True) else None
    return None


def _whole(caption: Caption, outer: NounPhrase) -> int | None:
    """The start of "a group" if it is free to move: at the front, or behind "with"."""
    if outer.start == 0 or caption.units[outer.start - 1].word in {"with", ","}:
        return outer.start
    before = caption.units[outer.start - 2] if outer.start > 1 and caption.units[outer.start - 1].word == "of" else None
    return outer.start if before is not None and (before.lemma in _PICTURES or before.word == "close up") else None


def _with_determiners(
    caption: Caption, left: NounPhrase, right: NounPhrase, left_span: Span, right_span: Span
) -> tuple[Span, Span] | None:
    """Decides whether determiners move. "a cat and dog": the article is shared and stays."""
    units = caption.units
    first = units[left.start]
    right_own = right.core > right.start
    left_modified, right_modified = left.head > left.core, right.head > right.core
    if right_own:
        noun = units[left.head]
        countable = count(plural(noun.lemma)) * 20 > count(noun.lemma)
        singular = not caption.is_plural(left) and not _is_mass(noun) and countable
        if left.core == left.start and singular and units[right.start].word in {"a", "an"}:
            return (left.core, left_span[1]), (right.core, right_span[1])  # a lemon, banana and a melon
        return left_span, right_span
    if left.core == left.start:  # trees and bushes; white plates and bowls
        if left_modified and not right_modified:
            return None
        return left_span, right_span
    if first.word in {"a", "an"} and (caption.is_plural(right) or _is_mass(units[right.head])):
        return left_span, right_span  # a hiker and dogs: the article goes with its noun
    if left_modified and not right_modified:
        return None  # a white sink and toilet: the colour may be shared
    if first.word not in _DETERMINERS_STAY:  # two dogs and cats: two of each?
        return None
    if right_span[1] > right.end:
        return None
    return (left.core, left_span[1]), right_span


def _is_mass(noun: Unit) -> bool:
    return noun.lemma in _MASS or count(plural(noun.lemma)) * 200 < count(noun.lemma)


def _has(units: Sequence[Unit], span: Span, words: frozenset[str] | set[str]) -> bool:
    return any(unit.word in words for unit in units[span[0] : span[1]])


# ---------------------------------------------------------------------------- writing


def _swapped(caption: Caption, left: Span, right: Span) -> Candidate:
    text, units = caption.text, caption.units
    start, end = units[left[0]].start, units[right[1] - 1].end
    left_end, right_start = units[left[1] - 1].end, units[right[0]].start
    first, second = text[start:left_end], text[right_start:end]
    if left[0] == 0 and first[:1].isupper() and not _keeps_capital(units[0]):
        if not second.isupper():
            first = first[:1].lower() + first[1:]
        second = second[:1].upper() + second[1:]
    between = text[left_end:right_start]
    if units[right[0] - 1].word in {"a", "an"}:
        own = units[right[0] - 1]
        between = text[left_end : own.start] + like(own.text, article_for(first.split()[0])) + " "
    to = second + between + first
    before = text[:start]
    if left[0] and units[left[0] - 1].word in {"a", "an"}:  # the article that stayed
        article = article_for(second.split()[0])
        at = units[left[0] - 1]
        written = article.upper() if text.isupper() else like(at.text, article)
        before = text[: at.start] + written + text[at.end : start]
    return edited(text, "positive", "swap", "order", (start, end), to, "rules", before + to + text[end:])


def _keeps_capital(unit: Unit) -> bool:
    return unit.pos.startswith("NNP") or unit.text == "I" or (unit.text.isupper() and len(unit.text) > 1)
