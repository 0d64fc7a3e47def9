"""CE-CLIP's negatives as its paper makes them (Zhang et al. 2024, 3.1): what the words of a caption allow, unchecked.

Two nouns are enough for a relation negative, an adjective, a verb or a noun for the other three; which of them is
drawn. So nearly every caption gets all four, as in the paper, and some negatives are true ("a cat and a dog" swapped)
or no English: the checked recipe drops those, and with them half of the relation negatives. The published code wants
three nouns and always swaps the first two; here it is the paper's two, drawn.

A masked word is filled with the fourth guess of a masked language model where one is given (`sources/masked_lm.py`),
else from the lexicon and WordNet, and where these know nothing for it, with any common word of the type.
"""

from __future__ import annotations

import functools
import itertools
import random
from collections.abc import Iterator, Sequence

from equipoise.perturb.candidate import Candidate, replaced
from equipoise.perturb.english.caption import Caption, Unit
from equipoise.perturb.english.forms import inflect, verb_lemma
from equipoise.perturb.english.word_lists import Section, count, exclusive
from equipoise.perturb.operations.replace import weighted_order
from equipoise.perturb.operations.swap_negative import swapped
from equipoise.perturb.sources.base import Proposal, Source
from equipoise.words.tagging import tag

KINDS: dict[Section, str] = {"object": "noun", "attribute": "adjective", "action": "verb"}
_TAGS: dict[Section, str] = {"object": "NN", "attribute": "JJ", "action": ""}  # a lone verb may be tagged as anything
_ANY = 5  # words of the type that are tried where no source knows one


def swap_any_nouns(caption: Caption, sources: Sequence[Source], rng: random.Random) -> Iterator[Candidate]:
    places = [place for place, unit in enumerate(caption.units) if unit.kind == "noun"]
    pairs = list(itertools.combinations(places, 2))
    rng.shuffle(pairs)
    for first, second in pairs:
        if caption.units[first].word != caption.units[second].word:
            yield swapped(caption, (first, first + 1), (second, second + 1), "relation")


def fill_any(caption: Caption, sources: Sequence[Source], rng: random.Random, target: Section) -> Iterator[Candidate]:
    """One word of the kind, drawn, is masked and filled."""
    units = [unit for unit in caption.units if unit.kind == KINDS[target]]
    rng.shuffle(units)
    for source in sources:  # a word that a source knows goes before a word that none does
        offered = list(source.contrasts(caption, target))
        for unit in units:
            here = [proposal for proposal in offered if proposal.start <= unit.start and proposal.end == unit.end]
            for place in weighted_order([proposal.weight for proposal in here], rng):
                yield replaced(caption.text, "negative", here[place])
    for unit in units:
        for proposal in _any_words(unit, target, rng):
            yield replaced(caption.text, "negative", proposal)


def _any_words(unit: Unit, target: Section, rng: random.Random) -> Iterator[Proposal]:
    words, weights = _words(target)
    for word in rng.choices(words, weights, k=_ANY):
        to = inflect(word, "" if target == "attribute" else unit.pos)
        if to != unit.word:
            yield Proposal(unit.start, unit.end, to, target, "any word of the type", 1.0)


@functools.cache
def _words(target: Section) -> tuple[list[str], list[float]]:
    """The single words of the lexicon's sets of that type in their plain form, and how common each is."""
    listed = (m.entry for line in exclusive() if line.section == target for group in line.groups for m in group)
    words = [entry.text for entry in dict.fromkeys(listed) if entry.text.isalpha() and not entry.exact]
    plain = [word for word in words if tag(word)[0].pos.startswith(_TAGS[target])]
    if target == "action":
        plain = list(dict.fromkeys(map(verb_lemma, plain)))
    return plain, [float(count(inflect(word, "VBG") if target == "action" else word)) for word in plain]
