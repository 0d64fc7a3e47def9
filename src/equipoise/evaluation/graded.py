"""Graded numbers next to the shares: how far a model sets right and wrong captions apart, and two right ones.

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

import functools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from equipoise.core import stats
from equipoise.data.items import Item, Text
from equipoise.evaluation.record import Graded, Interval, Number
from equipoise.evaluation.scores import ItemScores, Lists, Scores


@dataclass(frozen=True)
class Pairs:
    """For each item: its number of positives and negatives, and how its caption ranks among them."""

    positives: NDArray[np.int64]
    negatives: NDArray[np.int64]
    change: stats.Floats  # the mean of |s(c) - s(p)|; 0 without a positive
    above: stats.Floats  # the share of negatives that the caption is above; 0 without a negative


def pairs(right: Lists, negatives: Lists) -> Pairs:
    """Nothing is kept of the scores but four numbers an item; `right` has its caption, then its positives."""
    caption = right.values[right.starts]
    with np.errstate(over="ignore"):
        change = np.abs(np.repeat(caption, right.counts) - right.values)
    above = (np.repeat(caption, negatives.counts) > negatives.values).astype(np.float64)
    return Pairs(
        positives=right.counts - 1,
        negatives=negatives.counts,
        change=_shares(change, right.starts + 1, right.counts - 1),
        above=_shares(above, negatives.starts, negatives.counts),
    )


def _shares(values: stats.Floats, first: NDArray[np.int64], counts: NDArray[np.int64]) -> stats.Floats:
    """`_share` of so many values from each first one on; for one and two, which are most, all at once."""
    found = np.zeros(len(counts))
    one, two = first[counts == 1], first[counts == 2]
    found[counts == 1] = values[one]
    found[counts == 2] = values[two] / 2 + values[two + 1] / 2
    for index in np.flatnonzero(counts > 2).tolist():
        found[index] = _share(values[first[index] : first[index] + counts[index]].tolist())
    return found


def _share(values: Sequence[float]) -> float:
    return math.fsum(value / len(values) for value in values)


class Scored(NamedTuple):
    """Scores of items, or of the texts that one kind of edit made; positive and negative are means within the item."""

    caption: stats.Floats
    positive: stats.Floats
    negative: stats.Floats
    pairs: Pairs
    cluster: NDArray[np.int64]


def spread(captions: stats.Floats) -> float | None:
    """The standard deviation of the captions' scores; None where there is none to measure by."""
    largest = float(np.abs(captions).max(initial=0.0)) or 1.0  # some people's scores are near 1e308
    found = float(np.std(captions / largest)) * largest
    return found if found > 1e-12 * largest and math.isfinite(found) else None


def graded(scored: Scored, mask: NDArray[np.bool_], unit: float | None) -> Graded:
    """The graded numbers of the items of `mask`; `unit` is the spread over all items."""
    cluster = scored.cluster[mask]
    caption, positive, negative = scored.caption[mask], scored.positive[mask], scored.negative[mask]
    positives, negatives = (part[mask].astype(np.float64) for part in (scored.pairs.positives, scored.pairs.negatives))
    change, above = scored.pairs.change[mask], scored.pairs.above[mask]
    reworded, compared = (positives > 0).astype(np.float64), (negatives > 0).astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        gap, gap_positive = caption - negative, positive - negative
        asked = {
            "margin": (gap, compared, unit),
            "margin_positive": (gap_positive, reworded * compared, unit),
            "change": (change, reworded, unit),
            "invariance_error": (change, positives, 1.0),
            "sensitivity_gap": (gap, negatives, 1.0),
            "positive_rate": (above, negatives, 1.0),
        }
        found = {name: _mean(*one, cluster) for name, one in asked.items()}
    values = {name: None if one is None else one[0] for name, one in found.items()}
    intervals = {name: one[1] for name, one in found.items() if one is not None and one[1] is not None}
    rate = values["positive_rate"]
    if rate in (0.0, 1.0):
        images = stats.distinct(cluster[negatives > 0])
        intervals["positive_rate"] = Interval(*stats.wilson(round(rate * images), images))
    elif interval := intervals.get("positive_rate"):
        intervals["positive_rate"] = Interval(max(0.0, interval.low), min(1.0, interval.high))
    return Graded(
        n_positives=int(positives.sum()), n_negatives=int(negatives.sum()), spread=unit, **values, intervals=intervals
    )


