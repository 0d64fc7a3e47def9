"""Replace one word or phrase: by a synonym for a positive, by something exclusive for a negative."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Iterator, Sequence

from equipoise.perturb.candidate import Candidate, Kind, replaced
from equipoise.perturb.caption import Caption
from equipoise.perturb.sources.base import Proposal, Source
from equipoise.perturb.sources.files import Section, count


def replace_positive(
    caption: Caption, sources: Sequence[Source], rng: random.Random, target: Section
) -> Iterator[Candidate]:
    for source in sources:  # a later source is only asked when the earlier ones have nothing that passes
        yield from _written(caption, "positive", source.synonyms(caption, target), rng)


def replace_negative(
    caption: Caption, sources: Sequence[Source], rng: random.Random, target: Section
) -> Iterator[Candidate]:
    for source in sources:
        yield from _written(caption, "negative", source.contrasts(caption, target), rng)


def _written(caption: Caption, kind: Kind, proposals: Iterable[Proposal], rng: random.Random) -> Iterator[Candidate]:
    for proposal in matched_order(list(proposals), caption.text, rng):
        yield replaced(caption.text, kind, proposal)


def matched_order(proposals: list[Proposal], text: str, rng: random.Random) -> list[Proposal]:
    """A random order whose first element leaves the frequencies of words as they are.

    A place of the caption is drawn, then a replacement in proportion to how common it is. It is accepted as
    Metropolis would, with probability min(1, common(new) / common(old)): so rare words do not pile up in the
    output, and a classifier that only knows which words are rare learns nothing. What is not accepted comes
    last rather than never, since a caption with one place should still get its candidate.
    """
    places: dict[tuple[int, int], list[Proposal]] = {}
    for proposal in proposals:
        places.setdefault((proposal.start, proposal.end), []).append(proposal)
    accepted: list[Proposal] = []
    late: list[Proposal] = []
    order = sorted(places)
    rng.shuffle(order)
    queues = [weighted_order(places[place], rng) for place in order]
    common = [count(text[start:end]) for start, end in order]
    for turn in range(max(map(len, queues), default=0)):
        for queue, old in zip(queues, common, strict=True):
            if turn < len(queue):
                (accepted if rng.random() < queue[turn].weight / old else late).append(queue[turn])
    return accepted + late


def weighted_order(proposals: Sequence[Proposal], rng: random.Random) -> list[Proposal]:
    """Drawn one after the other without putting back, in proportion to their weights (an exponential race)."""
    keyed = [(-math.log(1.0 - rng.random()) / proposal.weight, place) for place, proposal in enumerate(proposals)]
    return [proposals[place] for _, place in sorted(keyed)]
