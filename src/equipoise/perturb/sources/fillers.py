"""Words that a learned net proposes: of all nouns and verbs that captions have, the likeliest for a place.

Lists name what is exclusive for sure and know little of what is plausible where; this knows no list. All words of a
kind are ranked for each place, the first of them judged, and those offered that a strict reader would likely pass.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from equipoise.perturb.english.caption import COLLECTIVES, Caption, Unit
from equipoise.perturb.english.forms import inflect
from equipoise.perturb.english.noun_classes import is_person
from equipoise.perturb.english.word_lists import Section, count, members
from equipoise.perturb.proposer import net
from equipoise.perturb.proposer.net import Array
from equipoise.perturb.proposer.reading import reading_of, words_of
from equipoise.perturb.sources.base import Proposal

JUDGED = {"object": 20, "action": 12}  # for a place, of all words
_SHE = frozenset("she her hers herself".split())
_HE = frozenset("he his him himself".split())
_MALE = frozenset("man boy guy gentleman male father dad son brother husband grandfather groom policeman lad".split())
_FEMALE = frozenset("woman girl lady female mother mom daughter sister wife grandmother bride policewoman".split())


class _Words(NamedTuple):
    """All words of a kind, in one form."""

    lemmas: list[str]
    forms: list[str]
    vectors: Array
    bias: Array


@functools.cache
def _words(pos: str) -> _Words:
    mine = net.net()
    lemmas = list(mine.nouns if pos.startswith("NN") else mine.verbs)
    if pos == "NNS":
        lemmas = [word for word in lemmas if word not in members("@mass")]
    forms = [inflect(word, pos) for word in lemmas]
    vectors = np.stack([mine.vector(words_of(form)) for form in forms])
    places = [[mine.ids.get(word, net.UNKNOWN) for word in words_of(form)] for form in forms]
    bias = np.array([mine.weights["firstb.weight"][ids, 0].mean() for ids in places], np.float32)
    return _Words(lemmas, forms, vectors, bias)


class Fillers:
    """Contrasts alone, of things and actions, each as likely to pass as `least` asks."""

    name = "proposer"

    def __init__(self, least: Mapping[str, float]) -> None:
        self._least = least

    def synonyms(self, caption: Caption, target: Section) -> Iterator[Proposal]:
        return iter(())

    def contrasts(self, caption: Caption, target: Section) -> Iterator[Proposal]:
        found = list(_ranked(caption, target)) if target in JUDGED else []
        if not found:
            return
        reading = reading_of(caption)
        new = np.concatenate([each.words.vectors[each.rows] for each in found])
        facts = np.concatenate([[reading.facts_at(each.where, target)] * len(each.rows) for each in found])
        at = [each.where for each in found for _ in each.rows]
        chances = reading.judged(at, new, facts.astype(np.float32))[:, 0]
        listed = [(each, row) for each in found for row in each.rows]
        for place in np.flatnonzero(chances >= self._least[target]):
            (_, unit, words, _), row = listed[place]
            lemma, to = words.lemmas[row], words.forms[row]
            if not (lemma == unit.lemma or to == unit.word or _is_told(caption, lemma) or _parts(caption, unit, lemma)):
                made = Proposal(unit.start, unit.end, to, target, self.name, float(count(to)) ** 0.25, "wide")
                reading.note(made, float(chances[place]))
                yield made


class _Ranked(NamedTuple):
    where: tuple[int, int]  # words of the caption
    unit: Unit
    words: _Words
    rows: NDArray[np.int64]  # of `words`, the likeliest for this place


def _ranked(caption: Caption, target: Section) -> Iterator[_Ranked]:
    reading = reading_of(caption)
    for unit, pos in _places(caption, target):
        where = reading.words_at(unit.start, unit.end)
        if where is not None and reading.knows(where):
            words = _words(pos)
            ranks = net.ranks(reading.place(*where), words.vectors, words.bias)
            yield _Ranked(where, unit, words, np.sort(np.argpartition(-ranks, JUDGED[target])[: JUDGED[target]]))


def _is_told(caption: Caption, lemma: str) -> bool:
    return lemma in caption.words or lemma in caption.other_words


def _parts(caption: Caption, unit: Unit, lemma: str) -> bool:
    """Whether a pronoun that may speak of the old noun cannot speak of the new one: a man and "her" dog."""
    if lemma in _MALE:
        return not _SHE.isdisjoint(caption.words)
    if lemma in _FEMALE:
        return not _HE.isdisjoint(caption.words)
    if is_person(lemma):
        return "its" in caption.words and not is_person(unit.lemma)
    return is_person(unit.lemma) and not (_SHE | _HE).isdisjoint(caption.words)


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
