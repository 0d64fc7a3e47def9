"""Confidence intervals and paired tests.

Items that share an image are not independent (REPLACE has up to 26 items of one caption), so images are resampled, not
items: the cluster bootstrap. All ratios of one call use the same resamples, so their differences are paired.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

RESAMPLES = 2000
LEVEL = 0.95
_CHUNK = 64  # resamples multiplied at once, to limit memory
_AT_ONCE = 16_000_000  # and at most so many counts of clusters
_IN_CACHE = 2**16  # counts that are made at once: more leave the processor's cache
_KEPT = 64_000_000  # resamples x clusters that are cached for the next call
_SAME = 1e-12  # smaller differences between resamples are rounding
_ALIKE = 0.5  # images that are taken to have items all alike, so that one image does not say that none has
# Columns of whole numbers that become floats at a time. Other numbers are multiplied together: splitting would change
# their last bits.
_COLUMNS = 128
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


def wilson_distances(share: float, half: float) -> tuple[float, float]:
    """How far Wilson's interval reaches below and above a share whose plain interval is share +- half."""
    pull = half**2 / (share * (1 - share)) if 0 < share < 1 else 0.0  # a difference may be below 0
    wide, shift = math.sqrt(half**2 + pull**2 / 4), pull * (0.5 - share)
    return (wide - shift) / (1 + pull), (wide + shift) / (1 + pull)


def normal_quantile(p: float) -> float:
    from statistics import NormalDist

    return NormalDist().inv_cdf(p)


def within(t: float, df: float) -> float:
    """P(|T| < t) of Student's t with `df` degrees of freedom, which need not be a whole number.

    With t = sqrt(df) tan(a) the density is cos(a) ** (df - 1), which a hundred nodes integrate to 12 digits.
    """
    if math.isinf(df):
        return math.erf(t / math.sqrt(2))
    angle = math.atan(t / math.sqrt(df))
    nodes, weights = _nodes()
    places = angle * (nodes + 1) / 2
    part = float(weights @ np.exp((df - 1) * np.log(np.cos(places)))) * angle / 2
    return min(1.0, 2 * part * math.exp(math.lgamma((df + 1) / 2) - math.lgamma(df / 2)) / math.sqrt(math.pi))


@functools.cache
def _nodes() -> tuple[Floats, Floats]:
    """Not at import: every command would wait for it."""
    return np.polynomial.legendre.leggauss(100)


