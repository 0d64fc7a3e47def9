"""How far people agree beyond chance: Krippendorff's alpha, for any number of annotators and missing answers.

Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability" (coincidence matrices; nominal, ordinal). It
is a ratio of sums over questions, so one multiplication with the bootstrap's counts gives all resamples. Undefined
(None) if everybody always gives the same answer: chance agreement is then 1 too.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from equipoise.core import stats
from equipoise.core.stats import Floats

Level = Literal["nominal", "ordinal"]


class Agreement(NamedTuple):
    """A coefficient with its interval; None where it is undefined. `n` counts what at least two people judged."""

    value: float | None
    low: float | None
    high: float | None
    n: int


class Unit(NamedTuple):
    """One thing that was judged: the cluster it is resampled with, and what each annotator said (None: nothing)."""

    cluster: Hashable
    values: Sequence[Any]


def krippendorff_alpha(units: Sequence[Unit], level: Level, seed: int = 0) -> Agreement:
    """Alpha over all annotators; units that fewer than two judged are left out, as the paper does."""
    kept = [Unit(unit.cluster, given) for unit in units if len(given := _given(unit)) > 1]
    values = sorted({value for unit in kept for value in unit.values})
    number = {value: place for place, value in enumerate(values)}
    pairs = np.zeros((len(kept), len(values), len(values)))
    for place, unit in enumerate(kept):
        counts = np.bincount([number[value] for value in unit.values], minlength=len(values)).astype(float)
        pairs[place] = (np.outer(counts, counts) - np.diag(counts)) / (len(unit.values) - 1)
    return _resampled(pairs, kept, lambda found: _alpha(found, level), seed)


def _given(unit: Unit) -> list[Any]:
    return [value for value in unit.values if value is not None]


def _alpha(pairs: Floats, level: Level) -> Floats:
    """Alpha from (..., values, values) coincidences."""
    each = pairs.sum(-1)
    total = each.sum(-1)
    apart = _distance(each, level)
    with np.errstate(invalid="ignore", divide="ignore"):
        observed = (pairs * apart).sum((-2, -1)) / total
        expected = (each[..., :, None] * each[..., None, :] * apart).sum((-2, -1)) / (total * (total - 1))
        found: Floats = np.where(expected > 0, 1 - observed / expected, np.nan)
    return found


def _distance(each: Floats, level: Level) -> Floats:
    """Squared differences between values; ordinal ones count how many judgements lie between two ranks."""
    if level == "ordinal":
        upto = np.cumsum(each, -1) - each / 2  # the middle of each rank
        found: Floats = (upto[..., :, None] - upto[..., None, :]) ** 2
        return found
    return 1 - np.eye(each.shape[-1])


def _resampled(tables: NDArray[Any], units: Sequence[Unit], measure: Any, seed: int) -> Agreement:
    if not units:
        return Agreement(None, None, None, 0)
    number: dict[Hashable, int] = {}
    cluster = np.array([number.setdefault(unit.cluster, len(number)) for unit in units])
    within = np.zeros((len(number), *tables.shape[1:]))
    np.add.at(within, cluster, tables)
    value = float(measure(tables.sum(0)))
    if np.isnan(value):
        return Agreement(None, None, None, len(units))
    spread = [
        measure((counts @ within.reshape(len(number), -1)).reshape(-1, *tables.shape[1:]))
        for _, counts in stats.draws(len(number), seed, stats.RESAMPLES)
    ]
    low, high = stats.percentile_interval(np.concatenate(spread))
    if high - low < 1e-12:
        # Nobody disagreed, or all questions are alike. As many clusters may be otherwise as Wilson's interval leaves to
        # what was seen 0 times, and one disagreement in D by chance costs 1 / D of the coefficient.
        share = tables.sum((0, 2)) / tables.sum()
        unseen = stats.wilson(0, len(number))[1] / (1 - float((share**2).sum()))
        low, high = max(-1.0, value - unseen), min(1.0, value + unseen)
    return Agreement(value, low, high, len(units))
