"""Scores -> outcomes -> numbers.

For one item, with right captions R (the caption c and its hard positives p) and the highest hard negative n:

    Original     c > n
    Augmented    every right caption > n
    Brittleness  some right caption > n and some right caption < n
    tie          some right caption == n: never a win, never brittle, always counted

All comparisons are strict. With one positive and one negative these are the ECCV paper's definitions
(c > n > p or p > n > c). The published code prints raw counts and counts a tie as wrong too, so the numbers agree.
Items without a hard positive count for Original only.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from equipoise import stats
from equipoise.evaluation.record import METRICS, Interval, ItemNumbers, MacroNumbers, MeanScores, Metric, Summary
from equipoise.evaluation.scores import ItemScores, Lists, Scores

MOST_GROUPS = 100  # a tag with more values (an image id) is no breakdown
_SCALE = 2.0**40  # scores are summed this much smaller, which is exact: some people's are near 1e308

Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Outcomes:
    """One entry an item, in the order of the scores."""

    original: Bools
    augmented: Bools  # False where the item has no positive; see has_positive
    brittle: Bools
    tie: Bools
    has_positive: Bools
    caption: stats.Floats  # scores; the positives' and negatives' are means within the item
    positive: stats.Floats
    negative: stats.Floats
    cluster: NDArray[np.int64]
    tags: Sequence[Mapping[str, str]]

    def __len__(self) -> int:
        return len(self.original)

    def of(self, index: int) -> dict[str, bool]:
        """The outcome of one item, as written beside its scores."""
        shown = {"original": bool(self.original[index])}
        if self.has_positive[index]:
            shown |= {"augmented": bool(self.augmented[index]), "brittle": bool(self.brittle[index])}
        return shown | {"tie": bool(self.tie[index])}


def judge(scores: Sequence[ItemScores]) -> Outcomes:
    """The outcome of every item."""
    columns = Scores.of(scores)
    right, negatives = columns.right, columns.negatives
    caption = right.values[right.starts]
    highest_negative = negatives.reduced(np.maximum, -math.inf)
    lowest_right, highest_right = right.reduced(np.minimum, math.inf), right.reduced(np.maximum, -math.inf)
    tie = right.reduced(np.logical_or, False, right.values == np.repeat(highest_negative, right.counts))
    has_positive = right.counts > 1
    clusters: dict[str, int] = {}
    names = (name if image is None else image for name, image in zip(columns.ids, columns.images, strict=True))
    return Outcomes(
        original=caption > highest_negative,
        augmented=has_positive & (lowest_right > highest_negative),
        brittle=(lowest_right < highest_negative) & (highest_right > highest_negative) & ~tie,
        tie=tie,
        has_positive=has_positive,
        caption=caption,
        positive=_means(right, skip=1),
        negative=_means(negatives),
        cluster=np.fromiter((clusters.setdefault(name, len(clusters)) for name in names), np.int64, len(columns)),
        tags=columns.tags,
    )


def _means(lists: Lists, skip: int = 0) -> stats.Floats:
    """The mean of each list, without its first so many values; NaN where nothing is left.

    One and two values are most of them, and their sums are exact or correctly rounded as `fsum`'s are.
    """
    values, first, counts = lists.values, lists.starts + skip, lists.counts - skip
    found = np.full(len(counts), math.nan)
    one, two = first[counts == 1], first[counts == 2]
    found[counts == 1] = values[one]
    found[counts == 2] = (values[two] / _SCALE + values[two + 1] / _SCALE) / 2 * _SCALE
    for index in np.flatnonzero(counts > 2).tolist():
        found[index] = _mean(lists[index][skip:])
    return found


def _mean(values: Sequence[float]) -> float:
    return math.fsum(value / _SCALE for value in values) / len(values) * _SCALE


# ---------------------------------------------------------------------------- numbers


def summarise(outcomes: Outcomes, seed: int = 0, resamples: int = stats.RESAMPLES) -> Summary:
    """The numbers of all items and of each value of each tag: fractions between 0 and 1, with intervals."""
    groups: dict[tuple[str, str], Bools] = {("", ""): np.ones(len(outcomes), dtype=bool)}
    for tag in _breakdowns(outcomes.tags):
        # Numbers in place of the words: an array of strings gives every row the width of the longest.
        number = {value: index for index, value in enumerate(sorted({tags.get(tag, "") for tags in outcomes.tags}))}
        values = np.array([number[tags.get(tag, "")] for tags in outcomes.tags])
        groups |= {(tag, value): values == index for value, index in number.items() if value != ""}
    numbers = _numbers(outcomes, list(groups.values()), seed, resamples)
    by: dict[str, dict[str, ItemNumbers]] = {}
    for (tag, value), group in zip(list(groups)[1:], numbers[1:], strict=True):
        by.setdefault(tag, {})[value] = group
    return Summary(overall=numbers[0], by=by)


def _breakdowns(tags: Sequence[Mapping[str, str]]) -> list[str]:
    """The tags worth a table: not one value for nearly every item."""
    values: dict[str, set[str]] = {}
    for item in tags:
        for tag, value in item.items():
            values.setdefault(tag, set()).add(value)
    return [tag for tag, found in values.items() if len(found) <= MOST_GROUPS]


def _columns(outcomes: Outcomes) -> tuple[stats.Floats, stats.Floats]:
    """Per item: wins and counts of original, augmented, brittleness, and original where there is a positive."""
    positive = outcomes.has_positive
    wins = [outcomes.original, outcomes.augmented, outcomes.brittle, outcomes.original & positive]
    counts = [np.ones(len(outcomes), dtype=bool), positive, positive, positive]
    return np.stack(wins, axis=1).astype(np.float64), np.stack(counts, axis=1).astype(np.float64)


def _numbers(outcomes: Outcomes, groups: Sequence[Bools], seed: int, resamples: int) -> list[ItemNumbers]:
    measured, ratios = stats.grouped_ratios(*_columns(outcomes), outcomes.cluster, groups, seed, resamples)
    found = []
    for index, mask in enumerate(groups):
        n, n_positive = int(mask.sum()), int((mask & outcomes.has_positive).sum())
        clusters = len(np.unique(outcomes.cluster[mask]))
        values, intervals = _named(measured[index], ratios[:, index], clusters)
        found.append(
            ItemNumbers(
                n=n,
                n_positives=n_positive,
                images=clusters,
                ties=int((mask & outcomes.tie).sum()),
                **values,
                intervals=intervals,
                wilson={"original": Interval(*stats.wilson(int((mask & outcomes.original).sum()), n))},
                mean_scores=MeanScores(
                    caption=_mean_score(outcomes.caption[mask]),
                    positive=_mean_score(outcomes.positive[mask & outcomes.has_positive]),
                    negative=_mean_score(outcomes.negative[mask]),
                ),
            )
        )
    return found


def _named(
    measured: stats.Floats, ratios: stats.Floats, clusters: int
) -> tuple[dict[Metric, float | None], dict[Metric, Interval]]:
    """Four columns (see _columns) as the metrics people read, and their intervals where there is a value."""
    values = dict(zip(METRICS, [*measured[:3], measured[3] - measured[1]], strict=True))
    spread = dict(zip(METRICS, [*ratios[:, :3].T, ratios[:, 3] - ratios[:, 1]], strict=True))
    finite = {name: _finite(value) for name, value in values.items()}
    known = [name for name in METRICS if finite[name] is not None]
    return finite, {name: _interval(values[name], spread[name], clusters) for name in known}


def _interval(value: float, spread: stats.Floats, clusters: int) -> Interval:
    """Bootstrap percentiles. Where every item agrees they would claim certainty, so Wilson's over images stands in."""
    if value in (0.0, 1.0) and np.all(spread[~np.isnan(spread)] == value):
        return Interval(*stats.wilson(round(value * clusters), clusters))
    return Interval(*stats.percentile_interval(spread))


