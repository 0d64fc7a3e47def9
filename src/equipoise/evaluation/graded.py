"""Graded numbers beside the shares: how far a model sets right and wrong captions apart, and two right ones.

From Language-Guided Invariance Probing (Lee 2025, arXiv 2511.13494), as its code computes them, over pairs of texts:

    invariance error   mean of |s(c) - s(p)| over (caption, hard positive); its paraphrases are our hard positives
    sensitivity gap    mean of s(c) - s(n) over (caption, hard negative); its flips are our hard negatives
    positive rate      share of (caption, hard negative) with s(c) > s(n); a tie is no win there either

They are in units of the model's score, so two models cannot be compared by them: SigLIP's cosines are spread more
widely than CLIP's. Ours are the same differences, and s(p) - s(n), divided by the standard deviation of s(c) over all
items of the run: how far, measured by how far photos are apart anyway. There an item counts once, however many texts it
has.

Intervals are normal ones with the variance between images (items of one image are summed first), which is cheap and,
for means, close to the bootstrap; where every pair agrees the positive rate has Wilson's over images.
"""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from equipoise import stats
from equipoise.evaluation.record import Graded, Interval


class Scored(Protocol):
    """What of `metrics.Outcomes` is read here."""

    @property
    def caption(self) -> stats.Floats: ...
    @property
    def positive(self) -> stats.Floats: ...
    @property
    def negative(self) -> stats.Floats: ...
    @property
    def change(self) -> stats.Floats: ...
    @property
    def above(self) -> stats.Floats: ...
    @property
    def pairs(self) -> NDArray[np.int64]: ...
    @property
    def cluster(self) -> NDArray[np.int64]: ...


def spread(captions: stats.Floats) -> float | None:
    """The standard deviation of the captions' scores; None where there is none to measure by."""
    largest = float(np.abs(captions).max(initial=0.0)) or 1.0  # some people's scores are near 1e308
    found = float(np.std(captions / largest)) * largest
    return found if found > 1e-12 * largest and math.isfinite(found) else None


def graded(scored: Scored, mask: NDArray[np.bool_], unit: float | None) -> Graded:
    """The graded numbers of the items of `mask`; `unit` is the spread over all items."""
    cluster = scored.cluster[mask]
    caption, positive, negative = scored.caption[mask], scored.positive[mask], scored.negative[mask]
    positives, negatives = scored.pairs[mask].T.astype(np.float64)
    once = np.ones(len(cluster))
    with np.errstate(over="ignore", invalid="ignore"):
        gap, gap_positive, change = caption - negative, positive - negative, scored.change[mask]
        has = (positives > 0).astype(np.float64)
        asked = {
            "margin": (gap, once, unit),
            "margin_positive": (gap_positive, has, unit),
            "change": (change, has, unit),
            "invariance_error": (change, positives, 1.0),
            "sensitivity_gap": (gap, negatives, 1.0),
            "positive_rate": (scored.above[mask], negatives, 1.0),
        }
        found = {name: _mean(*one, cluster) for name, one in asked.items()}
    values = {name: None if one is None else one[0] for name, one in found.items()}
    intervals = {name: one[1] for name, one in found.items() if one is not None and one[1] is not None}
    rate = values["positive_rate"]
    if rate in (0.0, 1.0):
        images = len(np.unique(cluster))
        intervals["positive_rate"] = Interval(*stats.wilson(round(rate * images), images))
    elif interval := intervals.get("positive_rate"):
        intervals["positive_rate"] = Interval(max(0.0, interval.low), min(1.0, interval.high))
    return Graded(spread=unit, **values, intervals=intervals)


def _mean(
    values: stats.Floats, weights: stats.Floats, unit: float | None, cluster: NDArray[np.int64]
) -> tuple[float, Interval | None] | None:
    """The weighted mean in units, and its interval where there are two images; None where there is nothing."""
    held = weights > 0
    values, weights, cluster = values[held], weights[held], cluster[held]
    if unit is None or not len(values) or not np.isfinite(values).all():
        return None
    largest = float(np.abs(values).max()) or 1.0
    values, unit = values / largest, unit / largest
    mean = float(np.average(values, weights=weights))
    if not math.isfinite(mean / unit):
        return None
    _, place = np.unique(cluster, return_inverse=True)
    residuals = np.bincount(place, weights * (values - mean))
    images = len(residuals)
    if images < 2:
        return mean / unit, None
    error = math.sqrt(float(residuals @ residuals) * images / (images - 1)) / float(weights.sum())
    half = stats.normal_quantile(0.5 + stats.LEVEL / 2) * error
    low, high = (mean - half) / unit, (mean + half) / unit
    return mean / unit, Interval(low, high) if math.isfinite(low) and math.isfinite(high) else None
