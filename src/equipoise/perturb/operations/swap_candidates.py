"""What could change places in a caption: two qualities, two numbers, two nouns.

Whether a swap makes sense the judge tells: most do not. Left out here is what cannot be written
(names, parts of a compound, "side" and "top"), and what says the same both ways, which the judge often overlooks: "a
girl in white beside a girl in blue", "a rhino near an elephant".
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from operator import itemgetter

from equipoise.data.items import Target
from equipoise.language.caption import COLLECTIVES, Caption, NounPhrase
from equipoise.language.forms import article_before, inflect, like
from equipoise.language.plausibility import COLOURS
from equipoise.language.vocabulary import word_set
from equipoise.language.wordnet import is_animate, is_garment, is_person, same_sort, sets_of
from equipoise.perturb.dial import Dial, accepted
from equipoise.perturb.judge import SORTS, readings_of, swaps
from equipoise.perturb.operations.counts import ONE, Exchange, Sort, exchange, is_countable, noun_of, number_exchanges
from equipoise.perturb.operations.replace import why
from equipoise.perturb.operations.swap_negative import MUTUAL, NO_THING, are_alike, is_symmetric, swapped
from equipoise.perturb.recipe import Made, Refused, Sources, edited

Units = tuple[int, int]  # the first, and after the last
_TARGETS: dict[Sort, Target] = {"quality": "attribute", "number": "attribute", "noun": "relation"}
_SHADES = frozenset(("dark", "light", "bright", "neon"))
_HAIR = word_set("hair colours")
_ALIKE = {"grey": "gray", "silver": "gray", "tan": "beige", "cream": "beige", "golden": "yellow", "gold": "yellow"}
_NATURAL, _FLOWERS = word_set("natural things"), frozenset(("flower", "rose", "daisy", "tulip"))
_NO_FUR = COLOURS - word_set("hair colours") - {"orange"} | {"red"}
_JOINS = frozenset(("and", ",", "&"))


def exchanges(caption: Caption) -> Iterator[Exchange]:
    yield from _of_qualities(caption)
    yield from number_exchanges(caption)
    for one, other in itertools.combinations([p for p in caption.phrases if _names_a_thing(caption, p)], 2):
        nouns = caption.units[one.head].lemma, caption.units[other.head].lemma
        if nouns[0] == nouns[1]:
            continue
        between = caption.units[one.end : other.start]
        mutual = any(unit.kind == "verb" and unit.lemma in MUTUAL for unit in between)
        alive = is_animate(nouns[0])
        if alive != is_animate(nouns[1]) or mutual or not (alive or same_sort(*nouns)):
            continue  # a street parked on a man; boys who pass girls; a tree next to a hydrant
        alike = caption.is_plural(one) == caption.is_plural(other)
        if not alike:
            yield from filter(None, [_inflected(caption, one, other)])
        elif not is_symmetric(caption, one, other, False):
            yield _exchanged(caption, "noun", (one.head, one.end), (other.head, other.end))


def _of_qualities(caption: Caption) -> Iterator[Exchange]:
    """What is said of one thing with what is said of another."""
    listed = [(phrase, found) for phrase in _coloured(caption) for found in _qualities(caption, phrase)]
    seen: set[tuple[Units, Units]] = set()
    for (phrase, one), (other_phrase, other) in itertools.combinations(listed, 2):
        words, others = (_words(caption, span) for span in (one, other))
        if phrase == other_phrase or (one, other) in seen or _say_the_same(words, others):
            continue
        places = ((phrase, one, others), (other_phrase, other, words))
        if not any(_makes_odd(caption, *place) for place in places) and not _are_one(caption, phrase, other_phrase):
            seen.add((one, other))
            yield _exchanged(caption, "quality", one, other)


def _say_the_same(words: frozenset[str], others: frozenset[str]) -> bool:
    """Beige and tan, or a nice pink and pink."""
    two = [frozenset(_ALIKE.get(word, word) for word in each) for each in (words, others)]
    return two[0] == two[1] or bool(two[0] & two[1] and (two[0] ^ two[1]) - COLOURS - _JOINS)


def _rest(caption: Caption, phrase: NounPhrase, span: Units) -> frozenset[str]:
    """The words of a phrase that stay."""
    words = _words(caption, (phrase.start, span[0])) | _words(caption, (span[1], phrase.end))
    return words | {other for other in ("gray", "grey") if words & {"gray", "grey"}}


def _are_one(caption: Caption, first: NounPhrase, second: NounPhrase) -> bool:
    """Two things of one name in no one-way relation, or what two such wear: nobody can say which is which."""
    pairs = [(first, second), tuple(_wearer(caption, phrase) for phrase in (first, second))]
    for one, other in pairs:
        if one is None or other is None or one == other:
            continue
        same = caption.units[one.head].lemma == caption.units[other.head].lemma
        if same and caption.is_plural(one) == caption.is_plural(other) and are_alike(caption, one, other):
            return True
    return False


def _wearer(caption: Caption, phrase: NounPhrase) -> NounPhrase | None:
    """The person or animal named last before a garment, or a bare colour."""
    if not (is_garment(caption.units[phrase.head].lemma) or caption.units[phrase.head].word in COLOURS):
        return None
    before = [p for p in caption.phrases if p.end <= phrase.start and is_animate(caption.units[p.head].lemma)]
    return before[-1] if before else None


def _makes_odd(caption: Caption, phrase: NounPhrase, span: Units, new: frozenset[str]) -> bool:
    """A white and white cat, green hair, a yellow horse, a white traffic light, black flowers."""
    noun, rest, colours = caption.units[phrase.head].lemma, _rest(caption, phrase, span), new & COLOURS
    if new & rest or (rest & _JOINS and not new <= COLOURS | _JOINS):
        return True
    if noun in {"hair", "haired", "beard"}:
        return bool(colours - _HAIR)
    if noun.split()[-1] in {"light", "signal", "stoplight"} or noun == "stop sign":
        return bool(colours - {"red", "green", "yellow"})
    if noun in _FLOWERS:
        return not colours.isdisjoint(("black", "brown", "gray", "grey", "green", "blue"))
    beast = is_animate(noun) and not is_person(noun) and "bird-kind" not in sets_of(noun)
    return (beast and not colours.isdisjoint(_NO_FUR)) or (noun in _NATURAL and bool(colours))


def _inflected(caption: Caption, one: NounPhrase, other: NounPhrase) -> Exchange | None:
    """Two nouns of different number, each in the number of the place it takes: two cats and a dog."""
    text, units = caption.text, caption.units
    heads = units[one.head], units[other.head]
    if text.isupper() or not all(is_countable(head) for head in heads):
        return None
    into = [
        like(at.text, inflect(noun_of(new), "NNS") if caption.is_plural(phrase) else noun_of(new))
        for phrase, at, new in ((one, heads[0], heads[1]), (other, heads[1], heads[0]))
    ]
    spans = [(head.start, head.end) for head in heads]
    a, b, c, d = *spans[0], *spans[1]
    to = into[0] + article_before(text[b:c], into[1]) + into[1]
    before = article_before(text[:a], into[0])
    made = edited(text, "negative", "swap", "relation", (a, d), to, "rules", before + to + text[d:])
    return exchange(made, "noun", spans, into)


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
        alone = place and place not in caption.phrase_at and caption.units[place - 1].word not in ONE  # "an orange"
        if unit.word in COLOURS and alone:
            yield NounPhrase(place, place, place)


def _qualities(caption: Caption, phrase: NounPhrase) -> Iterator[Units]:
    """What says how something is: its colour (of several words), each adjective, all of them."""
    units = caption.units
    if units[phrase.head].word in COLOURS and phrase.start == phrase.head:
        yield phrase.head, phrase.end
        return
    inside = range(phrase.core, phrase.head)
    if any(caption.is_name(place) for place in inside):
        return
    colours = [place for place in inside if units[place].word in COLOURS]
    if colours and all(units[p].word in COLOURS | _JOINS for p in range(colours[0], colours[-1] + 1)):
        shaded = colours[0] > phrase.core and units[colours[0] - 1].word in _SHADES
        yield colours[0] - shaded, colours[-1] + 1
    for place in inside:
        is_quality = units[place].kind == "adjective" or place in colours
        if is_quality and units[place].word not in _SHADES and units[place - 1].word not in _SHADES:
            yield place, place + 1
    if len(inside) > 1 and all(units[place].kind == "adjective" for place in inside):
        yield phrase.core, phrase.head


def _words(caption: Caption, span: Units) -> frozenset[str]:
    return frozenset(unit.word for unit in caption.units[slice(*span)])


def _exchanged(caption: Caption, sort: Sort, one: Units, other: Units) -> Exchange:
    first, second = sorted((one, other))
    spans = [(caption.units[a].start, caption.units[b - 1].end) for a, b in (first, second)]
    texts = [caption.text[slice(*span)] for span in spans]
    return exchange(swapped(caption, first, second, _TARGETS[sort]), sort, spans, texts[::-1])


def prepare_swaps(captions: Sequence[Caption]) -> None:
    """Judge the swaps of all captions at once, and keep them with each caption."""
    captions = [caption for caption in captions if "swaps" not in caption.kept]
    found = [list(exchanges(caption)) for caption in captions]
    pairs = [[each.pair for each in listed] for listed in found]
    asked = list(zip(readings_of(captions), pairs, strict=True))
    for caption, listed, chances in zip(captions, found, swaps(asked), strict=True):
        caption.kept["swaps"] = listed, chances.tolist()


def kind_of_swap(exchange: Exchange) -> str:
    """As the calibration counts it."""
    return f"swap {SORTS[exchange.pair.sort]} {exchange.more}".rstrip()


def swap_judged(caption: Caption, sources: Sources, rng: random.Random, dial: Dial) -> Made:
    """Two qualities, numbers or nouns change places; the likeliest to pass come first."""
    if "swaps" not in caption.kept:
        prepare_swaps([caption])
    found, chances = caption.kept["swaps"]
    if not found:
        yield Refused("the caption does not name two things that could change places")
        return
    likely = {
        each.candidate: accepted(kind_of_swap(each), row[0])
        for each, row in zip(found, chances, strict=True)
        if row[0] >= dial.least(kind_of_swap(each))
    }
    for one in sorted(likely, key=likely.__getitem__, reverse=True):
        yield one._replace(expected=likely[one])
    if not likely:
        best = why(max(chances, key=itemgetter(0)))
        yield Refused(f"no two words of this caption are sure enough in each other's place: the likeliest {best}")
