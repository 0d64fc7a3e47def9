"""Two things change their numbers: "a man with two dogs" becomes "two men with a dog".

Left out is what the new number would break: "a woman wearing hats", "men riding a horse", "two men together".
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Literal, NamedTuple

from equipoise.language.articles import article_for
from equipoise.language.caption import COLLECTIVES, Caption, NounPhrase, Unit
from equipoise.language.forms import inflect, like
from equipoise.language.vocabulary import members, word_set
from equipoise.language.wordnet import is_animate, is_garment, is_thing, sets_of
from equipoise.perturb.judge import SORTS, Pair
from equipoise.perturb.operations.swap_negative import NO_THING
from equipoise.perturb.recipe import Candidate, edited

Sort = Literal["quality", "number", "noun"]
Span = tuple[int, int]  # characters
ONE = frozenset(("a", "an", "one"))
_EXACT = frozenset(("two", "three"))  # four towers with a clock hardly anybody sees
_SEVERAL = _EXACT | {"several", "some", ""}
_GROUPS = frozenset("couple group pair".split())
_POINTS = (word_set("words that point") | word_set("pronouns of persons")) - {"one", "that", "which", "who"}
_AGREE = {"is": "are", "are": "is", "was": "were", "were": "was", "has": "have", "have": "has"}
_OF_SEVERAL = frozenset("different various other matching similar".split())
_RIDDEN = frozenset(("ridden", "board", "bike-motor"))  # sets of exclusive.txt
_ALONE = frozenset("alone single lone solo only".split())
_TOGETHER = word_set("done by several")
_DONE_BY_EACH = frozenset("ride drive wear use".split())
_PLACES = word_set("places of things") | word_set("scenes of all")
_WITHIN = word_set("links within")
_SURROUNDINGS = word_set("sets of places") | {"animal-place", "playing-ground", "building-part", "kitchen-big"}
_PARTS = word_set("body parts") | word_set("parts and surroundings")


class Exchange(NamedTuple):
    candidate: Candidate
    pair: Pair
    more: str = ""  # words of its kind after the sort


def exchange(candidate: Candidate, sort: Sort, spans: list[Span], into: list[str]) -> Exchange:
    return Exchange(candidate, Pair(SORTS.index(sort), spans[0], spans[1], into[0], into[1]))


class Count(NamedTuple):
    """How many of something: the units of "a", "two", "a couple of" or of a bare plural, and the noun's."""

    start: int
    core: int
    head: int
    words: str
    several: bool
    noun: str


def noun_of(unit: Unit) -> str:
    """The singular: of "people" it is another word."""
    return "person" if unit.lemma == "people" else unit.lemma


def is_countable(unit: Unit) -> bool:
    """Whether the noun has a singular and a plural: no luggage, scissors, cattle."""
    noun = noun_of(unit)
    return noun not in members("@mass") and not noun.endswith(("ss", "rs", "ts")) and inflect(noun, "NNS") != noun


def _counted(caption: Caption, phrase: NounPhrase) -> Count | None:
    units, head = caption.units, caption.units[phrase.head]
    after = units[phrase.end] if phrase.end < len(units) else None
    if after is not None and (after.pos == "POS" or after.word == "of" or after.word.startswith("-")):
        return None
    noun = noun_of(head)
    if not is_countable(head) or caption.is_name(phrase.head) or noun in NO_THING | COLLECTIVES or not is_thing(noun):
        return None
    start, several = phrase.start, caption.is_plural(phrase)
    if start == phrase.core and start and units[start - 1].pos in {"VBN", "VBD", "POS"}:
        return None  # parked | cars
    if start and units[start - 1].word == "of":
        group = caption.phrase_at.get(start - 2)
        if group is None or start != phrase.core or units[group.head].word not in _GROUPS or not several:
            return None
        if units[group.start].word != "a" or group.head != group.start + 1:
            return None
        start = group.start
    words = " ".join(unit.word for unit in units[start : phrase.core])
    inside = units[phrase.core : phrase.head]
    if any(unit.kind not in {"adjective", "noun"} or unit.word in _OF_SEVERAL for unit in inside):
        return None
    if start == phrase.start and words not in (_SEVERAL if several else ONE):
        return None
    return Count(start, phrase.core, phrase.head, words, several, noun)


def number_exchanges(caption: Caption) -> Iterator[Exchange]:
    """Two phrases each with the number of the other; articles, plurals and a verb right after the first follow."""
    if caption.text.isupper() or not caption.words.isdisjoint(_POINTS):
        return
    counts = [found for phrase in caption.phrases if (found := _counted(caption, phrase))]
    for first, second in itertools.combinations(counts, 2):
        exact = first.words != second.words and {first.words, second.words} <= _EXACT
        if first.several == second.several and not exact:
            continue
        if first.noun == second.noun and _modifiers(caption, first) == _modifiers(caption, second):
            continue
        told = any(_is_told_several(caption, one) for one in (first, second) if not one.several)
        if not told and _can_change(caption, first, second) and (made := _exchanged(caption, first, second)):
            yield made._replace(more=_kind(caption, first, second))


def _kind(caption: Caption, first: Count, second: Count) -> str:
    """What readers accept more or less often than other numbers: "two", a bare plural, what is done to the second thing
    ("holding"), what the first has or a list goes on with."""
    link, several = caption.units[second.start - 1], first if first.several else second
    direct = not any(unit.kind == "noun" for unit in caption.units[first.head + 1 : second.start])
    own = (link.word == "with" and direct) or (link.word in {"and", ","} and not direct)
    found = {"two": several.words == "two", "bare": not several.words, "doing": link.kind == "verb", "own": own}
    return " ".join(word for word, holds in found.items() if holds)


