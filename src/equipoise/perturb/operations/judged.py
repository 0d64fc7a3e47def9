"""Replace negatives that a learned reader would let pass: all that the sources propose is judged at once."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence

import numpy as np

from equipoise.perturb.candidate import Candidate, Refused, replaced
from equipoise.perturb.english.caption import Caption
from equipoise.perturb.english.word_lists import Section
from equipoise.perturb.operations.replace import doubt_of, drawn, most_doubt
from equipoise.perturb.proposer.net import Array
from equipoise.perturb.proposer.reading import reading_of
from equipoise.perturb.sources.base import Proposal, Source
from equipoise.perturb.sources.fillers import Fillers

# The least chance that the proposer must see; the reader, which costs more, is asked about what is drawn of them.
LEAST = {"object": 0.85, "attribute": 0.85, "action": 0.85, "relation": 0.85}
_BOUNDED = re.compile(
    r"\b(at (least|most)|(fewer|less|more) than|up to) "
    r"(\d|a |one|two|three|four|five|six|seven|eight|nine|ten)"
)
_CERTAIN = frozenset(("to the left", "to the right"))  # of something: never both, and no sheet had any
_WHY = (
    "the likeliest may be true of the photo as well",
    "the likeliest is unlikely or absurd there",
    "the likeliest is no good English there",
)


def replace_judged(
    caption: Caption, sources: Sequence[Source], rng: random.Random, target: Section
) -> Iterator[Candidate | Refused]:
    """A later source is only asked when the earlier ones have nothing that passes."""
    if _BOUNDED.search(caption.text.lower()):
        yield Refused("a count with a bound: of fewer than ten cars nobody knows that it is not true of bicycles")
        return
    best = np.zeros(4, np.float32)
    for source in sources:
        mine = list(dict.fromkeys(source.contrasts(caption, target)))
        listed = [each for each in mine if each.by != Fillers.name]
        offered = [each for each in mine if each.by == Fillers.name]  # judged already
        chances = reading_of(caption).chances(listed) if listed else np.zeros((0, 4), np.float32)
        for each, chance in zip(listed, chances[:, 0], strict=True):
            reading_of(caption).note(each, float(chance))
        for one in drawn(caption, "negative", [*passed(listed, chances), *offered], rng):
            if one is not None:
                known = one.mark != "wide" and doubt_of(caption, one) <= most_doubt(one)
                yield replaced(caption.text, "negative", one)._replace(attested=known)
        best = max((best, *chances), key=lambda row: float(row[0]))
    if best[0] < LEAST[target]:
        why = _WHY[int(np.argmax(best[1:]))] if best.any() else "none is known"
        yield Refused(f"no word is sure enough in place of any {target} in this caption: {why}")


def passed(proposals: Sequence[Proposal], chances: Array) -> list[Proposal]:
    """What the reader lets pass."""
    return [
        each
        for each, chance in zip(proposals, chances[:, 0], strict=True)
        if chance >= LEAST[each.target] or each.to in _CERTAIN
    ]
