"""Confidence intervals and paired tests.

Items that share an image are not independent (REPLACE has up to 26 items of one caption), so images are resampled, not
items: the cluster bootstrap. All ratios of one call use the same resamples, so their differences are paired.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

RESAMPLES = 2000
LEVEL = 0.95
_CHUNK = 64  # resamples multiplied at once, to limit memory
_AT_ONCE = 16_000_000  # and at most so many counts of clusters
_KEPT = 64_000_000  # resamples x clusters that are cached for the next call
_SAME = 1e-12  # smaller differences between resamples are rounding
_SPARSE = 8  # a group with less than 1/8 of all clusters is multiplied separately


def wilson(successes: int, n: int, level: float = LEVEL) -> tuple[float, float]:
    """Wilson's score interval of a share of independent items."""
    if n == 0:
        return (0.0, 1.0)
    z = normal_quantile(0.5 + level / 2)
    share = successes / n
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    # Exact bounds for shares of 0 and 1, where floating point would be 1e-17 off.
    low = 0.0 if successes == 0 else max(0.0, centre - half)
    return (low, 1.0 if successes == n else min(1.0, centre + half))


def normal_quantile(p: float) -> float:
    from statistics import NormalDist

    return NormalDist().inv_cdf(p)


def chance_of_orders(right: NDArray[np.int64], wrong: NDArray[np.int64]) -> Floats:
    """(items, 3): chance values of Original, Augmented and Brittleness for items with so many right and wrong texts.

    Every order of an item's texts is equally likely. The caption is above all wrong texts with probability
    1 / (1 + wrong), all right texts are with 1 / C(right + wrong, wrong), and none is above the best wrong text with
    wrong / (right + wrong).
    """
    room = int(wrong.max(initial=0)) + 1
    shapes, place = np.unique(right * room + wrong, return_inverse=True)  # one number per pair: sorting rows is slow
    found = np.zeros((len(shapes), 3))
    for number, (good, bad) in enumerate(divmod(shape, room) for shape in shapes.tolist()):
        above = 1 / math.comb(good + bad, bad)
        found[number] = 1 / (1 + bad), above, 1 - above - bad / (good + bad)
    return found[place]


def cluster_bootstrap(sums: Floats, counts: Floats, seed: int = 0, resamples: int = RESAMPLES) -> Floats:
    """Resampled ratios sum(sums) / sum(counts) over clusters.

    `sums` and `counts` are (clusters, columns); the result is (resamples, columns), NaN where a count is 0.
    """
    return _resample([(np.arange(len(sums)), sums, counts)], len(sums), seed, resamples)[:, 0]


