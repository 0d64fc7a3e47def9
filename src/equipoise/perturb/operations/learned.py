"""Negatives that a learned judge would let pass: all that the sources propose, or that could change places."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from equipoise.perturb.english.caption import Caption
from equipoise.perturb.english.vocabulary import Section
from equipoise.perturb.judge import Array, reading_of
from equipoise.perturb.operations.replace import doubt_of, drawn
from equipoise.perturb.recipe import Candidate, Proposal, Refused, Source, replaced

# The least chance to pass: where nothing else speaks against an edit, where one thing does, and where both do: captions
# have the new word with other neighbours only, or it is of a wide line or a word that the judge itself proposes. At the
# same chance readers fail these more often. Chosen on verdicts of what the recipes write of captions that the net had
# not seen (docs/perturbation.md): STRICT for what a strict reader passes 92 times in 100, LENIENT for nine in ten.
Least = Mapping[str, tuple[float, ...]]
STRICT: Least = {
    "object": (0.96, 0.975, 0.985),
    "attribute": (0.96, 0.99, 0.995),
    "action": (0.97, 0.975, 0.99),
    "relation": (0.98, 0.985, 0.985),
    "swap": (0.9,),
}
LENIENT: Least = {
    "object": (0.94, 0.96, 0.975),
    "attribute": (0.94, 0.98, 0.98),
    "action": (0.95, 0.96, 0.98),
    "relation": (0.975, 0.98, 0.98),
    "swap": (0.85,),
}
_SURE = 0.995  # what is surer than this is not drawn more often: else the same few words would always be
_BOUNDED = re.compile(
    r"\b(at (least|most)|(fewer|less|more) than|up to) "
    r"(\d|a |one|two|three|four|five|six|seven|eight|nine|ten)"
)
_CERTAIN = frozenset(("to the left", "to the right"))  # of something: never both, and no sheet had any
_WHY = ("may be true of the photo as well", "is unlikely or absurd there", "is no good English there")


def replace_judged(
    caption: Caption,
    sources: Sequence[Source],
    rng: random.Random,
    target: Section,
    least: Least = STRICT,
) -> Iterator[Candidate | Refused]:
    """A later source is only asked when the earlier ones have nothing that passes."""
    if is_bounded(caption):
        yield Refused("a count with a bound: of fewer than ten cars nobody knows that it is not true of bicycles")
        return
    best, sure, known = np.zeros(4, np.float32), False, False
    for source in sources:
        passed, chances = passing(caption, source, target, least)
        for one in drawn(caption, "negative", passed, rng, worth=passed):
            if one is not None:
                yield replaced(caption.text, "negative", one)
        sure, known = sure or bool(passed), known or len(chances) > 0
        best = max((best, *chances), key=lambda row: float(row[0]))
    if not sure:
        reason = f"the likeliest {why(best)}" if known else "none is known"
        yield Refused(f"no word is sure enough in place of any {target} in this caption: {reason}")


def is_bounded(caption: Caption) -> bool:
    return _BOUNDED.search(caption.text.lower()) is not None


def passing(
    caption: Caption, source: Source, target: Section, least: Least = STRICT
) -> tuple[dict[Proposal, float], Array]:
    """What one source proposes and the judge would let pass, each with its worth in the draw; the chances of all."""
    listed = list(dict.fromkeys(source.contrasts(caption, target)))
    if not listed:
        return {}, np.zeros((0, 4), np.float32)
    chances = reading_of(caption).chances(listed)
    passed = {
        each: 1 / (1 - min(float(chance), _SURE))
        for each, chance in zip(listed, chances[:, 0], strict=True)
        if each.to in _CERTAIN or _is_likely(caption, each, float(chance), least[target])
    }
    return passed, chances


def _is_likely(caption: Caption, proposal: Proposal, chance: float, least: Sequence[float]) -> bool:
    """Enough for what speaks against it; counts, which take longer, are only asked where they decide."""
    against = int(proposal.mark == "wide")
    if chance < least[against] or chance >= least[against + 1]:
        return chance >= least[against]
    return not doubt_of(caption, proposal)


def why(chances: Array) -> str:
    return _WHY[int(np.argmax(chances[1:]))] if chances.any() else "stands too far into a long caption"
