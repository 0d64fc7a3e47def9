"""Replace one word or phrase: by a synonym for a positive, by something exclusive for a negative."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Iterator, Sequence

from equipoise.perturb.candidate import Candidate, Kind, replaced
from equipoise.perturb.caption import Caption
from equipoise.perturb.sources.base import Proposal, Source
from equipoise.perturb.sources.files import Section

_RARELY = 0.002  # the weight of a proposal without any way back, among those that were not accepted


def replace_positive(
    caption: Caption, sources: Sequence[Source], rng: random.Random, target: Section, strict: bool = False
) -> Iterator[Candidate]:
    for source in sources:  # a later source is only asked when the earlier ones have nothing that passes
        yield from _written(caption, "positive", source.synonyms(caption, target), rng, strict)


def replace_negative(
    caption: Caption, sources: Sequence[Source], rng: random.Random, target: Section
) -> Iterator[Candidate]:
    for source in sources:
        yield from _written(caption, "negative", source.contrasts(caption, target), rng)


def _written(
    caption: Caption, kind: Kind, proposals: Iterable[Proposal], rng: random.Random, strict: bool = False
) -> Iterator[Candidate]:
    for proposal in matched_order(list(proposals), rng, strict):
        yield replaced(caption.text, kind, proposal)


def matched_order(proposals: list[Proposal], rng: random.Random, strict: bool = False) -> list[Proposal]:
    """A random order whose first element leaves the frequencies of words as they are.

    A place of the caption is drawn, then a replacement in proportion to how common it is. It is accepted as
    Metropolis and Hastings would, so that over many captions a word is brought in as often as it is taken out, and
    a classifier that only knows which words are rare learns nothing. What is not accepted comes last, the nearly
    balanced first, since a caption with one place should still get its candidate; or not at all, if `strict`.
    """
    places: dict[tuple[int, int], list[Proposal]] = {}
    for proposal in proposals:
        places.setdefault((proposal.start, proposal.end), []).append(proposal)
    accepted: list[Proposal] = []
    late: list[Proposal] = []
    order = sorted(places)
    rng.shuffle(order)
    queues = [weighted_order(places[place], rng) for place in order]
    for turn in range(max(map(len, queues), default=0)):
        for queue in queues:
            if turn < len(queue):
                (accepted if rng.random() < queue[turn].balance else late).append(queue[turn])
    if strict:
        return accepted
    return accepted + weighted_order([proposal._replace(weight=proposal.balance + _RARELY) for proposal in late], rng)


def weighted_order(proposals: Sequence[Proposal], rng: random.Random) -> list[Proposal]:
    """Drawn one after the other without putting back, in proportion to their weights (an exponential race)."""
    keyed = [(-math.log(1.0 - rng.random()) / proposal.weight, place) for place, proposal in enumerate(proposals)]
    return [proposals[place] for _, place in sorted(keyed)]
