"""Pairs of a caption that could change places: two qualities, two numbers, two nouns.

Two numbers: "a man with two dogs" becomes "two men with a dog". The judge says whether a swap makes sense; most do not.
Left out here are pairs that cannot be written (names, parts of a compound, "side" and "top"), that a new number would
break ("a woman wearing hats", "two men together"), and that say the same both ways, which the judge often overlooks: "a
girl in white beside a girl in blue", "a rhino near an elephant".
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import Literal, NamedTuple

from equipoise.data.items import Target
from equipoise.language.caption import COLLECTIVES, Caption, Kept, NounPhrase, Unit
from equipoise.language.forms import article_before, article_for, inflect, like
from equipoise.language.plausibility import COLOURS
from equipoise.language.vocabulary import members, word_set
from equipoise.language.wordnet import is_animate, is_garment, is_person, is_thing, same_sort, sets_of
from equipoise.perturb.dial import Dial, accepted
from equipoise.perturb.judge import SORTS, Pair, readings_of, swaps
from equipoise.perturb.operations.replace import why
from equipoise.perturb.operations.swap_negative import MUTUAL, NO_THING, are_alike, is_symmetric, swapped
from equipoise.perturb.recipe import Candidate, Made, Refused, Sources, edited

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
    traits: str = ""  # of a number swap, see `_traits`


def exchange(candidate: Candidate, sort: Sort, spans: list[Span], into: list[str]) -> Exchange:
    return Exchange(candidate, Pair(SORTS.index(sort), spans[0], spans[1], into[0], into[1]))


class Count(NamedTuple):
    """A counted noun: the units of "a", "two", "a couple of" or a bare plural, and of the noun."""

    start: int
    core: int
    head: int
    words: str
    several: bool
    noun: str


def noun_of(unit: Unit) -> str:
    """The singular; "person" for "people"."""
    return "person" if unit.lemma == "people" else unit.lemma


def is_countable(unit: Unit) -> bool:
    """Whether the noun has a singular and a plural: no luggage, scissors, cattle."""
    noun = noun_of(unit)
    return noun not in members("@mass") and not noun.endswith(("ss", "rs", "ts")) and inflect(noun, "NNS") != noun


def _counted(caption: Caption, phrase: NounPhrase) -> Count | None:
    units, head = caption.units, caption.units[phrase.head]
    after = caption.unit_at(phrase.end)
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
    counts = [count for phrase in caption.phrases if (count := _counted(caption, phrase))]
    for first, second in itertools.combinations(counts, 2):
        exact = first.words != second.words and {first.words, second.words} <= _EXACT
        if first.several == second.several and not exact:
            continue
        if first.noun == second.noun and caption.words_of(first.core, first.head) == caption.words_of(
            second.core, second.head
        ):
            continue
        plural_elsewhere = any(_is_named_several(caption, count) for count in (first, second) if not count.several)
        if (
            not plural_elsewhere
            and _can_change(caption, first, second)
            and (swap := _numbers_exchanged(caption, first, second))
        ):
            yield swap._replace(traits=_traits(caption, first, second))


def _traits(caption: Caption, first: Count, second: Count) -> str:
    """The traits of a number swap that readers accept more or less often: "two", a bare plural, an action on the second
    thing ("holding"), a second thing that the first has or that continues a list."""
    link, several = caption.units[second.start - 1], first if first.several else second
    direct = not any(unit.kind == "noun" for unit in caption.units[first.head + 1 : second.start])
    own = (link.word == "with" and direct) or (link.word in {"and", ","} and not direct)
    traits = {"two": several.words == "two", "bare": not several.words, "doing": link.kind == "verb", "own": own}
    return " ".join(word for word, holds in traits.items() if holds)


def _can_change(caption: Caption, first: Count, second: Count) -> bool:
    """Whether the numbers can change. The judge overlooks things of which each of several has one, and pairs."""
    units = caption.units
    between = units[first.head + 1 : second.start]
    if not between or not caption.words.isdisjoint(_ALONE | _TOGETHER | {"as", "or"}):
        return False
    if any(
        is_garment(count.noun) or not _PARTS.isdisjoint((count.noun, count.noun.split()[-1]))
        for count in (first, second)
    ):
        return False
    if any(unit.kind == "verb" and unit.lemma in _DONE_BY_EACH for unit in units) or _names_a_mount(caption):
        return False
    links = [between[-1].word] + [units[first.start - 1].word] * (first.start > 0 and not first.several)
    if any(link in _WITHIN or link.endswith(("middle of", "midst of")) for link in links):
        return False  # a person on benches, a cat on two benches by a window
    if any(
        not count.several and (count.noun in _PLACES or sets_of(count.noun) & _SURROUNDINGS)
        for count in (first, second)
    ):
        return False  # fields
    nouns = [noun_of(units[phrase.head]) for phrase in caption.phrases]
    if first.noun != second.noun and any(nouns.count(count.noun) > 1 for count in (first, second)):
        return False
    after = itertools.pairwise(units[max(0, first.start - 2) : second.start])
    if any(unit.pos == "VBN" and link.word in {"with", "by"} for unit, link in after):
        return False  # filled with, led by
    others = [phrase for phrase in caption.phrases if phrase.head not in {first.head, second.head}]
    return not any(_goes_along(caption, phrase, first) for phrase in others)


def _names_a_mount(caption: Caption) -> bool:
    """Whether something is ridden: a man on a horse."""
    ridden = [phrase for phrase in caption.phrases if sets_of(caption.units[phrase.head].lemma) & _RIDDEN]
    return any(caption.units[phrase.start - 1].word == "on" for phrase in ridden)


def _goes_along(caption: Caption, phrase: NounPhrase, first: Count) -> bool:
    """Whether each of several has one (two men holding rackets, a man holding a racket), or "and" joins a bare noun."""
    before, noun = caption.units[phrase.start - 1], caption.units[phrase.head].lemma
    if phrase.start == phrase.core and before.word == "and" and not caption.is_plural(phrase):
        return True  # a man and woman
    holding = phrase.start > first.head and before.kind == "verb" and is_thing(noun)
    return holding and caption.is_plural(phrase) == first.several


def _numbers_exchanged(caption: Caption, first: Count, second: Count) -> Exchange | None:
    text, units = caption.text, caption.units
    joined = [unit.word for unit in units[first.head + 1 : second.start]] == ["and"]  # two men and a woman pose
    finite = [place for place, unit in enumerate(units) if _is_finite(unit)]
    # Verbs that agree with the first phrase: "there is a man that is". The subjects of other verbs are not known.
    follows = first.head + 1 + (units[first.head + 1].kind == "relative")
    agree = [1, follows] if first.start == 2 and units[0].word == "there" else [follows] if first.start == 0 else []
    if not joined and not set(finite) <= set(agree):
        return None
    written = []
    for count, other in ((first, second), (second, first)):
        head = units[count.head]
        middle = text[units[count.core].start : head.start]
        if count.start == count.core and not count.start:
            middle = middle[:1].lower() + middle[1:]
        noun = inflect(count.noun, "NNS") if other.several else count.noun
        number = other.words if other.words not in {"a", "an"} else article_for((middle or noun).split()[0])
        if number.endswith("of") and not is_animate(count.noun):
            number = "several"  # hardly anybody writes of a group of cakes
        new = f"{number} {middle}{noun}".strip()
        written.append(like(units[0].text, new) if not count.start else new)
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
    candidate = edited(text, "negative", "swap", "attribute", (start, d), new[start:], "rules", new + text[d:])
    return exchange(candidate, "number", [(a, b), (c, d)], written)


def _is_finite(unit: Unit) -> bool:
    return unit.word in _AGREE or (unit.kind == "verb" and unit.pos in {"VBZ", "VBP"})


def _other_number(verb: Unit) -> str:
    return _AGREE.get(verb.word) or (verb.lemma if verb.pos == "VBZ" else inflect(verb.lemma, "VBZ"))


def _is_named_several(caption: Caption, count: Count) -> bool:
    """Whether another caption has several where the swap would. ("A person" is true of several people anyway.)"""
    several = inflect(count.noun, "NNS")
    return any(several in (word.strip(".,") for word in text.lower().split()) for text in caption.others)


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
    for first, second in itertools.combinations([p for p in caption.phrases if _names_a_thing(caption, p)], 2):
        nouns = caption.units[first.head].lemma, caption.units[second.head].lemma
        if nouns[0] == nouns[1]:
            continue
        between = caption.units[first.end : second.start]
        mutual = any(unit.kind == "verb" and unit.lemma in MUTUAL for unit in between)
        alive = is_animate(nouns[0])
        if alive != is_animate(nouns[1]) or mutual or not (alive or same_sort(*nouns)):
            continue  # a street parked on a man; boys who pass girls; a tree next to a hydrant
        alike = caption.is_plural(first) == caption.is_plural(second)
        if not alike:
            yield from filter(None, [_inflected(caption, first, second)])
        elif not is_symmetric(caption, first, second, False):
            yield _exchanged(caption, "noun", (first.head, first.end), (second.head, second.end))


def _of_qualities(caption: Caption) -> Iterator[Exchange]:
    """Swap a quality of one thing with a quality of another."""
    listed = [(phrase, span) for phrase in _coloured(caption) for span in _qualities(caption, phrase)]
    seen: set[tuple[Units, Units]] = set()
    for (phrase, first), (other_phrase, second) in itertools.combinations(listed, 2):
        words, others = (frozenset(caption.words_of(*span)) for span in (first, second))
        if phrase == other_phrase or (first, second) in seen or _say_the_same(words, others):
            continue
        places = ((phrase, first, others), (other_phrase, second, words))
        if not any(_makes_odd(caption, *place) for place in places) and not _are_one(caption, phrase, other_phrase):
            seen.add((first, second))
            yield _exchanged(caption, "quality", first, second)


def _say_the_same(words: frozenset[str], others: frozenset[str]) -> bool:
    """Whether the swap would say the same: beige and tan, or a nice pink and pink."""
    plain = [frozenset(_ALIKE.get(word, word) for word in group) for group in (words, others)]
    return plain[0] == plain[1] or bool(plain[0] & plain[1] and (plain[0] ^ plain[1]) - COLOURS - _JOINS)


def _rest(caption: Caption, phrase: NounPhrase, span: Units) -> frozenset[str]:
    """The words of a phrase that stay."""
    words = frozenset(caption.words_of(phrase.start, span[0]) + caption.words_of(span[1], phrase.end))
    return words | {word for word in ("gray", "grey") if words & {"gray", "grey"}}


def _are_one(caption: Caption, first: NounPhrase, second: NounPhrase) -> bool:
    """Whether nobody can say which is which: two things of one name in no one-way relation, or the clothes of two."""
    pairs = [(first, second), tuple(_wearer(caption, phrase) for phrase in (first, second))]
    for left, right in pairs:
        if left is None or right is None or left == right:
            continue
        same = caption.units[left.head].lemma == caption.units[right.head].lemma
        if same and caption.is_plural(left) == caption.is_plural(right) and are_alike(caption, left, right):
            return True
    return False


def _wearer(caption: Caption, phrase: NounPhrase) -> NounPhrase | None:
    """The person or animal named last before a garment, or a bare colour."""
    if not (is_garment(caption.units[phrase.head].lemma) or caption.units[phrase.head].word in COLOURS):
        return None
    before = [p for p in caption.phrases if p.end <= phrase.start and is_animate(caption.units[p.head].lemma)]
    return before[-1] if before else None


def _makes_odd(caption: Caption, phrase: NounPhrase, span: Units, new: frozenset[str]) -> bool:
    """Whether the swap makes an odd phrase: a white and white cat, green hair, a yellow horse, black flowers."""
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


def _inflected(caption: Caption, first: NounPhrase, second: NounPhrase) -> Exchange | None:
    """Two nouns of different number, each in the number of the place it takes: two cats and a dog."""
    text, units = caption.text, caption.units
    heads = units[first.head], units[second.head]
    if text.isupper() or not all(is_countable(head) for head in heads):
        return None
    into = [
        like(at.text, inflect(noun_of(new), "NNS") if caption.is_plural(phrase) else noun_of(new))
        for phrase, at, new in ((first, heads[0], heads[1]), (second, heads[1], heads[0]))
    ]
    spans = [(head.start, head.end) for head in heads]
    a, b, c, d = *spans[0], *spans[1]
    to = into[0] + article_before(text[b:c], into[1]) + into[1]
    before = article_before(text[:a], into[0])
    candidate = edited(text, "negative", "swap", "relation", (a, d), to, "rules", before + to + text[d:])
    return exchange(candidate, "noun", spans, into)


def _names_a_thing(caption: Caption, phrase: NounPhrase) -> bool:
    head = caption.units[phrase.head]
    after = caption.unit_at(phrase.end)
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
    """The spans of a thing's qualities: its colour (of several words), each adjective, all adjectives."""
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


