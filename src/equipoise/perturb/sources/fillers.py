"""Words that a learned net proposes: of all nouns and verbs that captions have, the likeliest for a place.

Lists name what is exclusive for sure and know little of what is plausible where; this knows no list. All words of a
kind are ranked for each place, and the first of them offered.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from equipoise.perturb.english.caption import COLLECTIVES, Caption, Unit
from equipoise.perturb.english.forms import inflect
from equipoise.perturb.english.vocabulary import Section, count, members
from equipoise.perturb.english.wordnet import is_person
from equipoise.perturb.judge import UNKNOWN, Array, net, ranks, reading_of, words_of
from equipoise.perturb.recipe import Proposal
from equipoise.perturb.sources.captions import FEMALE, HE, MALE, SHE

OFFERED = {"object": 20, "action": 12}  # for a place, of all words


class _Words(NamedTuple):
    """All words of a kind, in one form."""

    lemmas: list[str]
    forms: list[str]
    vectors: Array
    bias: Array


@functools.cache
def _words(pos: str) -> _Words:
    mine = net()
    lemmas = list(mine.nouns if pos.startswith("NN") else mine.verbs)
    if pos == "NNS":
        lemmas = [word for word in lemmas if word not in members("@mass")]
    forms = [inflect(word, pos) for word in lemmas]
    vectors = np.stack([mine.vector(words_of(form)) for form in forms])
    places = [[mine.ids.get(word, UNKNOWN) for word in words_of(form)] for form in forms]
    bias = np.array([mine.weights["firstb.weight"][ids, 0].mean() for ids in places], np.float32)
    return _Words(lemmas, forms, vectors, bias)


class Fillers:
    """Contrasts alone, of things and actions: to be judged, for half of them are bad."""

    name = "judge"

    def synonyms(self, caption: Caption, target: Section) -> Iterator[Proposal]:
        return iter(())

    def contrasts(self, caption: Caption, target: Section) -> Iterator[Proposal]:
        if target not in OFFERED:
            return
        places = list(_places(caption, target))
        if not places:
            return
        reading = reading_of(caption)
        found = [(unit, pos, reading.words_at(unit.start, unit.end)) for unit, pos in places]
        known = [(unit, pos, where) for unit, pos, where in found if where is not None and reading.knows(where)]
        if not known:
            return
        for (unit, pos, _), place in zip(known, reading.places([where for *_, where in known]), strict=True):
            words = _words(pos)
            ranked = ranks(place, words.vectors, words.bias)
            for row in np.sort(np.argpartition(-ranked, OFFERED[target])[: OFFERED[target]]):
                lemma, to = words.lemmas[row], words.forms[row]
                if lemma == unit.lemma or to == unit.word or _is_told(caption, lemma) or _parts(caption, unit, lemma):
                    continue
                yield Proposal(unit.start, unit.end, to, target, self.name, float(count(to)) ** 0.25, "wide")


def _is_told(caption: Caption, lemma: str) -> bool:
    return lemma in caption.words or lemma in caption.other_words


def _parts(caption: Caption, unit: Unit, lemma: str) -> bool:
    """Whether a pronoun that may speak of the old noun cannot speak of the new one: a man and "her" dog."""
    said = caption.words
    if is_person(lemma) or lemma in MALE | FEMALE:
        wrong = SHE if lemma in MALE else HE if lemma in FEMALE else frozenset[str]()
        return not wrong.isdisjoint(said) or ("its" in said and not is_person(unit.lemma))
    return (is_person(unit.lemma) or unit.lemma in MALE | FEMALE) and not (SHE | HE).isdisjoint(said)


def _places(caption: Caption, target: Section) -> Iterator[tuple[Unit, str]]:
    """The nouns that are no part of another, or the verbs; each with the form that a new word must have."""
    units = caption.units
    for place, unit in enumerate(units):
        if target == "action" and unit.kind == "verb":
            yield unit, unit.pos
        if target != "object" or unit.kind != "noun" or caption.is_name(place) or unit.lemma in COLLECTIVES:
            continue
        after = units[place + 1] if place + 1 < len(units) else None
        if after is not None and (after.kind == "noun" or after.pos == "POS" or after.word.startswith("-")):
            continue
        yield unit, "NNS" if unit.pos in {"NNS", "NNPS"} else "NN"