def _modifiers(caption: Caption, count: Count) -> tuple[str, ...]:
    return tuple(unit.word for unit in caption.units[count.core : count.head])


def _can_change(caption: Caption, first: Count, second: Count) -> bool:
    """The judge tells what is plausible; it overlooks what each of several has of its own, and what is a pair."""
    units = caption.units
    between = units[first.head + 1 : second.start]
    if not between or not caption.words.isdisjoint(_ALONE | _TOGETHER | {"as", "or"}):
        return False
    if any(is_garment(one.noun) or not _PARTS.isdisjoint((one.noun, one.noun.split()[-1])) for one in (first, second)):
        return False
    if any(unit.kind == "verb" and unit.lemma in _DONE_BY_EACH for unit in units) or _names_a_mount(caption):
        return False
    links = [between[-1].word] + [units[first.start - 1].word] * (first.start > 0 and not first.several)
    if any(link in _WITHIN or link.endswith(("middle of", "midst of")) for link in links):
        return False  # a person on benches, a cat on two benches by a window
    if any(not one.several and (one.noun in _PLACES or sets_of(one.noun) & _SURROUNDINGS) for one in (first, second)):
        return False  # fields
    nouns = [noun_of(units[phrase.head]) for phrase in caption.phrases]
    if first.noun != second.noun and any(nouns.count(one.noun) > 1 for one in (first, second)):
        return False
    after = itertools.pairwise(units[max(0, first.start - 2) : second.start])
    if any(unit.pos == "VBN" and link.word in {"with", "by"} for unit, link in after):
        return False  # filled with, led by
    others = [phrase for phrase in caption.phrases if phrase.head not in {first.head, second.head}]
    return not any(_goes_along(caption, phrase, first) for phrase in others)


def _names_a_mount(caption: Caption) -> bool:
    """A man on a horse."""
    ridden = [phrase for phrase in caption.phrases if sets_of(caption.units[phrase.head].lemma) & _RIDDEN]
    return any(caption.units[phrase.start - 1].word == "on" for phrase in ridden)


def _goes_along(caption: Caption, phrase: NounPhrase, first: Count) -> bool:
    """Whether each of several has one (two men holding rackets, a man holding a racket), or "and" joins a bare noun."""
    before, noun = caption.units[phrase.start - 1], caption.units[phrase.head].lemma
    if phrase.start == phrase.core and before.word == "and" and not caption.is_plural(phrase):
        return True  # a man and woman
    held = phrase.start > first.head and before.kind == "verb" and is_thing(noun)
    return held and caption.is_plural(phrase) == first.several


def _exchanged(caption: Caption, first: Count, second: Count) -> Exchange | None:
    text, units = caption.text, caption.units
    joined = [unit.word for unit in units[first.head + 1 : second.start]] == ["and"]  # two men and a woman pose
    finite = [place for place, unit in enumerate(units) if _is_finite(unit)]
    # Verbs that agree with the first phrase: "there is a man that is". What other verbs go with is not known.
    follows = first.head + 1 + (units[first.head + 1].kind == "relative")
    agree = [1, follows] if first.start == 2 and units[0].word == "there" else [follows] if first.start == 0 else []
    if not joined and not set(finite) <= set(agree):
        return None
    written = []
    for mine, other in ((first, second), (second, first)):
        head = units[mine.head]
        middle = text[units[mine.core].start : head.start]
        if mine.start == mine.core and not mine.start:
            middle = middle[:1].lower() + middle[1:]
        noun = inflect(mine.noun, "NNS") if other.several else mine.noun
        number = other.words if other.words not in {"a", "an"} else article_for((middle or noun).split()[0])
        if number.endswith("of") and not is_animate(mine.noun):
            number = "several"  # hardly anybody writes of a group of cakes
        new = f"{number} {middle}{noun}".strip()
        written.append(like(units[0].text, new) if not mine.start else new)
    a, b = units[first.start].start, units[first.head].end
    c, d = units[second.start].start, units[second.head].end
    before, between = text[:a], text[b:c]
    if not joined and first.several != second.several:
        for verb in (units[place] for place in finite):
            if verb.start < a:
                before = text[: verb.start] + _other_number(verb) + text[verb.end : a]
            else:
                between = text[b : verb.start] + _other_number(verb) + text[verb.end : c]
    to = written[0] + between + written[1]
    start = units[1].start if before != text[:a] else a
    new = before + to
    made = edited(text, "negative", "swap", "attribute", (start, d), new[start:], "rules", new + text[d:])
    return exchange(made, "number", [(a, b), (c, d)], written)


def _is_finite(unit: Unit) -> bool:
    return unit.word in _AGREE or (unit.kind == "verb" and unit.pos in {"VBZ", "VBP"})


def _other_number(verb: Unit) -> str:
    return _AGREE.get(verb.word) or (verb.lemma if verb.pos == "VBZ" else inflect(verb.lemma, "VBZ"))


def _is_told_several(caption: Caption, count: Count) -> bool:
    """Another caption sees several of what would become several. (Of several people "a person" is true anyway.)"""
    several = inflect(count.noun, "NNS")
    return any(several in (word.strip(".,") for word in text.lower().split()) for text in caption.others)