@functools.lru_cache(maxsize=10_000)
def t_quantile(level: float, df: float) -> float:
    """The t with P(|T| < t) = level: 2.776 for 0.95 and 4 degrees."""
    if df >= 30:  # an expansion in 1 / df, exact to eight digits (Abramowitz and Stegun 26.7.5)
        z = normal_quantile(0.5 + level / 2)
        terms = (
            (z**3 + z) / 4,
            (5 * z**5 + 16 * z**3 + 3 * z) / 96,
            (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
            (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
        )
        return z + sum(term / df**power for power, term in enumerate(terms, 1))
    low, high = 0.0, math.pi / 2
    scale = math.sqrt(df)
    for _ in range(80):
        middle, before = (low + high) / 2, (low, high)
        low, high = (middle, high) if within(scale * math.tan(middle), df) < level else (low, middle)
        if (low, high) == before:  # after about 55 steps no number lies between them
            break
    return scale * math.tan(low)


def chance_of_orders(right: NDArray[np.int64], wrong: NDArray[np.int64]) -> Floats:
    """(items, 3): chance values of Original, Augmented and Brittleness for items with so many right and wrong texts.

    Every order of an item's texts is equally likely. The caption is above all wrong texts with probability
    1 / (1 + wrong), all right texts are with 1 / C(right + wrong, wrong), and none is above the best wrong text with
    wrong / (right + wrong).
    """
    room = int(wrong.max(initial=0)) + 1
    shapes, place = np.unique(right * room + wrong, return_inverse=True)  # one number per pair: sorting rows is slow
    chances = np.zeros((len(shapes), 3))
    for number, (good, bad) in enumerate(divmod(shape, room) for shape in shapes.tolist()):
        above = 1 / math.comb(good + bad, bad)
        chances[number] = 1 / (1 + bad), above, 1 - above - bad / (good + bad)
    return chances[place]


def cluster_bootstrap(sums: Floats, counts: Floats, seed: int = 0, resamples: int = RESAMPLES) -> Floats:
    """Resampled ratios sum(sums) / sum(counts) over clusters.

    `sums` and `counts` are (clusters, columns); the result is (resamples, columns), NaN where a count is 0.
    """
    blocks = _blocks(sums, counts, np.arange(len(sums)), [np.ones(len(sums), dtype=bool)])
    return _resample(blocks, len(sums), seed, resamples)[:, 0]


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
    return _ratios(_blocks(values, counts, cluster, groups), int(cluster.max()) + 1, seed, resamples)


class _Block(NamedTuple):
    """A group's own clusters, with their sums: 240 groups of 200,000 images as dense columns would take 5 GB."""

    held: NDArray[np.int64]
    sums: NDArray[Any]  # (clusters, distinct columns); integers where all are whole and exact in 32-bit floats
    columns: NDArray[np.int64]  # the values, then the counts: where each is in `sums`

    def halves(self) -> list[Floats]:
        """(clusters, columns) sums of the values, and of the counts."""
        return [np.ascontiguousarray(self.sums[:, half], np.float64) for half in np.split(self.columns, 2)]


def _blocks(
    values: Floats, counts: Floats, cluster: NDArray[np.int64], groups: Sequence[NDArray[np.bool_]]
) -> list[_Block]:
    both = np.concatenate([values, counts], axis=1)
    most = max((np.bincount(cluster, np.abs(column)).max(initial=0) for column in both.T), default=0)
    exact = bool((both == np.floor(both)).all()) and most * (int(cluster.max(initial=0)) + 1) < 2**24
    kind = np.min_scalar_type(-int(most) - 1) if exact else np.dtype(np.float64)
    columns = np.arange(both.shape[1])
    if exact:  # equal columns, as metrics often have the same counts, are multiplied once
        columns = numbered(column.tobytes() for column in both.T)
        both = both[:, np.unique(columns, return_index=True)[1]]
    return [_block(both[mask], cluster[mask], kind, columns) for mask in groups]


def _block(both: Floats, cluster: NDArray[np.int64], kind: np.dtype[Any], columns: NDArray[np.int64]) -> _Block:
    held, place = np.unique(cluster, return_inverse=True)
    sums = np.empty((len(held), both.shape[1]), kind)
    for at, column in enumerate(both.T):
        sums[:, at] = np.bincount(place, column, len(held))
    return _Block(held, sums, columns)


def _ratios(blocks: Sequence[_Block], clusters: int, seed: int, resamples: int) -> tuple[Floats, Floats]:
    with np.errstate(invalid="ignore", divide="ignore"):
        measured = np.stack([sums.sum(0) / numbers.sum(0) for sums, numbers in map(_Block.halves, blocks)])
    return measured, _resample(blocks, clusters, seed, resamples)


def numbered(names: Iterable[Hashable]) -> NDArray[np.int64]:
    """Each name as a number from 0, in the order in which they first appear."""
    known: dict[Hashable, int] = {}
    return np.array([known.setdefault(name, len(known)) for name in names], dtype=np.int64)


def distinct(numbers: NDArray[np.int64]) -> int:
    """len(np.unique(numbers)) of numbers from 0 on, without sorting."""
    return int(np.count_nonzero(np.bincount(numbers))) if len(numbers) else 0


def distinct_by(numbers: NDArray[np.int64], there: NDArray[np.generic]) -> list[int]:
    """For each column of `there` (items, columns), the number of different `numbers`: the images behind a metric."""
    return [distinct(numbers[column > 0]) for column in there.T]


def _resample(blocks: Sequence[_Block], clusters: int, seed: int, resamples: int) -> Floats:
    """(resamples, blocks, columns). Sums of whole numbers are exact in any order: large blocks share a matrix product;
    a small block is multiplied with its own clusters only."""
    distinct = blocks[0].sums.shape[1]
    kind: type[np.floating] = np.float32 if blocks[0].sums.dtype.kind == "i" else np.float64
    wide = [index for index, block in enumerate(blocks) if len(block.held) * _SPARSE > clusters]
    at_once = max(1, _COLUMNS // max(1, distinct)) if kind == np.float32 else len(wide) or 1
    parts = [wide[first : first + at_once] for first in range(0, len(wide), at_once)]
    dense = [np.zeros((clusters, len(part), distinct), blocks[0].sums.dtype) for part in parts]
    for part, sums in zip(parts, dense, strict=True):
        for place, index in enumerate(part):
            sums[blocks[index].held, place] = blocks[index].sums
    narrow = {index: (block.held, block.sums.astype(kind)) for index, block in enumerate(blocks) if index not in wide}
    totals = np.empty((resamples, len(blocks), distinct))
    for start, counts in draws(clusters, seed, resamples):
        weights = counts.astype(kind)
        drawn = totals[start : start + len(weights)]
        for part, sums in zip(parts, dense, strict=True):
            product = weights @ sums.reshape(clusters, -1).astype(kind, copy=False)
            drawn[:, part] = product.reshape(len(weights), len(part), distinct)
        for index, (held, some) in narrow.items():
            drawn[:, index] = weights[:, held] @ some
    value, count = np.split(blocks[0].columns, 2)
    with np.errstate(invalid="ignore", divide="ignore"):
        ratios: Floats = totals[..., value] / totals[..., count]
    return ratios


def draws(clusters: int, seed: int, resamples: int) -> Iterator[tuple[int, NDArray[np.integer]]]:
    """(first resample, how often each resample of a chunk contains each cluster)."""
    keep = 0 < clusters * resamples <= _KEPT  # 0 resamples: only the measured value is wanted
    known = _kept(clusters, seed, resamples) if keep else _counts(clusters, seed, resamples)
    return zip(range(0, resamples, _chunk(clusters)), known, strict=True)


def _chunk(clusters: int) -> int:
    return max(1, min(_CHUNK, _AT_ONCE // clusters))


@functools.lru_cache(maxsize=1)
def _kept(clusters: int, seed: int, resamples: int) -> list[NDArray[np.integer]]:
    """Cached, because a summary and its macro average use the same resamples."""
    return [counts.astype(np.min_scalar_type(counts.max())) for counts in _counts(clusters, seed, resamples)]


def _counts(clusters: int, seed: int, resamples: int) -> Iterator[NDArray[np.int64]]:
    rng = np.random.default_rng(seed)
    kind = np.int32 if clusters < 2**31 else np.int64  # draws the same numbers
    for start in range(0, resamples, _chunk(clusters)):
        counts = np.empty((min(_chunk(clusters), resamples - start), clusters), np.int64)
        few = max(1, _IN_CACHE // clusters)
        for first in range(0, len(counts), few):
            part = counts[first : first + few]
            drawn = rng.integers(clusters, size=part.shape, dtype=kind)
            drawn += clusters * np.arange(len(part))[:, None]  # each resample counts in a range of its own
            part[:] = np.bincount(drawn.ravel(), minlength=part.size).reshape(part.shape)
        yield counts


def percentile_interval(values: Floats, level: float = LEVEL) -> tuple[float, float]:
    """The middle `level` of the values, without NaN; (nan, nan) if nothing is left."""
    values = values[~np.isnan(values)]
    if not len(values):
        return (math.nan, math.nan)
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return (float(low), float(high))


def share_interval(value: float, spread: Floats, clusters: int, level: float = LEVEL) -> tuple[float, float]:
    """The interval of one share from its resamples: see `Average`. `clusters` counts the images it is of."""
    return _alone(value, spread, clusters).interval(0, level)


def difference_interval(value: float, spread: Floats, clusters: int) -> tuple[float, float]:
    """The same of a difference of shares. No resample on one side of zero: no image is taken to be there."""
    return _alone(value, spread, clusters).change(0)


def _alone(value: float, spread: Floats, clusters: int) -> Average:
    images = np.array([[clusters]])
    return Average(np.array([[value]]), spread[:, None, None], images, np.ones(1), images - 1.0, images + math.inf)


class Average(NamedTuple):
    """Shares, or differences of shares, within each group of an average, measured and resampled.

    Resamples alone would claim too much where few images differ: three of three would be 100 [100, 100], and a
    difference of one gain in twenty could not be a loss. So what was not seen among n images has Wilson's upper bound
    for 0 of n (of three: 56%), within each group; the groups' additions are summed as squares.
    """

    parts: Floats  # (groups, columns)
    drawn: Floats  # (resamples, groups, columns)
    images: NDArray[np.int64]  # (groups, columns): the number of images behind each share
    weights: Floats  # (groups,)
    degrees: Floats  # (groups, columns) of freedom: images - 1, fewer where some images have many items
    rare: Floats  # (groups, columns): the images that are not all right, or those not all wrong, if these are fewer
    signs: NDArray[np.bool_] | None = None  # (2, groups, columns): some image is below zero, some above

    def only(self, group: int) -> Average:
        place = slice(group, group + 1)
        signs = None if self.signs is None else self.signs[:, place]
        about = self.images[place], np.ones(1), self.degrees[place], self.rare[place], signs
        return Average(self.parts[place], self.drawn[:, place], *about)

    @property
    def values(self) -> Floats:
        means: Floats = weighted_mean(self.parts[None], self.weights)[0]
        return means

    @property
    def spread(self) -> Floats:
        """(resamples, columns)"""
        return weighted_mean(self.drawn, self.weights)

    def interval(self, column: int, level: float = LEVEL) -> tuple[float, float]:
        """The interval of a share: Wilson's, for as many independent items as have the variance of the resamples,
        with Student's t.

        If few images have a wrong item, they say little of how alike the items of an image are. So the variance moves
        towards that of items all alike, as half an image more of that kind would move it.
        """
        there = ~np.isnan(self.parts[:, column])
        parts, drawn = self.parts[there, column], self.drawn[:, there, column]
        share = self.weights[there] / self.weights[there].sum()
        value, alike = float(share @ parts), _all_alike(drawn)
        down = up = 0.0
        mixed = weighted_mean(drawn[:, :, None], share)
        if not _all_alike(mixed)[0]:
            degrees, rare = self.degrees[there, column], self.rare[there, column]
            own = np.where(alike, 0.0, np.nanvar(drawn, 0))
            more = np.where(alike, 0.0, np.maximum(0.0, parts * (1 - parts) / (degrees + 1) - own))
            more *= share**2 * _ALIKE / (rare + _ALIKE)
            each = share**2 * own + more
            freedom = each.sum() ** 2 / (each**2 / np.maximum(1.0, degrees)).sum() if each.any() else math.inf
            variance = float(np.nanvar(mixed) + more.sum())
            down, up = wilson_distances(value, t_quantile(level, float(freedom)) * math.sqrt(variance))
        unseen = np.array([wilson(0, int(n), level)[1] for n in self.images[there, column][alike]])
        lower, upper = (share[alike] * np.minimum(unseen, most) for most in (parts[alike], 1 - parts[alike]))
        return max(0.0, value - math.hypot(down, *lower)), min(1.0, value + math.hypot(up, *upper))

    def change(self, column: int, level: float = LEVEL) -> tuple[float, float]:
        """The interval of a difference: percentiles of the resamples, wider where no image is on one side of zero."""
        parts, drawn = self.parts[:, column], self.drawn[:, :, column]
        there = ~np.isnan(parts)
        share = np.where(there, self.weights, 0.0) / self.weights[there].sum()
        value = float((share * np.where(there, parts, 0.0)).sum())
        with np.errstate(invalid="ignore"):
            sides = self.signs[..., column] if self.signs is not None else ((drawn < 0).any(0), (drawn > 0).any(0))
        mean = weighted_mean(drawn[:, :, None], self.weights)[:, 0]
        ends = (value, value) if _all_alike(mean) else percentile_interval(mean, level)
        bounds = []
        for sign, end, seen in zip((-1, 1), ends, sides, strict=True):
            more = sum(
                (share[group] * min(wilson(0, int(self.images[group, column]), level)[1], 1 - sign * parts[group])) ** 2
                for group in np.flatnonzero(there & (_all_alike(drawn) | ~seen)).tolist()
            )
            bounds.append(sign * min(1.0, sign * value + math.hypot(max(0.0, sign * (end - value)), math.sqrt(more))))
        return bounds[0], bounds[1]


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
    blocks = _blocks(values, counts, cluster, groups)
    parts, drawn = _ratios(blocks, int(cluster.max()) + 1, seed, resamples)
    images, degrees, rare, signs = (np.array(part) for part in zip(*map(_seen, blocks), strict=True))
    weights = np.ones(len(groups)) if weights is None else weights
    return Average(parts, drawn, images, weights, degrees, rare, signs.swapaxes(0, 1))


def _seen(block: _Block) -> tuple[NDArray[np.generic], ...]:
    """What `Average` has of a group: images, degrees, rare, signs."""
    sums, numbers = block.halves()
    with np.errstate(invalid="ignore"):
        degrees = numbers.sum(0) ** 2 / (numbers**2).sum(0) - 1
    rare = np.minimum((sums > 0).sum(0), (sums < numbers).sum(0)).astype(np.float64)
    return (numbers > 0).sum(0), degrees, rare, np.array([(sums < 0).any(0), (sums > 0).any(0)])


def averaged_all(values: Floats, cluster: NDArray[np.int64], seed: int = 0, resamples: int = RESAMPLES) -> Average:
    """The average of one value an item."""
    every = [np.ones(len(values), dtype=bool)]
    return averaged(values[:, None], np.ones((len(values), 1)), cluster, every, None, seed, resamples)


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
