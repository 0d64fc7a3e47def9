"""Swap what stands around "and", where the two sides are plain equals: the meaning stays.

Four shapes: two noun phrases ("a sink, toilet and shower"), two adjectives of one thing ("a blue and white bus"), two
verb phrases of one subject ("wearing glasses and holding a bottle"), two halves of one shape ("a dog on a bed and a cat
in a box"). What follows must be the end, or belong to both sides. All else is refused: a shared modifier ("white plates
and bowls"), a sequence ("jumps and catches"), a description of one side ("a couch and a chair with a pillow").
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from equipoise.perturb.english.caption import SAME_PLURAL, Caption
from equipoise.perturb.english.forms import article_before
from equipoise.perturb.english.plausibility import COLOURS
from equipoise.perturb.english.vocabulary import members, word_list, word_set
from equipoise.perturb.english.wordnet import is_animate, is_garment, is_thing, same_sort
from equipoise.perturb.operations.clause import Clause, Part, clause_of, inside
from equipoise.perturb.recipe import Candidate, Made, Refused, Sources, edited

Span = tuple[int, int]  # units
_FIXED = frozenset(frozenset(pair.split(" + ")) for pair in word_list("fixed pairs"))
_FILMED, _AT_ONCE = word_set("filmed"), word_set("verbs at once")
_SAID_FIRST = word_set("said first")
_TOGETHER = word_set("done together") - {"look", "eat", "drink", "wait"}
_BOTH_SIDES = word_set("participles of both sides")
_PLACES, _SCENES = word_set("places of both"), word_set("scenes of all")
_NO_MEMBERS = word_set("verbs taken for nouns") | word_set("names of anything")
_COUNTED = word_set("determiners that stay") | word_set("shared quantities")
_SHADES = word_set("shades")


def swap_positive(caption: Caption, sources: Sources, rng: random.Random) -> Made:
    if all(unit.word != "and" for unit in caption.units):
        yield Refused("nothing in the caption is joined by the word and")
        return
    clause = clause_of(caption)
    plain = clause is not None and not clause.points_back and "i" not in clause.letters
    found = [*_adjectives(caption)]
    if clause is not None and plain:
        found = [*_halves(clause), *_nouns(clause), *found, *_verbs(clause)]
    if not found:
        yield Refused("the two sides of and are no plain equals" if plain else "the caption is no single plain clause")
    for left, right in found:
        yield _swapped(caption, left, right)


def _nouns(clause: Clause) -> Iterator[tuple[Span, Span]]:
    for place, part in enumerate(clause.parts):
        if part.members and _context_is_safe(clause, place):
            left, right = part.members[-2:]
            links = [unit.word for unit in clause.units(part)].count("and")
            joined = ["and"], [",", "and"] if len(part.members) > 2 else ["and"]
            if links == 1 and _between(clause, left, right) in joined and _are_equals(clause, place, left, right):
                yield left, right


def _between(clause: Clause, left: Span, right: Span) -> list[str]:
    return [unit.word for unit in clause.caption.units[left[1] : right[0]]]


def _context_is_safe(clause: Clause, place: int) -> bool:
    """What stands before goes with all members, and so does what comes after."""
    part, after = clause.parts[place], clause.letters[place + 1 :]
    heads = [clause.caption.units[clause.caption.phrase_at[start].head].lemma for start, _ in part.members]
    alive = {is_animate(head) for head in heads}
    if len(alive) > 1 or len(heads) != len(set(heads)) or len(set(map(is_garment, heads))) > 1 or heads[0] in _FILMED:
        return False
    if place == 0:
        return part.letter == "m" and _is_said_of_both(clause, clause.parts[1:], alive == {True})
    before = clause.parts[place - 1]
    if before.letter not in "pwgz" or True in alive or clause.letters[0] not in "nmk":
        return False
    if any(letter in "nmkx" for letter in clause.letters[1 : place - 1]):
        return False  # a cat in a box on a chair and a table
    if before.letter != "w" and not all(same_sort(heads[0], head, strict=True) for head in heads):
        return False
    return not after or (len(after) == 2 and after[0] == "p" and clause.parts[-1].head in _SCENES)


def _is_said_of_both(clause: Clause, rest: list[Part], alive: bool) -> bool:
    if not rest:
        return True
    first, word = rest[0], clause.word(rest[0])
    if first.letter == "p":
        head = rest[1].head if len(rest) > 1 and rest[1].letter in "nm" else "photo"
        return word in _PLACES and not is_garment(head) and head not in COLOURS and head not in _FILMED
    if first.letter == "b" and len(rest) > 1:
        return rest[1].letter in "gpd" and "w" not in "".join(part.letter for part in rest)
    if first.letter == "g":
        return first.head in _TOGETHER if alive else word in _BOTH_SIDES
    return (first.letter == "z" and first.head in _TOGETHER) or (first.letter == "d" and word in _BOTH_SIDES)


def _are_equals(clause: Clause, place: int, left: Span, right: Span) -> bool:
    """The same shape, so that no article, number or adjective may be shared by both."""
    caption = clause.caption
    units = caption.units
    one, other = caption.phrase_at[left[0]], caption.phrase_at[right[0]]
    heads = units[one.head].lemma, units[other.head].lemma
    if frozenset(heads) in _FIXED or not _NO_MEMBERS.isdisjoint(heads) or not all(map(is_thing, heads)):
        return False
    if any(caption.is_name(i) for span in (left, right) for i in range(*span) if i):
        return False
    if caption.text_of(*left).lower() == caption.text_of(*right).lower():
        return False
    agree = caption.is_plural(one) == caption.is_plural(other)
    if clause.opening == "there" and place == 0 and not agree:
        return False  # there is a dog and two cats
    for phrase in (one, other):
        first, head = units[phrase.start], units[phrase.head]
        several = first.kind == "number" and first.word not in {"one", "1"}
        if several and head.pos == "NN" and head.word not in SAME_PLURAL:
            return False  # three adult and two child skiers
        if any(unit.pos == "NNS" for unit in units[phrase.core : phrase.head]) or phrase.head - phrase.core > 2:
            return False  # some chairs white pillows, a refrigerator oven sink: commas are missing
    own = [units[phrase.start].kind in {"determiner", "number"} for phrase in (one, other)]
    plain = [phrase.core == phrase.head and span[1] == phrase.end for phrase, span in ((one, left), (other, right))]
    described = [units[phrase.core].kind == "adjective" for phrase in (one, other)]
    if own[1] and not own[0] and len(clause.parts[place].members) > 2 and not caption.is_plural(one):
        return units[one.head].lemma in members("@mass")  # a lemon, banana and an orange
    if own[1]:
        return own[0] or (left[1] == one.end and right[1] == other.end)  # seeds and a scoop of rice
    if described[1]:
        return (all(described) and not own[0]) or (caption.is_plural(other) and units[one.start].word in {"a", "an"})
    if not own[0]:
        return all(plain)
    single = " " not in units[one.head].word + units[other.head].word  # a computer keyboard and mouse
    return all(plain) and agree and single and units[one.start].word in _COUNTED  # a cat and dog


def _adjectives(caption: Caption) -> Iterator[tuple[Span, Span]]:
    """Both colours or both none, right before each other in one noun phrase."""
    units = caption.units
    for place, unit in enumerate(() if caption.is_title or '"' in caption.text else units):
        phrase = caption.phrase_at.get(place)
        if unit.word != "and" or phrase is None or not phrase.core < place < phrase.head - 1:
            continue
        left, right, before, after = units[place - 1], units[place + 1], units[place - 2 : place - 1], units[place + 2]
        alike = (left.word in COLOURS) == (right.word in COLOURS) and {left.word, right.word} != {"black", "white"}
        if not alike or left.kind != "adjective" or right.kind != "adjective" or "-" in left.word + right.word:
            continue
        if before and (before[0].word in _SHADES or before[0].word in COLOURS or before[0].kind in {"adverb", "mark"}):
            continue
        if after.kind == "noun" and not any(u.word in _FILMED for u in units[place + 2 : phrase.end]):
            yield (place - 1, place), (place + 1, place + 2)


def _verbs(clause: Clause) -> Iterator[tuple[Span, Span]]:
    """Done at the same time, and neither needs the other."""
    for verb in ("g", "z"):
        if found := clause.match(f"[nmk](?:[pw]n)?b?({verb}[npwam]*)&({verb}[npwam]*)"):
            one, other = found
            heads = one[0].head, other[0].head
            first = [head in _SAID_FIRST for head in heads]
            if not set(heads) <= _AT_ONCE or heads[0] == heads[1] or first[0] != first[1]:
                continue
            if len(one) == 1 and other[-1].letter != "g" and len(other) > 1 and other[1].letter != "n":
                if set(heads) <= _TOGETHER and other[1].letter == "p":
                    yield (one[0].start, one[0].end), (other[0].start, other[0].end)
            elif len(one) > 1 or len(other) > 1 or set(heads) <= _TOGETHER:
                yield (one[0].start, one[-1].end), (other[0].start, other[-1].end)


def _halves(clause: Clause) -> Iterator[tuple[Span, Span]]:
    """Two halves of the whole caption of one shape, each about a thing of its own."""
    if found := clause.match("(n)(p|g|bg)k(p|g|bg)(n)"):
        (one,), _, _, (last,) = found
        both = next(part for part in clause.parts if part.letter == "k")
        if len(both.members) == 2 and len(found[1]) == len(found[2]) and found[1][-1].letter == found[2][-1].letter:
            other = clause.caption.units[clause.caption.phrase_at[both.members[1][0]].head].lemma
            if is_animate(one.head) and is_animate(other):
                yield (one.start, both.members[0][1]), (both.members[1][0], last.end)


def _swapped(caption: Caption, left: Span, right: Span) -> Candidate:
    text, units = caption.text, caption.units
    start, end = units[left[0]].start, units[right[1] - 1].end
    left_end, right_start = units[left[1] - 1].end, units[right[0]].start
    first, second = text[start:left_end], text[right_start:end]
    one, other = caption.phrase_at.get(left[0]), caption.phrase_at.get(right[0])
    shared = one is not None and other is not None and one.core > one.start == left[0] and other.core == other.start
    if shared and units[right[0]].kind == "noun" and right[1] == right[0] + 1 and one is not None:
        start = units[one.core].start  # a cat and dog: the article stays
        first = text[start:left_end]
    if start == 0:
        first, second = inside(caption, first), second[:1].upper() + second[1:] if text[:1].isupper() else second
    to = second + text[left_end:right_start] + first
    new = article_before(text[:start], second) + to + text[end:]
    return edited(text, "positive", "swap", "order", (start, end), to, "rules", new)
