"""What could change places in a caption: two qualities, two numbers, two nouns.

Whether a swap makes sense the judge tells: most do not. Left out here is what cannot be written
(names, parts of a compound, "side" and "top"), and what says the same both ways, which the judge often overlooks: "a
girl in white beside a girl in blue", "a rhino near an elephant".
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from equipoise.data.items import Target
from equipoise.perturb.dial import Dial, accepted
from equipoise.perturb.english.articles import article_for
from equipoise.perturb.english.caption import COLLECTIVES, Caption, NounPhrase, Unit
from equipoise.perturb.english.forms import inflect, like
from equipoise.perturb.english.plausibility import COLOURS
from equipoise.perturb.english.vocabulary import members, word_set
from equipoise.perturb.english.wordnet import is_animate, is_garment
from equipoise.perturb.judge import SORTS, Pair, readings_of, swaps
from equipoise.perturb.operations.replace import weighted_order, why
from equipoise.perturb.operations.swap_negative import (
    MUTUAL,
    NO_THING,
    are_alike,
    article_before,
    is_symmetric,
    swapped,
)
from equipoise.perturb.recipe import Candidate, Refused, Source, edited

Sort = Literal["quality", "number", "noun"]
_TARGETS: dict[Sort, Target] = {"quality": "attribute", "number": "attribute", "noun": "relation"}
_ONE = frozenset(("a", "an", "one"))
_SEVERAL = word_set("counted numbers")
_SHADES = frozenset(("dark", "light", "bright", "neon"))
_HAIR = word_set("hair colours")
_POINTS = word_set("words that point")
_JOINS = frozenset(("and", ",", "&"))
_AGREE = {"is": "are", "are": "is", "was": "were", "were": "was", "has": "have", "have": "has"}
Span = tuple[int, int]  # characters


class Exchange(NamedTuple):
    candidate: Candidate
    pair: Pair


def _exchange(candidate: Candidate, sort: Sort, spans: list[Span], into: list[str]) -> Exchange:
    return Exchange(candidate, Pair(SORTS.index(sort), spans[0], spans[1], into[0], into[1]))


def exchanges(caption: Caption) -> Iterator[Exchange]:
    yield from _of_qualities(caption)
    for one, other in itertools.combinations([p for p in caption.phrases if _names_a_thing(caption, p)], 2):
        nouns = caption.units[one.head].lemma, caption.units[other.head].lemma
        if nouns[0] == nouns[1]:
            continue
        yield from filter(None, [_with_numbers(caption, one, other)])
        if is_animate(nouns[0]) != is_animate(nouns[1]) or _is_mutual(caption, one, other):
            continue  # a street parked on a man; boys who pass girls
        alike = caption.is_plural(one) == caption.is_plural(other)
        if not alike:
            yield from filter(None, [_inflected(caption, one, other)])
        elif not is_symmetric(caption, one, other, False):
            yield _exchanged(caption, "noun", (one.head, one.end), (other.head, other.end))


def _is_mutual(caption: Caption, one: NounPhrase, other: NounPhrase) -> bool:
    between = caption.units[one.end : other.start]
    return any(unit.kind == "verb" and unit.lemma in MUTUAL for unit in between)


def _of_qualities(caption: Caption) -> Iterator[Exchange]:
    """Each colour of one thing with each of another, each other adjective with each other one."""
    listed = [(phrase, *found) for phrase in _coloured(caption) for found in _qualities(caption, phrase)]
    seen: set[tuple[tuple[int, int], tuple[int, int]]] = set()
    for (phrase, sort, one), (other_phrase, other_sort, other) in itertools.combinations(listed, 2):
        words, others = (_words(caption, span) for span in (one, other))
        if phrase == other_phrase or sort != other_sort or words == others or (one, other) in seen:
            continue
        new = {phrase: others, other_phrase: words}
        if not _are_one(caption, phrase, other_phrase) and not _makes_odd_hair(caption, new):
            seen.add((one, other))
            yield _exchanged(caption, "quality", one, other)


def _are_one(caption: Caption, first: NounPhrase, second: NounPhrase) -> bool:
    """Two things of one name in no one-way relation, or what two such wear: nobody can say which is which."""
    pairs = [(first, second), tuple(_wearer(caption, phrase) for phrase in (first, second))]
    for one, other in pairs:
        if one is None or other is None or one == other:
            continue
        if caption.units[one.head].lemma == caption.units[other.head].lemma and are_alike(caption, one, other):
            return True
    return False


def _wearer(caption: Caption, phrase: NounPhrase) -> NounPhrase | None:
    """The person or animal named last before a garment, or a bare colour."""
    if not (is_garment(caption.units[phrase.head].lemma) or caption.units[phrase.head].word in COLOURS):
        return None
    before = [p for p in caption.phrases if p.end <= phrase.start and is_animate(caption.units[p.head].lemma)]
    return before[-1] if before else None


def _makes_odd_hair(caption: Caption, new: dict[NounPhrase, frozenset[str]]) -> bool:
    return any(
        caption.units[phrase.head].lemma in {"hair", "haired", "beard"} and bool((words & COLOURS) - _HAIR)
        for phrase, words in new.items()
    )


def _inflected(caption: Caption, one: NounPhrase, other: NounPhrase) -> Exchange | None:
    """Two nouns of different number, each in the number of the place it takes: two cats and a dog."""
    text, units = caption.text, caption.units
    heads = units[one.head], units[other.head]
    if text.isupper() or not all(_is_countable(head) for head in heads):
        return None
    into = [
        like(at.text, inflect(_noun(new), "NNS") if caption.is_plural(phrase) else _noun(new))
        for phrase, at, new in ((one, heads[0], heads[1]), (other, heads[1], heads[0]))
    ]
    spans = [(head.start, head.end) for head in heads]
    a, b, c, d = *spans[0], *spans[1]
    to = into[0] + article_before(text[b:c], into[1]) + into[1]
    before = article_before(text[:a], into[0])
    made = edited(text, "negative", "swap", "relation", (a, d), to, "rules", before + to + text[d:])
    return _exchange(made, "noun", spans, into)


def _is_countable(unit: Unit) -> bool:
    """Whether the noun has a singular and a plural: no luggage, scissors, cattle."""
    noun = _noun(unit)
    return noun not in members("@mass") and not noun.endswith("s") and inflect(noun, "NNS") != noun


def _names_a_thing(caption: Caption, phrase: NounPhrase) -> bool:
    head = caption.units[phrase.head]
    after = caption.units[phrase.end] if phrase.end < len(caption.units) else None
    if phrase.start > 1 and caption.units[phrase.start - 1].word == "of":
        return False  # a group of pigeons, a plate of food
    if head.lemma in NO_THING | COLLECTIVES or caption.is_name(phrase.head):
        return False
    return after is None or not (after.pos == "POS" or after.word == "of" or after.word.startswith("-"))


def _coloured(caption: Caption) -> Iterator[NounPhrase]:
    """Phrases, and a colour that stands alone: "in red", "the bus is blue"."""
    yield from (phrase for phrase in caption.phrases if not caption.is_name(phrase.head))
    for place, unit in enumerate(caption.units):
        alone = place and place not in caption.phrase_at and caption.units[place - 1].word not in _ONE  # "an orange"
        if unit.word in COLOURS and alone:
            yield NounPhrase(place, place, place)


def _qualities(caption: Caption, phrase: NounPhrase) -> Iterator[tuple[str, tuple[int, int]]]:
    """The units that say how something is: its colour (of several words), each other adjective, all of them."""
    units = caption.units
    if units[phrase.head].word in COLOURS and phrase.start == phrase.head:
        yield "colour", (phrase.head, phrase.end)
        return
    inside = range(phrase.core, phrase.head)
    if any(caption.is_name(place) for place in inside):
        return
    colours = [place for place in inside if units[place].word in COLOURS]
    if colours and all(units[p].word in COLOURS | _JOINS for p in range(colours[0], colours[-1] + 1)):
        shaded = colours[0] > phrase.core and units[colours[0] - 1].word in _SHADES
        yield "colour", (colours[0] - shaded, colours[-1] + 1)
    for place in inside:
        if units[place].kind == "adjective" and place not in colours and units[place].word not in _SHADES:
            yield "other", (place, place + 1)
    if len(inside) > 1 and all(units[place].kind == "adjective" for place in inside):
        yield "all", (phrase.core, phrase.head)


def _words(caption: Caption, span: tuple[int, int]) -> frozenset[str]:
    return frozenset(unit.word for unit in caption.units[slice(*span)])


def _exchanged(caption: Caption, sort: Sort, one: tuple[int, int], other: tuple[int, int]) -> Exchange:
    first, second = sorted((one, other))
    spans = [(caption.units[a].start, caption.units[b - 1].end) for a, b in (first, second)]
    texts = [caption.text[slice(*span)] for span in spans]
    return _exchange(swapped(caption, first, second, _TARGETS[sort]), sort, spans, texts[::-1])


def _agrees(caption: Caption, first: NounPhrase) -> bool:
    """No verb but the one right after the first phrase has to change with its number; a SHOUTED one is left alone."""
    return not caption.text.isupper() and all(
        place == first.end for place, unit in enumerate(caption.units) if _is_finite(unit)
    )


def _is_finite(unit: Unit) -> bool:
    return unit.word in _AGREE or (unit.kind == "verb" and unit.pos in {"VBZ", "VBP"})


def _other_number(verb: Unit) -> str:
    return _AGREE.get(verb.word) or (verb.lemma if verb.pos == "VBZ" else inflect(verb.lemma, "VBZ"))


def _with_numbers(caption: Caption, first: NounPhrase, second: NounPhrase) -> Exchange | None:
    """Both phrases with the number of the other; articles, plurals and a verb right after the first follow."""
    text, units = caption.text, caption.units
    starts = units[first.start].word, units[second.start].word
    if starts[0] == starts[1] or not all(word in _ONE | _SEVERAL for word in starts) or set(starts) <= _ONE:
        return None
    if not caption.words.isdisjoint(_POINTS) or _is_told_otherwise(caption, first, second):
        return None
    joined = [unit.word for unit in units[first.end : second.start]] == ["and"]  # two men and a woman pose
    if text.isupper() or (not joined and not _agrees(caption, first)):
        return None
    if any(phrase.core - phrase.start != 1 or not _is_countable(units[phrase.head]) for phrase in (first, second)):
        return None
    written = []
    for mine, other in ((first, second), (second, first)):
        number, head = units[other.start].word, units[mine.head]
        middle = text[units[mine.core].start : head.start]
        noun = _noun(head) if number in _ONE else inflect(_noun(head), "NNS")
        if number in {"a", "an"}:
            number = article_for((middle or noun).split()[0])
        written.append(like(units[mine.start].text, f"{number} {middle}{noun}"))
    a, b = units[first.start].start, units[first.head].end
    c, d = units[second.start].start, units[second.head].end
    between, verb = text[b:c], units[first.end]
    if _is_finite(verb) and {starts[0] in _ONE, starts[1] in _ONE} == {True, False}:
        between = text[b : verb.start] + _other_number(verb) + text[verb.end : c]
    to = written[0] + between + written[1]
    made = edited(text, "negative", "swap", "attribute", (a, d), to, "rules", text[:a] + to + text[d:])
    return _exchange(made, "number", [(a, b), (c, d)], written)


def _is_told_otherwise(caption: Caption, *phrases: NounPhrase) -> bool:
    """Another caption sees one of the two things in the other number."""
    for phrase in phrases:
        noun, mine = _noun(caption.units[phrase.head]), caption.is_plural(phrase)
        for text in caption.others:
            words = [word.strip(".,") for word in text.lower().split()]
            if (noun if mine else inflect(noun, "NNS")) in words:
                return True
    return False


def _noun(unit: Unit) -> str:
    """The singular: of "people" it is another word."""
    return "person" if unit.lemma == "people" else unit.lemma


def prepare_swaps(captions: Sequence[Caption]) -> None:
    """Judge the swaps of all captions at once, and keep them with each caption."""
    captions = [caption for caption in captions if "swaps" not in caption.kept]
    found = [list(exchanges(caption)) for caption in captions]
    pairs = [[each.pair for each in listed] for listed in found]
    asked = list(zip(readings_of(captions), pairs, strict=True))
    for caption, listed, chances in zip(captions, found, swaps(asked), strict=True):
        caption.kept["swaps"] = listed, chances


def swap_judged(
    caption: Caption, sources: Sequence[Source], rng: random.Random, dial: Dial
) -> Iterator[Candidate | Refused]:
    """Two qualities, numbers, nouns or phrases change places; drawn by how likely they are to pass."""
    if "swaps" not in caption.kept:
        prepare_swaps([caption])
    found, chances = caption.kept["swaps"]
    if not found:
        yield Refused("the caption does not name two things that could change places")
        return
    passed = [place for place in range(len(found)) if dial.passes("swap", float(chances[place, 0]))]
    for place in weighted_order([float(chances[at, 0]) for at in passed], rng):
        at = passed[place]
        yield found[at].candidate._replace(expected=accepted("swap", float(chances[at, 0])))
    if not passed:
        best = max(chances, key=lambda row: float(row[0]))
        yield Refused(f"no two words of this caption are sure enough in each other's place: the likeliest {why(best)}")