def by_edit(rows: Sequence[ItemScores], items: Iterable[Item]) -> dict[str, Graded]:
    """The graded numbers of each kind of edit that the items name: "negative replace object", "positive swap".

    LGIP's numbers by type of flip. An item may have texts of several kinds, so this is no breakdown by tags. The spread
    is that of all items.
    """
    scores = Scores.of(rows)
    right, negatives = scores.right, scores.negatives
    clusters: dict[str, int] = {}
    own = zip(scores.ids, scores.images, strict=True)
    cluster = np.array([clusters.setdefault(id_ if image is None else image, len(clusters)) for id_, image in own])
    caption = right.values[right.starts]
    is_caption = np.zeros(len(right.values), dtype=bool)
    is_caption[right.starts] = True
    unit = spread(caption)
    numbers: dict[str, int] = {}  # of each name
    of_positives, of_negatives = _edits(scores, items, numbers)
    found = {}
    for name, number in sorted(numbers.items()):
        positive = name.startswith("positive")
        of_texts, values = (of_positives, right.values[~is_caption]) if positive else (of_negatives, negatives.values)
        counts = right.counts - 1 if positive else negatives.counts
        chosen = of_texts == number
        having, chosen_counts = np.unique(np.repeat(np.arange(len(counts)), counts)[chosen], return_counts=True)
        found[name] = _of_edit(caption[having], values[chosen], chosen_counts, positive, cluster[having], unit)
    return found


def _edits(
    scores: Scores, items: Iterable[Item], numbers: dict[str, int]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The number of the edit that made each positive and each negative of the scores, new ones entered into `numbers`;
    -1 without one."""

    def number(kind: str, text: Text) -> int:
        edit = text.edit
        return -1 if edit is None else numbers.setdefault(_edit_name(kind, edit.op, edit.target), len(numbers))

    edited = {
        item.id: (
            [number("positive", text) for text in item.positives],
            [number("negative", t) for t in item.negatives],
        )
        for item in items
    }
    found: list[list[int]] = [[], []]
    for id_, *counts in zip(
        scores.ids, (scores.right.counts - 1).tolist(), scores.negatives.counts.tolist(), strict=True
    ):
        known = edited.get(id_)
        for kind, count in enumerate(counts):
            found[kind] += [-1] * count if known is None else known[kind]
    if (len(found[0]), len(found[1])) != (len(scores.right.values) - len(scores), len(scores.negatives.values)):
        raise ValueError("the scores are not of these items: they have other numbers of texts")
    return np.array(found[0], np.int64), np.array(found[1], np.int64)


@functools.cache
def _edit_name(kind: str, op: str, target: str | None) -> str:
    return " ".join(filter(None, (kind, op, target)))


def _of_edit(
    caption: stats.Floats,
    values: stats.Floats,
    counts: NDArray[np.int64],
    positive: bool,
    cluster: NDArray[np.int64],
    unit: float | None,
) -> Graded:
    """The numbers of items with so many positives, or negatives, of one edit each, whose scores are `values`."""
    starts, absent = counts.cumsum() - counts, np.full(len(caption), math.nan)
    means = _shares(values, starts, counts)
    right = Lists.of(caption, np.ones(len(caption), np.int64))
    negatives = Lists.of(values, counts)
    if positive:
        right = Lists.of(np.insert(values, starts, caption), counts + 1)
        negatives = Lists.of(values[:0], np.zeros_like(counts))
    part = Scored(
        caption=caption,
        positive=means if positive else absent,
        negative=absent if positive else means,
        pairs=pairs(right, negatives),
        cluster=cluster,
    )
    return graded(part, np.ones(len(caption), dtype=bool), unit)


def mean_number(values: stats.Floats, cluster: NDArray[np.int64]) -> Number | None:
    """The mean of the values that are there (not NaN), with the same interval; None where there is none."""
    there = ~np.isnan(values)
    found = _mean(np.where(there, values, 0.0), there.astype(np.float64), 1.0, cluster)
    return None if found is None else Number(value=found[0], interval=found[1], n=int(there.sum()))


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
    _, place = stats.renumbered(cluster)
    residuals = np.bincount(place, weights * (values - mean))
    images = len(residuals)
    if images < 2:
        return mean / unit, None
    error = math.sqrt(float(residuals @ residuals) * images / (images - 1)) / float(weights.sum())
    half = stats.normal_quantile(0.5 + stats.LEVEL / 2) * error
    low, high = (mean - half) / unit, (mean + half) / unit
    return mean / unit, Interval(low, high) if math.isfinite(low) and math.isfinite(high) else None
