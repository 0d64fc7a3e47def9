"""Swap the two sides of "and", where they are plain equals: the meaning stays.

Four shapes: two noun phrases ("a sink, toilet and shower"), two adjectives of one thing ("a blue and white bus"), two
verb phrases of one subject ("wearing glasses and holding a bottle"), two halves of one shape ("a dog on a bed and a cat
in a box"). What follows must be the end, or belong to both sides. All else is refused: a shared modifier ("white plates
and bowls"), a sequence ("jumps and catches"), a description of one side ("a couch and a chair with a pillow").
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

from equipoise.language.caption import Caption
from equipoise.language.forms import article_before, article_for
from equipoise.language.plausibility import COLOURS
from equipoise.language.vocabulary import word_set
from equipoise.language.wordnet import is_animate
from equipoise.perturb.operations.clause import Clause, ClausePart, clause_of, inside, noun_part
from equipoise.perturb.operations.joined_nouns import joined_nouns
from equipoise.perturb.operations.list_members import Span, is_counted
from equipoise.perturb.recipe import Candidate, Made, Refused, Sources, edited

_FILMED, _AT_ONCE = word_set("filmed"), word_set("verbs at once")
_SAID_FIRST = word_set("said first")
_ALONE = word_set("done together") | word_set("done alone")
_PARTICLES = word_set("of the verb before")
_SHADES = word_set("shades")
_HUES = COLOURS | word_set("other colours")
_NO_COATS = word_set("black and white")  # things of which it is one quality: a photo, a movie, a zebra


def swap_positive(caption: Caption, sources: Sources, rng: random.Random) -> Made:
    if all(unit.word != "and" for unit in caption.units):
        yield Refused("nothing in the caption is joined by the word and")
        return
    clause = clause_of(caption)
    plain = clause is not None and "i" not in clause.letters
    pairs = [*joined_nouns(caption), *_adjectives(caption), *_doings(caption)]
    if clause is not None and plain:
        pairs = [*_halves(clause), *pairs, *_verbs(clause)]
    if not pairs:
        yield Refused("the two sides of and are no plain equals" if plain else "the caption is no single plain clause")
    for left, right in pairs:
        yield _swapped(caption, left, right)


def _adjectives(caption: Caption) -> Iterator[tuple[Span, Span]]:
    """Both colours or both none, of one thing: "a red and white bus", "painted red and white"."""
    units = caption.units
    title = caption.is_title and not caption.text.isupper()
    for place in range(1, 0 if title or '"' in caption.text else len(units) - 1):
        comma = units[place - 1].word == ","
        left, right = place - 1 - comma, place + 1
        words = units[left].word, units[right].word
        if units[place].word != "and" or left < 0 or "-" in words[0] + words[1]:
            continue
        before = caption.unit_at(left - 1)
        listed = before is not None and before.word == "," and left > 1 and units[left - 2].word in _HUES
        hues = [word in _HUES for word in words]
        if (
            hues[0] != hues[1]
            or comma > listed
            or "JJR" in (units[left].pos, units[right].pos)
            or ("red" in {unit.word for unit in units[max(0, left - 2) : left]} and set(words) == _FLAG)
        ):
            continue
        if before is not None and not listed and (before.kind in {"adverb", "mark"} or before.word in _SHADES):
            continue
        after = caption.unit_at(right + 1)
        if after is not None and after.kind in {"noun", "adjective"}:
            phrase, thing = caption.phrase_at.get(place), caption.phrase_at.get(right + 1)
            inner = phrase is not None and phrase.core <= left and right < phrase.head
            if not hues[0] and not (inner and {units[left].kind, units[right].kind} == {"adjective"}):
                continue
            if (after.kind == "adjective" and not hues[0]) or thing is None:
                continue
            named = {unit.lemma for unit in units[right + 1 : thing.end]}
            if not named.isdisjoint(_FILMED) or (set(words) == _COAT and not named.isdisjoint(_NO_COATS)):
                continue
        elif not hues[0] or set(words) == _COAT:
            continue
        yield (left, left + 1), (right, right + 1)


_FLAG, _COAT = {"white", "blue"}, {"black", "white"}


def _verbs(clause: Clause) -> Iterator[tuple[Span, Span]]:
    """Two verb phrases of one subject, done at the same time; neither needs the other."""
    for verb in "gz":
        groups = clause.match(
            f"[nmk](?:[pw][nm])?[br]?(?:[gz]p?[nm])?({verb}[npwamk]*)&({verb}[npwamk]*)(?:c.*)?", subject_first=True
        )
        if groups and not (clause.points_back and _names_another(clause, groups)):
            left, right = groups
            heads = left[0].head, right[0].head
            postures = [part for part in groups if part[0].head in _SAID_FIRST]
            plain = heads[1] in _AT_ONCE or len(right) == 1 or clause.units(right[1])[0].kind == "determiner"
            worn = verb == "g" and "wear" in heads and plain  # all the time, whatever else is done
            if not (set(heads) <= _AT_ONCE or worn) or heads[0] == heads[1]:
                continue
            if len(postures) == 1 and (verb == "z" or len(postures[0]) == 1):
                continue  # sitting and eating: nobody says it the other way round
            first, second = ("".join(part.letter for part in parts) for parts in groups)
            if len(first) == 1 and second[-1] != "g" and second[1:2] not in {"", "n"}:
                continue
            if worn or "p" in first or not re.match(".[nmk]+[pw]", second):
                yield (left[0].start, left[-1].end), (right[0].start, right[-1].end)
            # not so in "eating pizza and drinking soda at a table": both are done there


def _doings(caption: Caption) -> Iterator[tuple[Span, Span]]:
    """Two things done at one place, or anywhere: people eating and talking in a park."""
    for place in range(1, len(caption.units) - 1):
        left, joint, right, *rest = caption.units[place - 1 : place + 3]
        ends = not rest or rest[0].word == "." or (rest[0].kind == "preposition" and rest[0].word not in _PARTICLES)
        alike = left.pos == right.pos and (left.lemma in _SAID_FIRST) == (right.lemma in _SAID_FIRST)
        if joint.word != "and" or not ends or not alike or left.lemma == right.lemma:
            continue
        if {left.lemma, right.lemma} <= _ALONE and left.pos in {"VBG", "VBZ", "VBP"}:
            yield (place - 1, place), (place + 1, place + 2)


def _names_another(clause: Clause, groups: list[list[ClausePart]]) -> bool:
    """Whether "his" or "its" may mean another than the subject."""
    return any(part.letter in "nmk" and is_animate(part.head) for parts in groups for part in parts)


def _halves(clause: Clause) -> Iterator[tuple[Span, Span]]:
    """Two halves of the whole caption of one shape, each about a thing of its own."""
    yield from _sentences(clause)
    if groups := clause.match("(n)(p|g|bg)k(p|g|bg)(n)"):
        (first,), _, _, (last,) = groups
        middle = next(part for part in clause.parts if part.letter == "k")
        if (
            len(middle.members) == 2
            and len(groups[1]) == len(groups[2])
            and groups[1][-1].letter == groups[2][-1].letter
        ):
            noun = clause.caption.units[clause.caption.phrase_at[middle.members[1][0]].head].lemma
            named = clause.caption.units[middle.members[1][0]].kind not in {"determiner", "number"}
            if is_animate(first.head) == is_animate(noun) and not named:
                yield (first.start, middle.members[0][1]), (middle.members[1][0], last.end)


def _sentences(clause: Clause) -> Iterator[tuple[Span, Span]]:
    """Two sentences, each on what a thing of its own is or does all the time: the bed is white and the wall is gray."""
    caption, units, end = clause.caption, clause.caption.units, clause.parts[-1].end
    joints = [at for at, unit in enumerate(units[:end]) if unit.word == "and"]
    if len(joints) != 1 or joints[0] < 2 or clause.opening or clause.points_back or units[joints[0] - 1].word == ",":
        return
    if units[joints[0] - 1].kind == "adjective" and units[joints[0] - 2].kind == "determiner":
        return  # is wearing a pink and black jacket
    sides = (0, joints[0]), (joints[0] + 1, end)
    for start, stop in sides:
        subject = noun_part(caption, start) if start in caption.phrase_at else None
        verb = units[subject.end] if subject is not None and subject.end < stop else units[joints[0]]
        if verb.kind != "be" and not (verb.pos in {"VBZ", "VBP"} and verb.lemma in _AT_ONCE - {"have"}):
            return
    left, right = (units[slice(*side)] for side in sides)
    nouns = [{unit.lemma for unit in side if unit.kind == "noun"} for side in (left, right)]
    placed = [any(unit.kind == "preposition" for unit in side) for side in (left, right)]
    if nouns[0].isdisjoint(nouns[1]) and placed[0] >= placed[1] and (left[0].word == "the" or right[0].word != "the"):
        yield sides


def _swapped(caption: Caption, left: Span, right: Span) -> Candidate:
    text, units = caption.text, caption.units
    start, end = units[left[0]].start, units[right[1] - 1].end
    left_end, right_start = units[left[1] - 1].end, units[right[0]].start
    first, second = text[start:left_end], text[right_start:end]
    thing = caption.phrase_at.get(right[0]) or caption.phrase_at.get(right[0] + 1)  # and a docked phone
    bare = units[right[0]].kind not in {"determiner", "number"} and units[left[0]].word in {"a", "an"}
    if bare and thing is not None and is_counted(caption, thing):
        second = f"{article_for(second.split()[0])} {second}"  # a clock and wooden table: a wooden table and a clock
    if start == 0:
        first, second = inside(caption, first), second[:1].upper() + second[1:] if text[:1].isupper() else second
    to = second + text[left_end:right_start] + first
    new = article_before(text[:start], second) + to + text[end:]
    return edited(text, "positive", "swap", "order", (start, end), to, "rules", new)
