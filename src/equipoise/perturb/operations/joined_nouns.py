"""Two noun phrases around "and", or two members of a list, that may change places.

Refused: a place that may be of the second alone ("a motorcycle and some water in the background"), a first side that
may belong to what stands before it ("a man on a pony and four cows"), a side that points back ("a man and his dog").
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import NamedTuple

from equipoise.language.caption import SAME_PLURAL, Caption, Unit
from equipoise.language.plausibility import COLOURS
from equipoise.language.vocabulary import word_list, word_set
from equipoise.language.wordnet import WORDNET, is_animate, is_food, is_garment, is_person, is_thing, same_sort, sets_of
from equipoise.perturb.operations.list_members import (
    FILMED,
    LOTS,
    MASS,
    ListMember,
    Span,
    has_own,
    is_counted,
    is_mixture,
    lacks_commas,
    members_of,
    spans_of,
)

_FIXED = frozenset(frozenset(pair.split(" + ")) for pair in word_list("fixed pairs"))
_TOGETHER, _MOVES = word_set("done together"), word_set("moves of vehicles")
_BOTH_SIDES = word_set("participles of both sides")
_PLACES, _SCENES = word_set("places of both"), word_set("scenes of all") | word_set("other scenes")
_VERBS, _DONE = word_set("verbs taken for nouns"), word_set("verbs of captions")
_ANYTHING = frozenset(("stuff", "thing", "object", "animal", "topping"))
_OWNERS = frozenset(("his", "her", "its", "their"))
_BACK = _OWNERS - {"their"} | {"it", "them"}
_POINTING = word_set("words that keep their place") | {"it", "them"}
_YOUNG = frozenset(("baby", "mother", "cub", "calf", "adult"))
_WORN, _AROUND_IT = word_set("worn with clothes"), frozenset(("next to", "around", "beside", "near", "in front of"))
_FULL, _SWARM = word_set("verbs of filling"), word_set("verbs of many")
_HAVING = word_set("verbs of having several")
_BESIDE = word_set("prepositions of nearness")
_LARGE = frozenset(("surface", "room", "building-any", "house-like", "room-any", "seat"))
_HOLDERS = word_set("holders")
_FURNITURE = _LARGE | {"fixture", "decor", "living-thing", "bedroom-thing", "bathroom-thing", "computer"}
_TOPS = frozenset(("surface", "ground", "dish", "plate-of", "open-place", "water-place"))
_AROUND = frozenset(
    ("open-place", "water-place", "room", "room-any", "road-vehicle", "water-vehicle", "covering", "park-like")
)
_SETS = word_set("sets of places")


class Neighbours(NamedTuple):
    """Two members that stand next to each other."""

    caption: Caption
    former: ListMember
    latter: ListMember
    left: Span
    right: Span
    first: int  # the unit where the whole list begins
    last: int  # and the one after its end

    @property
    def heads(self) -> tuple[str, str]:
        return self.caption.head_lemma(self.former.phrase), self.caption.head_lemma(self.latter.phrase)

    @property
    def tail(self) -> tuple[Unit, ...]:
        units = self.caption.units
        return units[self.last : len(units) - (units[-1].word == ".")]

    @property
    def tight(self) -> bool:
        """Whether both have one determiner together, or none: then the rest is said of both."""
        return not has_own(self.caption, self.latter) and (
            self.left[0] > self.former.start or not has_own(self.caption, self.former)
        )


def joined_nouns(caption: Caption) -> Iterator[tuple[Span, Span]]:
    if (caption.is_title and not caption.text.isupper()) or '"' in caption.text:
        return
    for place, unit in enumerate(caption.units[:-1]):
        listed = members_of(caption, place) if unit.word == "and" and place else []
        mixture = bool(listed) and is_mixture(caption, listed)
        for at in range(len(listed) - 2, -1, -1):
            spans = spans_of(caption, listed, at)
            if spans is not None:
                pair = Neighbours(caption, listed[at], listed[at + 1], *spans, listed[0].start, listed[-1].end)
                within = mixture or (at > 0 and caption.units[pair.first - 1].word == "of")
                if _are_equals(pair) and (within or _context_is_safe(pair)):
                    yield spans
                    break


def _are_equals(pair: Neighbours) -> bool:
    caption, units = pair.caption, pair.caption.units
    phrases = pair.former.phrase, pair.latter.phrase
    heads = tuple(units[phrase.head].lemma for phrase in phrases)
    young = _YOUNG.isdisjoint(heads) or all(phrase.core < phrase.head for phrase in phrases)
    if not young and not ("adult" in heads and all(map(is_person, heads))):
        return False  # a zebra and baby
    fixed = frozenset(head.split()[-1] for head in heads) in _FIXED and not has_own(caption, pair.latter)
    if fixed or not FILMED.isdisjoint(heads):
        return False
    if "food" in heads and any(map(is_food, set(heads) - {"food", "drink", "beverage"})):
        return False  # food and condiments
    if heads[0].split()[-1] == heads[1].split()[-1] and not all(
        phrase.core < phrase.head or " " in units[phrase.head].word for phrase in phrases
    ):
        return False  # lights and traffic lights
    for phrase, member in zip(phrases, (pair.former, pair.latter), strict=True):
        led = member.start and units[member.start - 1].word in {"with", "of"}
        if not (led or has_own(caption, member) or _is_noun(units[phrase.head].lemma, caption.is_plural(phrase))):
            return False
        first, head = units[phrase.start], units[phrase.head]
        if first.word in {"a", "an"} and head.pos == "NNS" and units[phrase.start + 1].kind != "number":
            return False  # a hills
        several = first.kind == "number" and first.word not in {"one", "1"}
        animal = is_animate(head.lemma) and not is_person(head.lemma)
        if several and head.pos == "NN" and head.word not in SAME_PLURAL and not animal:
            return False  # three adult and two child skiers; but two giraffe
    for place in itertools.chain(range(*pair.left), range(*pair.right)):
        unit, bare = units[place], _is_bare(caption, place)
        name = place and caption.is_name(place) and not (unit.text.isupper() and is_thing(unit.lemma))
        name = name and (bare or any(place == phrase.head for phrase in phrases))
        counted = unit.word == "one" and place + 1 in caption.phrase_at and heads[0] != heads[1]
        if name or (unit.word in _POINTING and not counted) or (unit.kind == "verb" and bare):
            return False
    return caption.text_of(*pair.left).lower() != caption.text_of(*pair.right).lower()


def _is_bare(caption: Caption, place: int) -> bool:
    phrase = caption.phrase_at.get(place)
    return phrase is not None and phrase.core == phrase.start


def _is_noun(lemma: str, plural: bool) -> bool:
    """Whether it is surely a noun: the tagger takes some verbs for nouns."""
    if lemma in _VERBS or lemma in _ANYTHING:
        return False
    if is_thing(lemma) or " " in lemma or lemma in MASS:
        return True
    known = WORDNET.data.senses
    return lemma not in _DONE and f"v:{lemma}" not in known and (plural or f"n:{lemma}" not in known)


def _context_is_safe(pair: Neighbours) -> bool:
    caption, units = pair.caption, pair.caption.units
    before = units[: pair.first]
    pointing = any(unit.word in _OWNERS for unit in units[pair.left[0] : pair.right[1]])
    if (pair.tail and pair.tail[0].pos == "POS") or (pair.first and units[pair.first - 1].word == "half"):
        return False
    there_is = [unit.kind for unit in before[-2:]] == ["pronoun", "be"] and before[-2].word == "there"
    filmed = len(before) > 1 and before[-1].word == "of" and before[-2].lemma in FILMED
    if not before or there_is or filmed:
        agree = caption.is_plural(pair.former.phrase) == caption.is_plural(pair.latter.phrase)
        return not pointing and (agree or not there_is) and _is_said_of_both(pair)
    return _is_safe_object(pair, before, pointing)


def _is_said_of_both(pair: Neighbours) -> bool:
    """Whether the rest goes with both, where the caption is about the two."""
    heads, tail = pair.heads, pair.tail
    alive = [is_animate(head) for head in heads]
    words = [unit.word for unit in tail]
    if not tail:
        return True
    wears = tail[0].kind == "preposition" or tail[0].lemma == "wear"
    if ("and" in words and (words[0] == "and" or (pair.tight and wears))) or not _BACK.isdisjoint(words):
        return False  # a man and woman in a suit and a dress
    where = words[0] in {"outside", "inside"} and tail[1:2] and tail[1].kind in {"preposition", "verb"}
    skipped = bool(where or words[0] in {"that", "who", "both", "all", "together", ","}) and len(tail) > 1
    tail, words = tail[skipped:], words[skipped:]
    first = tail[0]
    if words[0] in {"are", "were", "together", "outside", "inside"} or first.pos == "VBP":
        return True
    if words[0] == "with" and pair.tight and all(alive):
        return True
    if first.kind == "verb" and first.pos == "VBG":
        object_ = pair.caption.phrase_at.get(pair.last + skipped + 1)
        several = object_ is not None and pair.caption.is_plural(object_)  # a man and a woman holding umbrellas
        together = first.lemma in _TOGETHER or ((several or "their" in words) and first.lemma != "wear")
        moves = first.lemma in _MOVES and same_sort(*heads, strict=True)
        return pair.tight or (together if all(alive) else words[0] in _BOTH_SIDES or moves)
    if first.kind == "verb" and first.pos in {"VBN", "VBD"}:
        return pair.tight or words[0] in _BOTH_SIDES
    if words[0] == "of":
        return pair.tight
    if not {head.split()[-1] for head in heads}.isdisjoint(unit.lemma for unit in tail):
        return False  # a parking lot and trees in the lot
    if first.kind == "preposition" and words[0] not in {"for", "from"} and pair.tight and not any(alive):
        return True
    if first.kind != "preposition" or words[0] not in _PLACES:
        return False
    phrase = pair.caption.phrase_at.get(pair.last + skipped + 1)
    if words[1:2] == ["each other"]:
        return True
    noun = pair.caption.units[phrase.head].lemma if phrase is not None else "photo"
    if is_garment(noun) or noun in COLOURS or noun in FILMED:
        return False
    kin = same_sort(*heads, strict=words[0] == "on" and not any(alive))
    if noun.split()[-1] in _SCENES or (kin and alive[0] == alive[1] and (words[0] != "in" or not alive[0])):
        return is_person(heads[0]) == is_person(heads[1]) or not is_animate(noun)
    if alive[0] and alive[1]:
        return bool(sets_of(noun) & (_AROUND | _TOPS)) or (words[0] == "in" and pair.tight)
    return not any(alive) and bool(sets_of(noun) & _TOPS) and not sets_of(heads[0]) & _LARGE and is_thing(heads[0])


def _is_safe_object(pair: Neighbours, before: tuple[Unit, ...], pointing: bool) -> bool:
    """Whether both belong to the "with", preposition or verb before them, and the rest to both or to its subject."""
    caption, heads = pair.caption, pair.heads
    before = before[:-2] if len(before) > 2 and before[-2].word in LOTS and before[-1].word == "of" else before
    by, subject = before[-1], caption.phrases[0]
    if caption.units[subject.end].word == "of" and caption.units[subject.head].lemma in FILMED:
        subject = caption.phrases[1]
    about = caption.head_lemma(subject)
    alive = {is_animate(head) for head in heads}
    if subject.end > pair.first or (pointing and not is_animate(about)):
        return False
    full = len(before) > 1 and (before[-2].lemma in _FULL or before[-2].word == "full")
    linked = [unit.word for unit in before[:-1] if unit.word in {"with", "between"}]
    if linked and by.word != "of" and by.kind == "preposition" and not full and not all(map(is_food, heads)):
        return False  # a room with a table with chairs and a sofa
    where = caption.phrase_at.get(pair.first - 2)
    place = caption.head_lemma(where) if where is not None else about
    worn = [is_garment(head) or head in {"glasses", "sunglasses"} for head in heads]
    if (full and by.word in {"with", "of", "in", "by"}) or by.lemma in _FULL:
        swarm = full and (before[-2].lemma in _SWARM or before[-2].word == "full") and pair.left[0] == pair.first
        alone = [
            has_own(caption, member) and is_counted(caption, member.phrase) for member in (pair.former, pair.latter)
        ]
        fits = not (swarm and alone[1] and not alone[0])  # a kitchen filled with pots and a table
    elif by.word == "with" or by.lemma == "have":
        fits = len(alive) == 1 or place in _SCENES or bool(sets_of(place) & _SETS) or place == "scene"
    elif by.word in _BESIDE:
        fits = len(alive) == 1
    elif by.word == "of" and before[-2:-1] and before[-2].lemma == "consist":
        fits = True
    elif by.word == "of" or by.pos in {"VBN", "VBD"} or (by.kind == "verb" and before[-2:-1] and _is_link(before[-2])):
        fits = False  # a cup of soup and crackers, with mixed vegetables and meat
    elif by.kind == "verb":
        holding = by.lemma in _HAVING and len(before) > 1 and before[-2].kind == "be"  # is holding a cat and a phone
        fits = (
            (True not in alive or holding)
            and (by.lemma in _HAVING or same_sort(*heads, strict=True))
            and (worn[0] == worn[1] or (by.lemma == "wear" and not _WORN.isdisjoint(heads)))
        )
    elif by.word == "at" and before[-2:-1] and before[-2].lemma in {"look", "gaze", "stare"}:
        fits = True not in alive and "camera" not in heads
    elif by.word == "and":
        near = caption.phrase_at.get(pair.first - 2)
        return not pair.tail and near is not None and not lacks_commas(caption, ListMember(near, near.start, near.end))
    elif by.word == "as" and before[-2:-1] and before[-2].word == "such":
        fits = True
    else:
        alike = all(worn) or same_sort(*heads, strict=True)
        fits = by.kind == "preposition" and True not in alive and worn[0] == worn[1] and alike
    return fits and _rest_is_safe(pair, about, caption.is_plural(subject))


def _is_link(unit: Unit) -> bool:
    return unit.kind in {"preposition", "determiner", "number"}


def _rest_is_safe(pair: Neighbours, about: str, plural: bool) -> bool:
    caption, tail, heads = pair.caption, pair.tail, pair.heads
    if not tail:
        return True
    words = [unit.word for unit in tail]
    if words[0] == caption.units[pair.first - 1].word and not pair.tight:
        return False  # lemons on a plate and a basket on a table
    if is_food(about) and words[0] in {"on", "in"}:
        return True  # a hot dog with mustard and ketchup on a plate
    if words in (["in", "it"], ["inside"], ["in", "them"], ["inside of", "it"], ["inside", "it"]):
        return about in _SCENES or "room" in sets_of(about) or (about in _HOLDERS and _HOLDERS.isdisjoint(heads))
    if words[0] in {"in the background", "in the foreground"}:
        return pair.tight and not is_animate(about)
    if words in (["on", "it"], ["on top of", "it"]):
        top = sets_of(about) & _TOPS or pair.tight or same_sort(*heads, strict=True)
        return bool(top) and not any(sets_of(head) & {"surface", "ground"} for head in heads)
    loose = not any(map(is_animate, heads))
    kin = all(map(is_food, heads)) or same_sort(*heads, strict=True)
    near = words[0] in _AROUND_IT and words[1:] in (["it"], ["them"], ["him"])
    if pair.tight and loose and (near or words == ["on"] or (tail[0].pos == "VBN" and kin)):
        return True
    if words[0] in {"is", "are"} or tail[0].pos in {"VBZ", "VBP"}:
        return (words[0] == "are" or tail[0].pos == "VBP") == plural
    if tail[0].pos == "VBG" or words[0] in {"while", "as"}:
        return (is_animate(about) or (is_food(about) and words[0] in _BOTH_SIDES)) and loose
    phrase = caption.phrase_at.get(pair.last + 1)
    last = phrase is not None and phrase.end == pair.last + len(tail)
    if words[0] == "and":
        last = last or (
            phrase is not None and phrase.end < len(caption.units) and caption.units[phrase.end].word == "of"
        )
        return last and (
            not has_own(caption, pair.latter) or caption.units[pair.last + 1].kind in {"determiner", "number"}
        )
    if len(words) == 1 and words[0] in {"visible", "nearby", "shown", "outside"}:
        return pair.tight
    if words[0] in _BOTH_SIDES:
        return pair.tight or same_sort(*heads, strict=True)
    if words[0] == "with":
        return pair.tight and all(map(is_food, heads))
    if tail[0].kind != "preposition" or words[0] not in _PLACES or phrase is None or not last:
        return False
    noun = caption.units[phrase.head].lemma
    if noun in {"middle", "center", "corner", "back", "side"}:
        return False
    if not _OWNERS.isdisjoint(words):
        return is_animate(about) and loose and (pair.tight or caption.units[phrase.head].word in {"hands", "arms"})
    small = sets_of(heads[0]) & sets_of(heads[1]) and not any(sets_of(head) & _FURNITURE for head in heads)
    food = all(map(is_food, heads))
    if words[0] in _BESIDE | {"at"} and is_animate(about) and loose:
        return True  # a man with a laptop and headphones at a table
    return noun in _SCENES or bool(food or small) or (pair.tight and not any(map(is_animate, (about, *heads))))
