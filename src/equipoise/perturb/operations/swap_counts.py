"""Swap how many there are of two things: a man feeding two horses -> two men feeding a horse.

False of the same photo whatever stands between them, next to and with included, and as plausible as the caption where
both can be there several times. Nouns and the verb follow their new number.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence

from equipoise.perturb.candidate import Candidate, Refused, edited
from equipoise.perturb.english.caption import COLLECTIVES, Caption, NounPhrase, Unit
from equipoise.perturb.english.collocations import governor_of
from equipoise.perturb.english.forms import inflect, like, plural
from equipoise.perturb.english.noun_classes import is_animate, is_food, is_garment, sets_of
from equipoise.perturb.english.word_lists import members
from equipoise.perturb.operations.swap_negative import NO_THING
from equipoise.perturb.sources.base import Source
from equipoise.words.articles import article_for

NUMBERS = frozenset("two three four five six several".split())
_FEW = frozenset(("two", "three", "several"))
_ONE = frozenset(("a", "an", "one"))
_BESIDE = frozenset(
    "near beside with by alongside and behind has have watching watches feeding feeds following follows holding holds "
    "carrying carries chasing chases petting pets photographing eating eats".split()
) | frozenset(
    ("next to", "close to", "along with", "together with", "adjacent to", "in front of", "looking at", "across from")
)
_WITH = frozenset(("with", "has", "have"))
_ROOMS = frozenset("plate bowl vase basket box table desk".split())
_ONCE = frozenset(
    "field beach ocean sea lake river sky sun moon park city town forest background foreground day night fence wall "
    "sidewalk yard court game crowd water hill mountain wave other floor ground road bath snow grass counter air "
    "camera living-room restaurant zoo top view station harbor pool shore meal tie suit beard hair face".split()
)
_OF_ONE = frozenset("wear hold carry have dress ride drive push pull use".split())
_DONE = frozenset("watch feed follow hold carry chase pet photograph eat look have".split())
_POINTS = frozenset(
    "he she his her him hers it its they their them himself herself itself themselves who whose that which each other "
    "another both one ones together couple pair".split()
)
_PARTS = frozenset(
    "leg arm hand foot eye ear head horn tusk wing tail finger paw wheel wheeler tire story light medal pillow chair "
    "window door side word letter".split()
)
_SERVED = frozenset("plate bowl tray basket box bag".split())  # two plates with a sandwich
_SEATS = frozenset(("seat", "surface"))
_OF_SEVERAL = frozenset(  # what only several, or only one, can be called
    "different various same similar identical matching twin lone single solitary separate individual multiple more "
    "assorted other opposing random".split()
)
_WHERE = frozenset("in on at near by under inside outside through across along".split())
AGREE = {"is": "are", "are": "is", "was": "were", "were": "was", "has": "have", "have": "has"}


def swap_counts(caption: Caption, sources: Sequence[Source], rng: random.Random) -> Iterator[Candidate | Refused]:
    pairs = list(itertools.pairwise(caption.phrases))
    rng.shuffle(pairs)
    for first, second in pairs:
        reason = uncountable(caption, first, second)
        yield _with_counts(caption, first, second) if reason is None else Refused(reason)


def uncountable(caption: Caption, first: NounPhrase, second: NounPhrase) -> str | None:
    """Why the numbers of two things cannot change places, or None."""
    units = caption.units
    starts = units[first.start].word, units[second.start].word
    if {word in _ONE for word in starts} != {True, False} or NUMBERS.isdisjoint(starts):
        return "no one thing beside several of another, whose numbers could change places"
    if any(phrase.core - phrase.start != 1 for phrase in (first, second)):
        return "no one thing beside several of another, whose numbers could change places"
    heads = _noun(units[first.head]), _noun(units[second.head])
    between = [unit for unit in units[first.end : second.start] if unit.kind != "adverb"]
    if not between or between[-1].word not in _BESIDE:
        return "the other thing hardly comes in that number"
    if heads[0] == heads[1] or any(noun in NO_THING | COLLECTIVES | _ONCE for noun in heads):
        return "the two nouns do not name two separate things"
    if heads[1] in _ROOMS or (heads[0] in _ROOMS and between[-1].word not in _WITH):
        return "the other thing hardly comes in that number"
    if any(map(is_garment, heads)) or any(noun in members("@mass") or noun in _PARTS for noun in heads):
        return "the other thing hardly comes in that number"
    served = heads[0] in _SERVED and is_food(heads[1]) and between[-1].word in _WITH
    if (
        not served
        and not is_animate(heads[0])
        and (between[-1].word in _WITH or is_animate(heads[1]) or sets_of(heads[1]) & _SEATS)
    ):
        return "the other thing hardly comes in that number"  # two bathrooms with a toilet, six tables and a chair
    if not _FEW.intersection(starts) and not all(map(is_animate, heads)):
        return "the other thing hardly comes in that number"  # a dog playing with four frisbees
    if sum(unit.word in NUMBERS or unit.pos == "CD" for unit in units) > 1 or "," in caption.words:
        return "the caption has a list or more numbers, which would have to change too"
    for phrase, noun in zip((first, second), heads, strict=True):
        if not (sets_of(noun) or noun in members("@animate") or noun in _ROOMS) or caption.is_name(phrase.head):
            return "the two nouns do not name two separate things"
        if plural(noun) == noun or (units[phrase.head].word == noun) != (units[phrase.start].word in _ONE):
            return "the noun does not show whether it is one or several"
    inside = {unit.word for phrase in (first, second) for unit in units[phrase.core : phrase.end]}
    if any(" of " in noun for noun in heads) or not _OF_SEVERAL.isdisjoint(inside):
        return "the noun does not show whether it is one or several"
    joined = [unit.word for unit in between] == ["and"]
    governor = governor_of(caption, first) if first.start else -1
    if governor >= 0 and not (joined and units[governor].word in _WITH):
        return "the swap would change who does it, too"  # a man on a horse and four cows
    if not is_animate(heads[0]) and any(unit.kind == "verb" and unit.lemma in _DONE for unit in between):
        return "the swap would change who does it, too"  # a woman on a bench holding two donuts
    if told := _told_otherwise(caption, heads):
        return told
    finite = [place for place, unit in enumerate(units) if _is_finite(unit)]
    of_both = joined and first.start == 0 and _is_of_both(caption, second.end)  # two men and a woman pose
    if finite and (finite != [first.end] or first.start > 0) and not (of_both and finite == [second.end]):
        return "a verb further on would have to change with the number"
    if not caption.words.isdisjoint(_POINTS):
        return "a pronoun (he, it, their) would then mean something else"
    after = units[second.end] if second.end < len(units) else None
    before = units[first.start - 1] if first.start else None
    if before is not None and before.word in {"of", "and", ","}:
        return "one of the two things is part of a longer phrase"
    if after is not None and after.kind != "mark" and not of_both and not _is_place(caption, second.end):
        return "one of the two things is part of a longer phrase"  # two girls in dresses, a man wearing a blue uniform
    return None


def _noun(unit: Unit) -> str:
    """The singular: of "people" it is another word."""
    return "person" if unit.lemma == "people" else unit.lemma


def _is_of_both(caption: Caption, place: int) -> bool:
    """The verb after a list speaks of all of them, however many of each there are; what is worn may not."""
    unit = caption.units[place] if place < len(caption.units) else None
    if unit is None or not (unit.word in {"are", "were"} or unit.pos in {"VBP", "VBG"}):
        return False
    verbs = [other.lemma for other in caption.units[place:] if other.kind == "verb"]
    return not any(verb in _OF_ONE for verb in verbs)


def _is_place(caption: Caption, place: int) -> bool:
    """What stands there tells where it all is, whoever and however many are there."""
    phrase = caption.phrase_at.get(place + 1)
    if caption.units[place].word not in _WHERE or phrase is None or phrase.start != place + 1:
        return False
    head = caption.units[phrase.head].lemma
    return not caption.is_plural(phrase) and not is_garment(head) and not is_animate(head)


def _told_otherwise(caption: Caption, nouns: tuple[str, str]) -> str | None:
    """Another caption sees one of the two things in the other number."""
    for text in caption.others:
        words = [word.strip(".,") for word in text.lower().split()]
        for noun in nouns:
            here = noun in words or plural(noun) in words
            mine = noun in caption.words and any(unit.word == noun for unit in caption.units)
            if here and (plural(noun) not in words) != mine:
                return "another caption of the image gives another number"
    return None


def _is_finite(unit: Unit) -> bool:
    return unit.word in AGREE or (unit.kind == "verb" and unit.pos in {"VBZ", "VBP"})


def _with_counts(caption: Caption, first: NounPhrase, second: NounPhrase) -> Candidate:
    """Both phrases with the number of the other; articles, plurals and the verb follow."""
    text, units = caption.text, caption.units
    written = []
    for mine, other in ((first, second), (second, first)):
        number = units[other.start].word
        head = units[mine.head]
        middle = text[units[mine.core].start : head.start]
        middle = middle if any(caption.is_name(place) for place in range(mine.core, mine.head)) else middle.lower()
        noun = _noun(head) if number in _ONE else plural(_noun(head))
        if number in {"a", "an"}:
            number = article_for((middle or noun).split()[0])
        written.append(like(units[mine.start].text, f"{number} {middle}{noun}"))
    a, b = units[first.start].start, units[first.head].end
    c, d = units[second.start].start, units[second.head].end
    between = text[b:c]
    verb = units[first.end]
    if _is_finite(verb):
        plain = verb.lemma if verb.pos == "VBZ" else inflect(verb.lemma, "VBZ")
        between = text[b : verb.start] + AGREE.get(verb.word, plain) + text[verb.end : c]
    to = written[0] + between + written[1]
    return edited(text, "negative", "swap", "attribute", (a, d), to, "rules", text[:a] + to + text[d:])
