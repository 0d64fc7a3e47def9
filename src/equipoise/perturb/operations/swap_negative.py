"""Swap two words or phrases of one type so that the caption says something else.

Sentences that mean the same after the swap are refused: phrases joined by "and" ("a cat and a dog"), phrases in a
symmetric relation ("a cat next to a dog"), and phrases that only repeat each other.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

from equipoise.data.items import Target
from equipoise.language.caption import COLLECTIVES, Caption, NounPhrase
from equipoise.language.collocations import misfit, pairs_at
from equipoise.language.forms import article_before
from equipoise.language.vocabulary import members, word_list, word_set
from equipoise.language.wordnet import is_animate, is_person, is_thing, same_sort, sets_of
from equipoise.perturb.recipe import Candidate, Sources, edited

_SYMMETRIC = word_set("symmetric relations") | {","}
NO_THING = word_set("no thing")


def swap_alike(caption: Caption, sources: Sources, rng: random.Random) -> Iterator[Candidate]:
    """Two noun phrases of a kind (two persons, two pieces of furniture), so that the result is plausible."""
    phrases = [p for p in caption.phrases if caption.units[p.head].lemma not in NO_THING]
    pairs = [(a, b) for a, b in itertools.pairwise(phrases) if _is_plausible_pair(caption, a, b)]
    pairs += _actors(caption, phrases)
    for whole in (True, False):
        yield from _in_order(caption, [pair for pair in pairs if _fit(caption, *pair, whole)], rng, whole)


def _fit(caption: Caption, first: NounPhrase, second: NounPhrase, whole: bool) -> bool:
    """Whether each noun goes with the words around the other; with a whole phrase its modifiers move along."""
    for here, incoming in ((first, second), (second, first)):
        word = caption.units[incoming.head].lemma
        for pair in pairs_at(caption, here.head, here.end):
            if not (whole and pair.relation == "modifier") and misfit(pair, word, _STRICT):
                return False
    return True


def _actors(caption: Caption, phrases: list[NounPhrase]) -> list[tuple[NounPhrase, NounPhrase]]:
    """Two persons or two animals with something of their own between them: "a man holding a cat behind a woman"."""
    if not caption.words.isdisjoint(_PRONOUNS):
        return []
    return [
        (a, b)
        for place, a in enumerate(phrases)
        for b in phrases[place + 2 :]
        if _is_plausible_pair(caption, a, b)
        and is_animate(caption.units[a.head].lemma)
        and caption.units[a.end].kind in {"verb", "be", "preposition"}
        and caption.units[b.start - 1].word not in _SYMMETRIC  # a man flying a kite with a boy: both do
        and not is_animate(caption.units[phrases[place + 1].head].lemma)
    ]


_STRICT = 2.0  # two words at once are new where they stand
_PRONOUNS = word_set("pronouns of persons")


def swap_nouns(caption: Caption, sources: Sources, rng: random.Random) -> Iterator[Candidate]:
    """CE-CLIP's relation negative: two nouns change places. Modifiers stay; number must agree."""
    phrases = [p for p in caption.phrases if caption.units[p.head].lemma not in NO_THING]
    yield from _in_order(caption, [(a, b) for a, b in itertools.pairwise(phrases)], rng, whole=False)


def swap_phrases(caption: Caption, sources: Sources, rng: random.Random) -> Iterator[Candidate]:
    """Two noun phrases with their modifiers change places, as in CREPE's and NegCLIP's swaps."""
    phrases = [p for p in caption.phrases if caption.units[p.head].lemma not in NO_THING]
    yield from _in_order(caption, [(a, b) for a, b in itertools.pairwise(phrases)], rng, whole=True)


def _in_order(
    caption: Caption, pairs: list[tuple[NounPhrase, NounPhrase]], rng: random.Random, whole: bool
) -> Iterator[Candidate]:
    rng.shuffle(pairs)
    pairs.sort(key=lambda pair: not _is_plausible_pair(caption, *pair))
    for first, second in pairs:
        if _exchangeable(caption, first, second, whole) and not is_symmetric(caption, first, second, whole):
            spans = [(each.start if whole else each.head, each.end) for each in (first, second)]
            yield swapped(caption, spans[0], spans[1], "object" if whole else "relation")


def _exchangeable(caption: Caption, first: NounPhrase, second: NounPhrase, whole: bool) -> bool:
    """Whether both are things of the same number, so that verbs, articles and pronouns still agree."""
    units = caption.units
    first_noun, second_noun = units[first.head], units[second.head]
    if first_noun.lemma == second_noun.lemma or caption.is_plural(first) != caption.is_plural(second):
        return False
    if not (is_thing(first_noun.lemma) and is_thing(second_noun.lemma)):
        return False
    inside = [units[i].word for phrase in (first, second) for i in range(phrase.start, phrase.end)]
    if any(word in {"his", "her", "its", "their", "each", "another", "other"} for word in inside):
        return False
    after = caption.unit_at(second.end)
    if after is not None and (after.pos == "POS" or after.word == "of"):
        return False
    if any(caption.is_name(phrase.head) or _is_verbal(caption, phrase) for phrase in (first, second)):
        return False
    between = units[first.end : second.start]
    if not between or any(unit.pos == "POS" or unit.word == "of" for unit in between):
        return False
    if first.start and units[first.start - 1].word == "of" and second.start != second.core:
        return False  # a couple of | some cars
    if not whole and any(
        units[here.start].word in {"a", "an"} and units[incoming.head].lemma in members("@mass")
        for here, incoming in ((first, second), (second, first))
    ):
        return False  # a winter luggage
    if second.start == second.core and units[second.start - 1].pos in {"VBG", "VBN"} and first.start != first.core:
        return False  # from neighboring | trees
    bare = [phrase.start == phrase.core for phrase in (first, second)]
    return bare[0] == bare[1] or caption.is_plural(first)