def _mean_score(values: stats.Floats) -> float | None:
    return _finite(float(np.mean(values / _SCALE)) * _SCALE) if len(values) else None


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


# ---------------------------------------------------------------------------- macro averages


def macro(
    outcomes: Outcomes,
    path: Sequence[str],
    least: int = 1,
    seed: int = 0,
    resamples: int = stats.RESAMPLES,
) -> MacroNumbers | None:
    """Unweighted means over groups, nested along the tags of `path`, outermost first.

    REPLACE is the mean of attributes and relations; VL-CheckList a mean over tests of means over sources of means
    over files. Innermost groups with fewer than `least` items are left out, as ARO does below 25; None where that
    leaves nothing (a first look at a few items).
    """
    found = leaves(outcomes.tags, path, least)
    if found is None:
        return None
    measured, ratios = stats.grouped_ratios(*_columns(outcomes), outcomes.cluster, found.masks, seed, resamples)
    clusters = len(np.unique(outcomes.cluster[found.kept]))
    measured_mean, ratios_mean = (weighted_mean(part, found.weights) for part in (measured[None], ratios))
    values, intervals = _named(measured_mean[0], ratios_mean, clusters)
    return MacroNumbers(
        rule=None,
        over=list(path),
        least=least,
        groups=len(found.masks),
        left_out=found.left_out,
        n=int(found.kept.sum()),
        ties=int((outcomes.tie & found.kept).sum()),
        **values,
        intervals=intervals,
        mean_scores=_macro_scores(outcomes, found),
    )


