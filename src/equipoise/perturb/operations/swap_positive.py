"""Swap what stands around "and", where the two sides are equals: the meaning stays.

The cases are tried from the smallest to the largest: single words ("blue and white bus", "ham and cheese pizza",
"on and around"), verb phrases ("wearing glasses and holding a bottle"), clauses ("a lady wearing skis and a man
holding skis"), noun phrases and members of lists ("a sink, toilet and shower"). Each refuses where one side depends
on the other: a shared modifier that would move ("white plates and bowls"), a pronoun that points back ("an
elephant and its child"), a sequence ("jumps and catches"), a description that may belong to one side only ("a couch
and a chair with a pillow").
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence

from equipoise.perturb.english.articles import article_for
from equipoise.perturb.english.caption import Caption, Unit
from equipoise.perturb.english.forms import like
from equipoise.perturb.english.wordnet import is_thing
from equipoise.perturb.operations.coordination.clauses import clauses, verb_phrases
from equipoise.perturb.operations.coordination.nouns import nouns
from equipoise.perturb.operations.coordination.shared import Rejected, Swap
from equipoise.perturb.operations.coordination.single_words import adjectives, ages, modifiers, prepositions
from equipoise.perturb.recipe import Candidate, Refused, Source, edited

# Each case, and what it says of an "and" that is not one of its own.
_CASES: tuple[tuple[Callable[[Caption, int], Swap | Rejected | None], str], ...] = (
    (ages, "the sides of and are not two ages of one animal"),
    (adjectives, "the sides of and are not two adjectives of one thing"),
    (modifiers, "the sides of and are not two nouns before a third"),
    (prepositions, "the sides of and are not two places"),
    (verb_phrases, "the two actions may come one after the other"),
    (clauses, "the two halves of the sentence may need their order"),
    (nouns, "the sides of and are not two plain things"),
)


def swap_positive(caption: Caption, sources: Sequence[Source], rng: random.Random) -> Iterator[Candidate | Refused]:
    joined = [place for place, unit in enumerate(caption.units) if unit.word == "and"]
    if not joined:
        yield Refused("nothing in the caption is joined by the word and")
    for place in joined:
        if not 0 < place < len(caption.units) - 1:
            yield Refused("the word and stands at the very beginning or end")
        elif _is_quoted(caption, caption.units[place]):
            yield Refused("the words are quoted, and a quote keeps its order")
        else:
            yield _around(caption, place)


def _around(caption: Caption, place: int) -> Candidate | Refused:
    """The first case that allows a swap around this "and", or why none does."""
    reason = ""
    for case, alone in _CASES:
        found = case(caption, place)
        if isinstance(found, Swap):
            same = caption.text_of(*found.left).lower() == caption.text_of(*found.right).lower()
            return Refused("both sides of and are the same") if same else _swapped(caption, found)
        plain = case is nouns and str(found) == "the sides of and are not two plain things"
        if isinstance(found, Rejected) and not plain:
            reason = str(found)
            if case is not nouns:
                return Refused(reason)
        elif case in _applicable(caption, place):
            reason = alone
    return Refused(reason or "the two sides of and are not of one kind")


def _applicable(caption: Caption, place: int) -> list[Callable[[Caption, int], Swap | Rejected | None]]:
    """The cases that the words around "and" look like, so that the reason is about them."""
    left, right = caption.units[place - 1], caption.units[place + 1]
    if right.kind in {"verb", "be"}:
        return [verb_phrases]
    if left.kind == "adjective":
        return [adjectives]
    if right.kind == "preposition":
        return [prepositions]
    return [clauses] if right.kind in {"determiner", "number"} else []


def _is_quoted(caption: Caption, unit: Unit) -> bool:
    """What a sign says is said in its order."""
    before = caption.text[: unit.start]
    return before.count('"') % 2 == 1 or before.count("“") > before.count("”")


def _swapped(caption: Caption, swap: Swap) -> Candidate:
    text, units = caption.text, caption.units
    left, right = swap.left, swap.right
    start, end = units[left[0]].start, units[right[1] - 1].end
    left_end, right_start = units[left[1] - 1].end, units[right[0]].start
    first, second = text[start:left_end], text[right_start:end]
    if left[0] == 0 and first[:1].isupper():
        if not caption.is_title and not second.isupper() and not _keeps_capital(units[0]):
            first = first[:1].lower() + first[1:]
        second = second[:1].upper() + second[1:]
    between = text[left_end:right_start]
    if swap.article:
        article = article_for(first.split()[0])
        between += (article.upper() if text.isupper() else article) + " "
    elif units[right[0] - 1].word in {"a", "an"}:
        own = units[right[0] - 1]
        article = article_for(first.split()[0])
        written = article.upper() if text.isupper() else like(own.text, article)
        between = text[left_end : own.start] + written + " "
    to = second + between + first
    before = text[:start]
    if left[0] and units[left[0] - 1].word in {"a", "an"}:  # the article that stayed
        article = article_for(second.split()[0])
        at = units[left[0] - 1]
        written = article.upper() if text.isupper() else like(at.text, article)
        before = text[: at.start] + written + text[at.end : start]
    return edited(text, "positive", "swap", "order", (start, end), to, "rules", before + to + text[end:])


def _keeps_capital(unit: Unit) -> bool:
    name = unit.pos.startswith("NNP") and not is_thing(unit.lemma)
    return name or unit.text == "I" or (unit.text.isupper() and len(unit.text) > 1)
