"""Intervals and paired tests, with numpy alone.

Items that share an image are not independent: REPLACE asks up to 26 questions about one caption.
So images, not items, are resampled (the cluster bootstrap). Every ratio that is asked for in one call
sees the same resamples, which is what makes differences between them paired.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

RESAMPLES = 2000
LEVEL = 0.95
_CHUNK = 64  # resamples multiplied at once, so that memory stays flat
_AT_ONCE = 16_000_000  # and at most so many counts of clusters
_KEPT = 64_000_000  # resamples x clusters that are kept for the next who asks
_SAME = 1e-12  # resamples that differ by less differ by rounding
_SPARSE = 8  # a group that holds less than this part of all clusters is multiplied by itself


def wilson(successes: int, n: int, level: float = LEVEL) -> tuple[float, float]:
    """Wilson's score interval of a share, for independent items; sane at 0 and 1, unlike the normal one."""
    if n == 0:
        return (0.0, 1.0)
    z = normal_quantile(0.5 + level / 2)
    share = successes / n
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    # A share of 0 or 1 touches its bound exactly; floating point would leave it 1e-17 away.
    low = 0.0 if successes == 0 else max(0.0, centre - half)
    return (low, 1.0 if successes == n else min(1.0, centre + half))


def normal_quantile(p: float) -> float:
    from statistics import NormalDist

    return NormalDist().inv_cdf(p)


def chance_of_orders(right: NDArray[np.int64], wrong: NDArray[np.int64]) -> Floats:
    """(items, 3): Original, Augmented and Brittleness by chance of items with so many right and wrong texts.

    Every order of an item's texts is equally likely: in 1 of 1 + wrong its caption is before all wrong ones, in 1 of
    C(right + wrong, wrong) all right ones are; none of them is before the highest wrong one where that is the first.
    """
    room = int(wrong.max(initial=0)) + 1
    shapes, place = np.unique(right * room + wrong, return_inverse=True)  # two numbers in one: rows sort slowly
    found = np.zeros((len(shapes), 3))
    for number, (good, bad) in enumerate(divmod(shape, room) for shape in shapes.tolist()):
        above = 1 / math.comb(good + bad, bad)
        found[number] = 1 / (1 + bad), above, 1 - above - bad / (good + bad)
    return found[place]