def _macro_scores(outcomes: Outcomes, found: Leaves) -> MeanScores:
    """Mean scores by the weights of the groups, so that they belong to the accuracies beside them."""
    columns = [outcomes.caption, outcomes.positive, outcomes.negative]
    there = [np.ones(len(outcomes), dtype=bool), outcomes.has_positive, np.ones(len(outcomes), dtype=bool)]
    means = np.array(
        [
            [
                value / _SCALE if (value := _mean_score(column[mask & kept])) is not None else np.nan
                for column, kept in zip(columns, there, strict=True)
            ]
            for mask in found.masks
        ]
    )
    caption, positive, negative = (_finite(value * _SCALE) for value in weighted_mean(means[None], found.weights)[0])
    return MeanScores(caption=caption, positive=positive, negative=negative)


@dataclass(frozen=True)
class Leaves:
    """The innermost groups of a macro average, and how much each counts."""

    masks: list[Bools]  # over items
    weights: stats.Floats
    kept: Bools  # the items that are in one of them
    left_out: int  # groups that are too small


def leaves(tags: Sequence[Mapping[str, str]], path: Sequence[str], least: int = 1) -> Leaves | None:
    """The groups of `macro`, None where none has `least` items; without a path all items are one group."""
    keys = [tuple(item.get(tag, "") for tag in path) for item in tags]
    sizes = Counter(keys)
    chosen = sorted(key for key, size in sizes.items() if size >= least)
    if not chosen:
        return None
    number = {leaf: index for index, leaf in enumerate(chosen)}
    leaf_of = np.array([number.get(key, -1) for key in keys])
    return Leaves(
        masks=[leaf_of == index for index in range(len(chosen))],
        weights=np.array([_leaf_weight(leaf, chosen) for leaf in chosen]),
        kept=leaf_of >= 0,
        left_out=len(sizes) - len(chosen),
    )


def _leaf_weight(leaf: tuple[str, ...], leaves: Sequence[tuple[str, ...]]) -> float:
    """1 / (children at every level above the leaf)."""
    weight = 1.0
    for depth in range(len(leaf)):
        siblings = {other[: depth + 1] for other in leaves if other[:depth] == leaf[:depth]}
        weight /= len(siblings)
    return weight


def weighted_mean(ratios: stats.Floats, weights: stats.Floats) -> stats.Floats:
    """Weighted mean over groups (axis 1); a group that a resample misses gives its weight to the others."""
    there = ~np.isnan(ratios)
    shares = weights[None, :, None] * there
    with np.errstate(invalid="ignore", divide="ignore"):
        result: stats.Floats = np.nansum(np.where(there, ratios, 0.0) * shares, axis=1) / shares.sum(axis=1)
    return result