def _is_verbal(caption: Caption, phrase: NounPhrase) -> bool:
    """Whether the phrase was read too short: a half | eaten sandwich."""
    after = caption.units[phrase.end : phrase.end + 2]
    if phrase.head > phrase.core and caption.units[phrase.head].word.endswith("ing"):
        return True  # a waiter lighting | candles
    return len(after) == 2 and after[0].pos in {"VBN", "VBD"} and after[1].kind in {"noun", "adjective"}


def is_symmetric(caption: Caption, first: NounPhrase, second: NounPhrase, whole: bool) -> bool:
    units = caption.units
    between = [unit for unit in units[first.end : second.start] if unit.kind not in {"adverb", "be", "relative"}]
    links = [unit for unit in between if unit.kind != "verb" or unit.lemma not in _STATES]
    both_places = _is_place(caption, first) and _is_place(caption, second)
    if both_places and all(unit.word in {"in", "at", "on"} for unit in between):
        return True  # a wave in the ocean, a park in the city
    if any(unit.lemma in _BOTH_WAYS or unit.word.endswith(("side of", "end of")) for unit in between):
        return True  # a tower connected to a building, a hydrant on the side of the road
    if first.start and units[first.start - 1].lemma in {"ride", "drive"} and _is_place(caption, second):
        return True  # he rides a motorcycle on a road
    if {_is_desk(caption, first), _is_desk(caption, second)} == {"desk", "computer"}:
        return True  # sitting at a desk working on a computer
    if not whole and all(unit.word in {"and", ",", "or"} for unit in between):
        return True  # a tie, a shirt and a wool sweater: only the modifier would move
    if first.start and units[first.start - 1].word == units[second.start - 1].word:
        return True  # on a skateboard on the street
    if not all(unit.word in _SYMMETRIC for unit in links):
        return False
    if all(unit.word in {"and", ","} for unit in links) and second.start == second.head:
        return True  # many sweets and donuts: the modifier is shared
    return whole or caption.words_of(first.core, first.head) == caption.words_of(second.core, second.head)


def _is_desk(caption: Caption, phrase: NounPhrase) -> str:
    noun = caption.units[phrase.head].lemma
    return "desk" if noun in {"desk", "table"} else "computer" if "computer" in sets_of(noun) else ""


def _is_place(caption: Caption, phrase: NounPhrase) -> bool:
    noun = caption.units[phrase.head].lemma
    return noun in _PLACES or bool(sets_of(noun) & {"open-place", "park-like", "town-place", "yard-like"})


_PLACES, _BOTH_WAYS = word_set("places of things"), word_set("relations both ways")
# A photo does not show which of two does it, or both do: for swaps of two persons or animals.
MUTUAL = word_set("mutual actions")
_ONE_WAY, _STATES = word_set("one-way relations"), word_set("states")


def swap_attributes(caption: Caption, sources: Sources, rng: random.Random) -> Iterator[Candidate]:
    """Two qualities change places, if each fits both things: a white cat on a black car."""
    units = caption.units
    qualities: list[tuple[int, tuple[str, str], NounPhrase]] = []
    for phrase in caption.phrases:
        if units[phrase.head].lemma in NO_THING | COLLECTIVES or caption.is_name(phrase.head):
            continue
        sorts = [(place, _SORT_OF.get(units[place].word)) for place in range(phrase.start, phrase.head)]
        for place, sort in sorts:
            alone = sort is not None and sum(other is not None and other[0] == sort[0] for _, other in sorts) == 1
            if alone and sort is not None and units[place - 1].word not in {"dark", "light", "bright", "very"}:
                qualities.append((place, sort, phrase))
    pairs = [
        (a, b) for a, b in itertools.combinations(qualities, 2) if a[1][0] == b[1][0] and a[1] != b[1] and a[2] != b[2]
    ]
    rng.shuffle(pairs)
    for (first_place, _, first), (second_place, _, second) in pairs:
        same_noun = units[first.head].lemma == units[second.head].lemma
        if same_noun and (is_symmetric(caption, first, second, True) or are_alike(caption, first, second)):
            continue
        if units[second.head].word not in {"one", "ones"}:  # red flowers and white ones
            yield swapped(caption, (first_place, first_place + 1), (second_place, second_place + 1), "attribute")