def cluster_bootstrap(sums: Floats, counts: Floats, seed: int = 0, resamples: int = RESAMPLES) -> Floats:
    """Resampled ratios sum(sums) / sum(counts) over clusters.

    `sums` and `counts` are (clusters, columns); the result is (resamples, columns), NaN where a resample
    happens to hold nothing of a column.
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
    """Ratios sum(values) / sum(counts) within each group of items; one set of resamples for all groups.

    `values` and `counts` are (items, columns), `cluster` numbers the items' clusters from 0, and a group is a mask
    over items. Returns (groups, columns) as measured and (resamples, groups, columns) as bootstrapped.
    """
    blocks = [_block(values[mask], counts[mask], cluster[mask]) for mask in groups]
    with np.errstate(invalid="ignore", divide="ignore"):
        measured = np.stack([sums.sum(0) / numbers.sum(0) for _, sums, numbers in blocks])
    return measured, _resample(blocks, int(cluster.max()) + 1, seed, resamples)


# Clusters, and (clusters, columns) sums and counts within each. A group knows only the clusters that hold something
# of it: 240 groups of 200,000 images as dense columns would take 5 GB.
_Block = tuple[NDArray[np.int64], Floats, Floats]


def _block(values: Floats, counts: Floats, cluster: NDArray[np.int64]) -> _Block:
    held, place = renumbered(cluster)

    def within(part: Floats) -> Floats:
        return np.stack([np.bincount(place, column, len(held)) for column in part.T], axis=1).astype(np.float64)

    return held, within(values), within(counts)


def renumbered(numbers: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """np.unique(numbers, return_inverse=True) of numbers that count something from 0, without sorting them."""
    held = np.flatnonzero(np.bincount(numbers)) if len(numbers) else np.zeros(0, np.int64)
    place = np.zeros(int(held[-1]) + 1 if len(held) else 0, np.int64)
    place[held] = np.arange(len(held))
    return held, place[numbers]


def distinct(numbers: NDArray[np.int64]) -> int:
    """How many different ones there are, of such numbers."""
    return int(np.count_nonzero(np.bincount(numbers))) if len(numbers) else 0


def distinct_by(numbers: NDArray[np.int64], there: NDArray[Any]) -> list[int]:
    """How many different ones have something in each column of `there`, (items, columns): the images that a metric is
    of. Columns that are alike, as those of Augmented and Brittleness, are counted once."""
    found: list[int] = []
    for place, column in enumerate(there.T):
        alike = next((at for at in range(place) if np.array_equal(there[:, at], column)), None)
        found.append(distinct(numbers[column > 0]) if alike is None else found[alike])
    return found


def _resample(blocks: Sequence[_Block], clusters: int, seed: int, resamples: int) -> Floats:
    """(resamples, blocks, columns). Sums of whole numbers are exact in any order, so one multiplication may serve all
    blocks that hold much; a block that holds little is multiplied with its own clusters alone."""
    columns = blocks[0][1].shape[1]
    both = [np.concatenate([sums, numbers], axis=1) for _, sums, numbers in blocks]
    most = clusters * max(float(np.abs(part).max(initial=0)) for part in both)
    whole = all((part == np.floor(part)).all() for part in both)
    kind = np.float32 if whole and most < 2**24 else np.float64  # half the time, and exact up to there
    both = [part.astype(kind) for part in both]
    held = [one for one, _, _ in blocks]
    alike = _alike(held, both, clusters) if whole and clusters * resamples > _KEPT else None
    if alike is not None:
        held, both = zip(*(_of_kinds(*one, alike) for one in zip(held, both, strict=True)), strict=True)
    width = clusters if alike is None else int(alike.max()) + 1
    wide = [index for index, one in enumerate(held) if len(one) * _SPARSE > width]
    dense = np.zeros((width, len(wide), 2 * columns), kind)
    for place, index in enumerate(wide):
        dense[held[index], place] = both[index]
    totals = np.empty((resamples, len(blocks), 2 * columns))
    for start, counts in draws(clusters, seed, resamples, alike):
        weights = counts.astype(kind)
        part = totals[start : start + len(weights)]
        part[:, wide] = (weights @ dense.reshape(width, -1)).reshape(len(weights), len(wide), 2 * columns)
        for index, one in enumerate(held):
            if len(one) * _SPARSE <= width:
                part[:, index] = weights[:, one] @ both[index]
    with np.errstate(invalid="ignore", divide="ignore"):
        ratios: Floats = totals[..., :columns] / totals[..., columns:]
    return ratios


def _alike(held: Sequence[NDArray[np.int64]], both: Sequence[NDArray[Any]], clusters: int) -> NDArray[Any] | None:
    """A number for each cluster, the same for those that agree in every column; None where too few do.

    A million images of one item each are a hundred kinds. What is drawn is then counted by kind: the sums are the
    same, and a hundred counters stay in the processor's cache.
    """
    key, room = np.zeros(clusters, np.int64), 1  # the columns as digits of one number
    for one, part in zip(held, both, strict=True):
        for column in part.T:
            radix = 1 + int(column.max(initial=0)) - int(column.min(initial=0))  # digits below zero are unique as well
            if room * radix > 2**62:
                key = np.unique(key, return_inverse=True)[1]
                room = int(key.max()) + 1
            key *= radix
            key[one] += column.astype(np.int64)
            room *= radix
    kinds, key = np.unique(key, return_inverse=True)
    return key.astype(np.min_scalar_type(len(kinds))) if len(kinds) <= min(clusters // 16, 2**16) else None


def _of_kinds(
    held: NDArray[np.int64], part: NDArray[Any], alike: NDArray[Any]
) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """A block by kinds instead of clusters: one cluster of a kind speaks for all."""
    kinds, first = np.unique(alike[held], return_index=True)
    return kinds, part[first]


def draws(
    clusters: int, seed: int, resamples: int, alike: NDArray[Any] | None = None
) -> Iterator[tuple[int, NDArray[Any]]]:
    """(first resample, how often each resample of a chunk holds each cluster, or each kind of them)."""
    keep = 0 < clusters * resamples <= _KEPT  # none are asked for by who wants the measured value alone
    known = _kept(clusters, seed, resamples) if keep else _counts(clusters, seed, resamples, alike)
    return zip(range(0, resamples, _chunk(clusters)), known, strict=True)


def _chunk(clusters: int) -> int:
    return max(1, min(_CHUNK, _AT_ONCE // clusters))


@functools.lru_cache(maxsize=1)
def _kept(clusters: int, seed: int, resamples: int) -> list[NDArray[Any]]:
    """A summary and its macro average ask for the same resamples."""
    return [counts.astype(np.min_scalar_type(counts.max())) for counts in _counts(clusters, seed, resamples)]


def _counts(clusters: int, seed: int, resamples: int, alike: NDArray[Any] | None = None) -> Iterator[NDArray[np.int64]]:
    rng = np.random.default_rng(seed)
    kind = np.int32 if clusters < 2**31 else np.int64  # the same numbers are drawn

    width = clusters if alike is None else int(alike.max()) + 1
    drawn: Iterator[NDArray[Any]] = (rng.integers(clusters, size=clusters, dtype=kind) for _ in range(resamples))
    for start in range(0, resamples, _chunk(clusters)):
        some = islice(drawn, min(_chunk(clusters), resamples - start))
        yield np.stack([np.bincount(one if alike is None else alike.take(one), minlength=width) for one in some])


def percentile_interval(values: Floats, level: float = LEVEL) -> tuple[float, float]:
    """The middle `level` of bootstrap values, NaN left out; (nan, nan) where nothing is left."""
    values = values[~np.isnan(values)]
    if not len(values):
        return (math.nan, math.nan)
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return (float(low), float(high))


def share_interval(
    value: float, spread: Floats, clusters: int, level: float = LEVEL, lowest: float = 0.0
) -> tuple[float, float]:
    """Bootstrap percentiles of a share, or with `lowest` -1 of a difference of shares.

    Where no resample differs they would claim certainty (three of three: 100 [100, 100]). The images are then all
    alike, and as many as Wilson's interval allows of a kind that was not seen (of three: 56%) may be otherwise: so
    much to either side. Of a share of 0 or 1 that is Wilson's interval. `clusters` are the images that the share is
    of: an item without a positive says nothing about Augmented accuracy.
    """
    one = Average(np.array([[value]]), spread[:, None, None], np.array([[clusters]]), np.ones(1))
    return one.interval(0, level, lowest)


def difference_interval(value: float, spread: Floats, clusters: int) -> tuple[float, float]:
    """The same of one share minus another."""
    return share_interval(value, spread, clusters, lowest=-1.0)


class Average(NamedTuple):
    """Columns of shares (or differences of shares) within each group of an average, measured and resampled.

    The rule for images that are all alike holds within each group: a split of three images, all right, adds no spread
    to the average, however little three images say. What the rule allows in each group is added by squares.
    """

    parts: Floats  # (groups, columns)
    drawn: Floats  # (resamples, groups, columns)
    images: NDArray[np.int64]  # (groups, columns): the images that each share is of
    weights: Floats  # (groups,)

    def only(self, group: int) -> Average:
        """One group by itself."""
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
    """`grouped_ratios` as an average of the groups; without weights they are to be looked at one by one (`only`)."""
    parts, drawn = grouped_ratios(values, counts, cluster, groups, seed, resamples)
    images = np.array([distinct_by(cluster[mask], counts[mask]) for mask in groups])
    return Average(parts, drawn, images, np.ones(len(groups)) if weights is None else weights)


def _all_alike(drawn: Floats) -> NDArray[np.bool_]:
    """Whether resamples (axis 0) never differ, or, as the group is so small, never hold it."""
    most, least = np.fmax.reduce(drawn, 0, initial=-np.inf), np.fmin.reduce(drawn, 0, initial=np.inf)
    return np.asarray(most - least < _SAME)


def weighted_mean(ratios: Floats, weights: Floats) -> Floats:
    """Weighted mean over groups (axis 1); a group that a resample misses gives its weight to the others."""
    there = ~np.isnan(ratios)
    shares = weights[None, :, None] * there
    with np.errstate(invalid="ignore", divide="ignore"):
        result: Floats = np.nansum(np.where(there, ratios, 0.0) * shares, axis=1) / shares.sum(axis=1)
    return result


def mcnemar(only_first: int, only_second: int) -> float:
    """Exact two-sided McNemar p-value from the items that only one of two models gets right."""
    discordant = only_first + only_second
    if discordant == 0:
        return 1.0
    smaller = min(only_first, only_second)
    # Sum of binomial(n, 1/2) up to `smaller`, in logs: n may be tens of thousands.
    logs = [
        math.lgamma(discordant + 1) - math.lgamma(k + 1) - math.lgamma(discordant - k + 1) - discordant * math.log(2)
        for k in range(smaller + 1)
    ]
    largest = max(logs)
    return min(1.0, 2 * math.exp(largest) * sum(math.exp(value - largest) for value in logs))