def _exchanged(caption: Caption, sort: Sort, units: Units, other_units: Units) -> Exchange:
    first, second = sorted((units, other_units))
    spans = [(caption.units[a].start, caption.units[b - 1].end) for a, b in (first, second)]
    texts = [caption.text[slice(*span)] for span in spans]
    return exchange(swapped(caption, first, second, _TARGETS[sort]), sort, spans, texts[::-1])


def prepare_swaps(captions: Sequence[Caption]) -> None:
    """Judge the swaps of all captions at once, and keep them with each caption."""
    captions = [caption for caption in captions if _JUDGED.get(caption) is None]
    all_exchanges = [list(exchanges(caption)) for caption in captions]
    pairs = [[item.pair for item in listed] for listed in all_exchanges]
    requests = list(zip(readings_of(captions), pairs, strict=True))
    for caption, listed, chances in zip(captions, all_exchanges, swaps(requests), strict=True):
        _JUDGED.put(caption, (listed, chances.tolist()))


_JUDGED: Kept[tuple[list[Exchange], list[list[float]]]] = Kept()


def swaps_of(caption: Caption) -> tuple[list[Exchange], list[list[float]]]:
    """The exchanges, and the VERDICTS of each."""
    if _JUDGED.get(caption) is None:
        prepare_swaps([caption])
    return _JUDGED.get(caption) or ([], [])


def kind_of_swap(exchange: Exchange) -> str:
    """The kind of a swap in the calibration."""
    return f"swap {SORTS[exchange.pair.sort]} {exchange.traits}".rstrip()


def swap_judged(caption: Caption, sources: Sources, rng: random.Random, dial: Dial) -> Made:
    """Two qualities, numbers or nouns change places; the likeliest to pass come first."""
    listed, chances = swaps_of(caption)
    if not listed:
        yield Refused("the caption does not name two things that could change places")
        return
    likely = {
        item.candidate: accepted(kind_of_swap(item), row[0])
        for item, row in zip(listed, chances, strict=True)
        if row[0] >= dial.least(kind_of_swap(item))
    }
    for candidate in sorted(likely, key=likely.__getitem__, reverse=True):
        yield candidate._replace(expected=likely[candidate])
    if not likely:
        best = why(max(chances, key=itemgetter(0)))
        yield Refused(f"no two words of this caption are sure enough in each other's place: the likeliest {best}")