def are_alike(caption: Caption, first: NounPhrase, second: NounPhrase) -> bool:
    """Whether the relation is the same both ways: a black dog playing with a brown dog."""
    between = caption.units[first.end : second.start]
    if any(unit.kind == "and" or unit.word in {",", ";", "."} for unit in between):
        return True
    links = [unit for unit in between if unit.kind in {"verb", "preposition"}]
    if any(unit.kind == "verb" and unit.lemma in MUTUAL for unit in links):
        return True
    if any(unit.word in _ONE_WAY for unit in links) and not any(unit.lemma in _BOTH_WAYS for unit in links):
        return False  # running after, standing behind
    return not links or any(unit.word in _SYMMETRIC or unit.lemma in _STATES | _BOTH_WAYS for unit in links)


# Word -> (its sort, its meaning within the sort): "a little girl with a small dessert" has nothing to swap.
_SORT_OF = {
    word: (sort, group)
    for sort, listed in (line.split(": ") for line in word_list("sorts of qualities"))
    for group in listed.split("/")
    for word in group.split()
}


def swap_spans(caption: Caption, sources: Sources, rng: random.Random) -> Iterator[Candidate]:
    """NegCLIP's swap: two noun phrases, nouns, plurals, verbs, adverbs or adjectives, drawn, change places."""
    units = caption.units
    types: dict[str, list[tuple[int, int]]] = {
        "phrase": [(p.start, p.end) for p in caption.phrases if p.end - p.start > 2],
        "NN": [], "NNS": [], "verb": [], "adverb": [], "adjective": [],
    }  # fmt: skip
    for place, unit in enumerate(units):
        if (name := unit.pos if unit.kind == "noun" else unit.kind) in types:
            types[name].append((place, place + 1))
    targets: dict[str, Target] = {"adjective": "attribute", "verb": "action", "adverb": "action"}
    for name, spans in types.items():
        pairs = list(itertools.combinations(spans, 2))
        rng.shuffle(pairs)
        for first, second in pairs:
            same = caption.text_of(*first).lower() == caption.text_of(*second).lower()
            if not same and any(unit.word not in _SYMMETRIC for unit in units[first[1] : second[0]]):
                yield swapped(caption, first, second, targets.get(name, "object"))
                break


def swap_across(caption: Caption, sources: Sources, rng: random.Random) -> Iterator[Candidate]:
    """Any two nouns with a verb or a preposition between them that is not the same both ways. Often absurd ("a stove
    with a kitchen"), and the widest swap that still says something else: members of one list never change places."""
    units = caption.units
    phrases = [p for p in caption.phrases if units[p.head].lemma not in NO_THING | COLLECTIVES]
    pairs = list(itertools.combinations([p for p in phrases if not caption.is_name(p.head)], 2))
    rng.shuffle(pairs)
    for first, second in pairs:
        counted = any(units[phrase.start].word in {"a", "an"} for phrase in (first, second))
        if counted and caption.is_plural(first) != caption.is_plural(second):
            continue  # a dogs
        if units[first.head].lemma != units[second.head].lemma and _are_apart(caption, first, second):
            yield swapped(caption, (first.head, first.end), (second.head, second.end), "object")


def _are_apart(caption: Caption, first: NounPhrase, second: NounPhrase) -> bool:
    between = [unit for unit in caption.units[first.end : second.head] if unit.kind in {"verb", "preposition"}]
    same = _SYMMETRIC | {"of"}
    if any(unit.word not in same and unit.lemma not in _STATES | _BOTH_WAYS for unit in between):
        return True
    if not any(unit.word == "with" for unit in between):
        return False
    first_noun, second_noun = (
        caption.units[first.head].lemma,
        caption.units[second.head].lemma,
    )  # a bathroom with a toilet
    return not same_sort(first_noun, second_noun) or ("room" in sets_of(first_noun)) != ("room" in sets_of(second_noun))


def _is_plausible_pair(caption: Caption, first: NounPhrase, second: NounPhrase) -> bool:
    """Whether both are persons, animals or things: "a horse riding a man" can at least be drawn."""
    first_noun, second_noun = caption.units[first.head].lemma, caption.units[second.head].lemma
    return is_person(first_noun) == is_person(second_noun) and same_sort(first_noun, second_noun)


def swapped(caption: Caption, first: tuple[int, int], second: tuple[int, int], target: Target) -> Candidate:
    text, units = caption.text, caption.units
    a, b = units[first[0]].start, units[first[1] - 1].end
    c, d = units[second[0]].start, units[second[1] - 1].end
    first_text, second_text = text[a:b], text[c:d]
    if first[0] == 0 and first_text[:1].isupper() and not first_text.isupper() and units[0].pos != "NNP":
        first_text = first_text[:1].lower() + first_text[1:]
        second_text = second_text[:1].upper() + second_text[1:]
    elif first_text.isupper() and len(first_text) == 1:
        first_text = first_text.lower()
    pieces = [text[:a], second_text, text[b:c], first_text, text[d:]]
    pieces[0] = article_before(pieces[0], second_text)
    pieces[2] = article_before(pieces[2], first_text)
    to = "".join(pieces[1:4])
    return edited(text, "negative", "swap", target, (a, d), to, "rules", "".join(pieces))
