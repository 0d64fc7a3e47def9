"""Words that a learned net proposes: of all nouns and verbs that captions have, the likeliest for a place.

Lists name words that surely exclude each other, and know little of what is plausible in a place; the net uses no list.
All words of a kind are ranked for each place, and the first of them offered.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from equipoise.language.caption import COLLECTIVES, Caption, Kept, Unit
from equipoise.language.forms import inflect
from equipoise.language.vocabulary import Section, count, members, word_set
from equipoise.language.wordnet import is_person
from equipoise.perturb.judge import UNKNOWN, Array, find_places, net, product, reading_of, readings_of, words_of
from equipoise.perturb.recipe import Proposal, Source

_HE, _SHE, _ITS = (frozenset(words.split()) for words in ("he his him himself", "she her hers herself", "its"))
_MALE, _FEMALE = word_set("male nouns"), word_set("female nouns")
Mask = NDArray[np.bool_]
OFFERED: tuple[Section, ...] = ("object", "action")
_LEAST = 0.5  # a rank: 98 in 100 of the words that pass the judge have more, one in ten of all words


class _Words(NamedTuple):
    """All words of a kind, in one form."""

    lemmas: list[str]
    forms: list[str]
    vectors: Array  # a column each
    bias: Array
    weights: list[float]
    people: Mask
    male: Mask
    female: Mask


@functools.cache
def _words(pos: str) -> _Words:
    model = net()
    lemmas = list(model.nouns if pos.startswith("NN") else model.verbs)
    if pos == "NNS":
        lemmas = [word for word in lemmas if word not in members("@mass")]
    forms = [inflect(word, pos) for word in lemmas]
    vectors = np.stack([model.vector(words_of(form)) for form in forms])
    places = [[model.ids.get(word, UNKNOWN) for word in words_of(form)] for form in forms]
    bias = np.array([model.weights["firstb.weight"][ids, 0].mean() for ids in places], np.float32)
    weights = [float(count(form)) ** 0.25 for form in forms]
    kinds = (_is_of_people, _MALE.__contains__, _FEMALE.__contains__)
    masks = (np.array([kind(lemma) for lemma in lemmas]) for kind in kinds)
    return _Words(lemmas, forms, np.ascontiguousarray(vectors.T), bias, weights, *masks)


class Fillers(Source):
    """Contrasts of things and actions; they must be judged, since half of them are bad."""

    name = "judge"

    def contrasts(self, caption: Caption, target: Section) -> Iterator[Proposal]:
        if target not in OFFERED:
            return iter(())
        return iter(_OFFERED.once(caption, lambda: offer([caption])[0])[target])


_OFFERED: Kept[dict[Section, list[Proposal]]] = Kept()


def offer(captions: Sequence[Caption]) -> list[dict[Section, list[Proposal]]]:
    """Rank words for all places of the captions, and keep each caption's offers with it."""
    every = [_OFFERED.put(caption, {target: [] for target in OFFERED}) for caption in captions]
    requests: list[tuple[Caption, list[Proposal], Section, Unit, str, tuple[int, int]]] = []
    for caption, reading, offered in zip(captions, readings_of(captions), every, strict=True):
        for target in OFFERED:
            for unit, pos in _places(caption, target):
                where = reading.words_at(unit.start, unit.end)
                if where is not None and reading.knows(where):
                    requests.append((caption, offered[target], target, unit, pos, where))
    find_places([(reading_of(caption), [where]) for caption, *_, where in requests])
    for pos in dict.fromkeys(pos for *_, pos, _ in requests):
        same_form, words = [request for request in requests if request[4] == pos], _words(pos)
        places = np.stack([reading_of(caption).places[where].rank for caption, *_, where in same_form])
        likely = product(places, words.vectors) + words.bias >= _LEAST
        for (caption, listed, target, unit, *_), mask in zip(same_form, likely, strict=True):
            for row in np.flatnonzero(_fitting(caption, unit, words, mask)).tolist():
                lemma, to = words.lemmas[row], words.forms[row]
                if lemma not in caption.words and lemma not in caption.other_words and to != unit.word:
                    new = Proposal(unit.start, unit.end, to, target, Fillers.name, words.weights[row], "wide")
                    listed.append(new)
    for offered in every:
        for listed in offered.values():
            listed.sort(key=lambda proposal: proposal.start)  # in any company in the same order
    return every


def _fitting(caption: Caption, unit: Unit, words: _Words, mask: Mask) -> Mask:
    """The mask without words that do not go with a pronoun that may mean the old noun: a man and "her" dog."""
    said = caption.words
    he, she, its = (not listed.isdisjoint(said) for listed in (_HE, _SHE, _ITS))
    if (he or she) and _is_of_people(unit.lemma):
        mask = mask & words.people
    if its and not is_person(unit.lemma):
        mask = mask & ~words.people
    if she:
        mask = mask & ~words.male
    return mask & ~(words.female & ~words.male) if he else mask


def _is_of_people(lemma: str) -> bool:
    return is_person(lemma) or lemma in _MALE or lemma in _FEMALE


def _places(caption: Caption, target: Section) -> Iterator[tuple[Unit, str]]:
    """The nouns that are not part of another, or the verbs; each with the form that a new word must have."""
    units = caption.units
    for place, unit in enumerate(units):
        if target == "action" and unit.kind == "verb":
            yield unit, unit.pos
        if target != "object" or unit.kind != "noun" or caption.is_name(place) or unit.lemma in COLLECTIVES:
            continue
        after = caption.unit_at(place + 1)
        if after is not None and (after.kind == "noun" or after.pos == "POS" or after.word.startswith("-")):
            continue
        yield unit, "NNS" if unit.pos in {"NNS", "NNPS"} else "NN"