def grouped_ratios(
    values: Floats,
    counts: Floats,
    cluster: NDArray[np.int64],
    groups: Sequence[NDArray[np.bool_]],
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> tuple[Floats, Floats]:
    """Ratios sum(values) / sum(counts) within each group of items, with the same resamples for all groups.

    `values` and `counts` are (items, columns), `cluster` numbers the items' clusters from 0, and a group is a mask
    over items. Returns the measured (groups, columns) and the bootstrapped (resamples, groups, columns).
    """
    blocks = [_block(values[mask], counts[mask], cluster[mask]) for mask in groups]
    with np.errstate(invalid="ignore", divide="ignore"):
        measured = np.stack([sums.sum(0) / numbers.sum(0) for _, sums, numbers in blocks])
    return measured, _resample(blocks, int(cluster.max()) + 1, seed, resamples)


# Clusters, and (clusters, columns) sums and counts within each. A group has only its own clusters: 240 groups of
# 200,000 images as dense columns would take 5 GB.
_Block = tuple[NDArray[np.int64], Floats, Floats]


def _block(values: Floats, counts: Floats, cluster: NDArray[np.int64]) -> _Block:
    held, place = np.unique(cluster, return_inverse=True)

    def within(part: Floats) -> Floats:
        return np.stack([np.bincount(place, column, len(held)) for column in part.T], axis=1).astype(np.float64)

    return held, within(values), within(counts)


def numbered(names: Iterable[Hashable]) -> NDArray[np.int64]:
    """Each name as a number from 0, in the order in which they first appear."""
    known: dict[Hashable, int] = {}
    return np.array([known.setdefault(name, len(known)) for name in names], dtype=np.int64)


def distinct(numbers: NDArray[np.int64]) -> int:
    """len(np.unique(numbers)) of numbers from 0 on, without sorting."""
    return int(np.count_nonzero(np.bincount(numbers))) if len(numbers) else 0


def distinct_by(numbers: NDArray[np.int64], there: NDArray[Any]) -> list[int]:
    """For each column of `there` (items, columns), the number of different `numbers`: the images behind a metric."""
    return [distinct(numbers[column > 0]) for column in there.T]


def _resample(blocks: Sequence[_Block], clusters: int, seed: int, resamples: int) -> Floats:
    """(resamples, blocks, columns). Sums of whole numbers are exact in any order, so all large blocks share one matrix
    product; a small block is multiplied with its own clusters only."""
    columns = blocks[0][1].shape[1]
    both = [np.concatenate([sums, numbers], axis=1) for _, sums, numbers in blocks]
    most = clusters * max(float(np.abs(part).max(initial=0)) for part in both)
    whole = all((part == np.floor(part)).all() for part in both)
    kind = np.float32 if whole and most < 2**24 else np.float64  # exact up to there, and twice as fast
    both = [part.astype(kind) for part in both]
    held = [one for one, _, _ in blocks]
    wide = [index for index, one in enumerate(held) if len(one) * _SPARSE > clusters]
    dense = np.zeros((clusters, len(wide), 2 * columns), kind)
    for place, index in enumerate(wide):
        dense[held[index], place] = both[index]
    totals = np.empty((resamples, len(blocks), 2 * columns))
    for start, counts in draws(clusters, seed, resamples):
        weights = counts.astype(kind)
        part = totals[start : start + len(weights)]
        part[:, wide] = (weights @ dense.reshape(clusters, -1)).reshape(len(weights), len(wide), 2 * columns)
        for index, one in enumerate(held):
            if index not in wide:
                part[:, index] = weights[:, one] @ both[index]
    with np.errstate(invalid="ignore", divide="ignore"):
        ratios: Floats = totals[..., :columns] / totals[..., columns:]
    return ratios


def draws(clusters: int, seed: int, resamples: int) -> Iterator[tuple[int, NDArray[Any]]]:
    """(first resample, how often each resample of a chunk contains each cluster)."""
    keep = 0 < clusters * resamples <= _KEPT  # 0 resamples: only the measured value is wanted
    known = _kept(clusters, seed, resamples) if keep else _counts(clusters, seed, resamples)
    return zip(range(0, resamples, _chunk(clusters)), known, strict=True)


def _chunk(clusters: int) -> int:
    return max(1, min(_CHUNK, _AT_ONCE // clusters))


@functools.lru_cache(maxsize=1)
def _kept(clusters: int, seed: int, resamples: int) -> list[NDArray[Any]]:
    """Cached, because a summary and its macro average use the same resamples."""
    return [counts.astype(np.min_scalar_type(counts.max())) for counts in _counts(clusters, seed, resamples)]


def _counts(clusters: int, seed: int, resamples: int) -> Iterator[NDArray[np.int64]]:
    rng = np.random.default_rng(seed)
    kind = np.int32 if clusters < 2**31 else np.int64  # draws the same numbers
    for start in range(0, resamples, _chunk(clusters)):
        drawn = (rng.integers(clusters, size=clusters, dtype=kind) for _ in range(start, resamples))
        yield np.stack([np.bincount(one, minlength=clusters) for one in islice(drawn, _chunk(clusters))])


def percentile_interval(values: Floats, level: float = LEVEL) -> tuple[float, float]:
    """The middle `level` of the values, without NaN; (nan, nan) if nothing is left."""
    values = values[~np.isnan(values)]
    if not len(values):
        return (math.nan, math.nan)
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return (float(low), float(high))


def share_interval(
    value: float, spread: Floats, clusters: int, level: float = LEVEL, lowest: float = 0.0
) -> tuple[float, float]:
    """Bootstrap percentiles of a share or, with `lowest` -1, of a difference of shares.

    If all resamples are equal, percentiles would claim certainty (three of three: 100 [100, 100]). Then the interval
    extends to either side by Wilson's upper bound for what was never seen among `clusters` images (of three: 56%). For
    a share of 0 or 1 this is Wilson's interval. `clusters` counts only images with items that the metric applies to.
    """
    one = Average(np.array([[value]]), spread[:, None, None], np.array([[clusters]]), np.ones(1))
    return one.interval(0, level, lowest)


def difference_interval(value: float, spread: Floats, clusters: int) -> tuple[float, float]:
    return share_interval(value, spread, clusters, lowest=-1.0)


class Average(NamedTuple):
    """Shares, or differences of shares, within each group of an average, measured and resampled.

    The rule of `share_interval` for equal resamples is applied within each group, since a split of three images that
    are all right adds no spread to the average; the groups' additions are summed as squares.
    """

    parts: Floats  # (groups, columns)
    drawn: Floats  # (resamples, groups, columns)
    images: NDArray[np.int64]  # (groups, columns): the number of images behind each share
    weights: Floats  # (groups,)

    def only(self, group: int) -> Average:
        place = slice(group, group + 1)
        return Average(self.parts[place], self.drawn[:, place], self.images[place], np.ones(1))

    @property
    def values(self) -> Floats:
        found: Floats = weighted_mean(self.parts[None], self.weights)[0]
        return found

    @property
    def spread(self) -> Floats:
        """(resamples, columns)"""
        return weighted_mean(self.drawn, self.weights)

    def interval(self, column: int, level: float = LEVEL, lowest: float = 0.0) -> tuple[float, float]:
        parts, drawn = self.parts[:, column], self.drawn[:, :, column]
        there = ~np.isnan(parts)
        share = np.where(there, self.weights, 0.0) / self.weights[there].sum()
        value = float((share * np.where(there, parts, 0.0)).sum())
        down = up = 0.0
        for group in np.flatnonzero(there & _all_alike(drawn)).tolist():
            unseen = wilson(0, int(self.images[group, column]), level)[1]
            down += (share[group] * min(unseen, parts[group] - lowest)) ** 2
            up += (share[group] * min(unseen, 1.0 - parts[group])) ** 2
        mean = weighted_mean(drawn[:, :, None], self.weights)[:, 0]
        low, high = (value, value) if _all_alike(mean) else percentile_interval(mean, level)
        if down:
            low = max(lowest, value - math.hypot(max(0.0, value - low), math.sqrt(down)))
        if up:
            high = min(1.0, value + math.hypot(max(0.0, high - value), math.sqrt(up)))
        return low, high


def averaged(
    values: Floats,
    counts: Floats,
    cluster: NDArray[np.int64],
    groups: Sequence[NDArray[np.bool_]],
    weights: Floats | None = None,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> Average:
    """`grouped_ratios` as an average of the groups. Without weights, use `only` on each group."""
    parts, drawn = grouped_ratios(values, counts, cluster, groups, seed, resamples)
    images = np.array([distinct_by(cluster[mask], counts[mask]) for mask in groups])
    return Average(parts, drawn, images, np.ones(len(groups)) if weights is None else weights)


def _all_alike(drawn: Floats) -> NDArray[np.bool_]:
    """Whether resamples (axis 0) never differ, or never contain the group."""
    most, least = np.fmax.reduce(drawn, 0, initial=-np.inf), np.fmin.reduce(drawn, 0, initial=np.inf)
    return np.asarray(most - least < _SAME)


def weighted_mean(ratios: Floats, weights: Floats) -> Floats:
    """Weighted mean over groups (axis 1), without the groups that a resample does not contain."""
    there = ~np.isnan(ratios)
    shares = weights[None, :, None] * there
    with np.errstate(invalid="ignore", divide="ignore"):
        result: Floats = np.nansum(np.where(there, ratios, 0.0) * shares, axis=1) / shares.sum(axis=1)
    return result
