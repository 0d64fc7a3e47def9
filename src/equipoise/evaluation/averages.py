"""Averages outcomes into numbers: shares with intervals for all items and each tag, by every rule of a benchmark.

The graded numbers next to the shares say how far a model sets right and wrong captions apart, and two right ones.
docs/metrics.md has their definitions: LGIP's (Lee 2025, arXiv 2511.13494) as its code computes them, over pairs of
texts in units of the score, and ours over items in units of the spread of s(c). Their intervals are normal ones with
the variance between images, which is cheap and, for means, close to the bootstrap.
"""

from __future__ import annotations

import logging
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from equipoise.benchmarks.base import Benchmark
from equipoise.core import stats
from equipoise.evaluation.metrics import ROWS, Metric
from equipoise.evaluation.outcomes import Bools, Outcomes
from equipoise.evaluation.paper_metrics import FUNCTIONS
from equipoise.evaluation.record import Interval, ItemNumbers, MacroNumbers, Metrics, Number, Summary
from equipoise.evaluation.scores import kinds_of

log = logging.getLogger(__name__)

MOST_GROUPS = 100  # a tag with more values (an image id) is no breakdown
_NO_GROUPS = {"captions", "opposite_of"}  # tags that perturb reads and writes: texts of the photo, the id of an item
NEED_SCORES = {"group_match", "truth", "ranks"}  # metrics that need scores, not only right and wrong
_SCALE = 2.0**40  # scores are summed this much smaller, which is exact: some people's are near 1e308


def number_of(metric: Metric, average: stats.Average, at: int, n: float, chance: float = math.nan) -> Number:
    """One column of an average as a record has it."""
    signed = metric.side == "answers" and metric.less is not None  # fewer flips when reworded than when repeated
    interval = average.change(at) if signed else average.interval(at)
    return Number(
        value=float(average.values[at]), interval=Interval(*interval), n=int(n), chance=_finite(chance), own=metric.own
    )


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


class Averages:
    """Every average of some outcomes: the columns of the metrics and their chance are made once for all of them."""

    def __init__(
        self,
        outcomes: Outcomes,
        seed: int = 0,
        resamples: int = stats.RESAMPLES,
        metrics: Sequence[Metric] = ROWS,
        outcomes_only: bool = False,
        keep_empty: bool = False,  # also columns of which no item is asked: those of two models are compared by place
    ) -> None:
        self.outcomes, self.seed, self.resamples = outcomes, seed, resamples
        # Without scores, ties and mean scores would be an invention.
        self.scored = not (outcomes_only or bool(np.isnan(outcomes.caption).any()))
        metrics = [row for row in metrics if self.scored or row.name not in NEED_SCORES]
        columns = {row: row.column(outcomes) for row in metrics}
        columns = {row: column for row, column in columns.items() if keep_empty or not np.isnan(column).all()}
        names = {None, *(row.name for row in columns)}
        columns = {row: column for row, column in columns.items() if row.less in names}
        named = {row.name: column for row, column in columns.items()}
        columns = {row: column - named[row.less] if row.less else column for row, column in columns.items()}
        self.metrics = list(columns)  # that some item is asked
        empty = np.zeros((len(outcomes), 0))
        values = np.stack(list(columns.values()), axis=1) if columns else empty
        self.wins, self.counts = np.nan_to_num(values, nan=0.0), (~np.isnan(values)).astype(np.float64)
        unknown = np.full(len(outcomes), np.nan)
        known = self.scored or bool(outcomes.answered)
        chance = [row.chance(outcomes) if row.chance and known else unknown for row in self.metrics]
        self.chance = np.where(self.counts > 0, np.stack(chance, axis=1) if chance else empty, 0.0)

    def summary(self) -> Summary:
        """The numbers of all items and of each value of each tag."""
        groups: dict[tuple[str, str], Bools] = {("", ""): np.ones(len(self.outcomes), dtype=bool)}
        kinds, kind = kinds_of(self.outcomes.tags)
        for tag in _breakdowns(kinds):
            # Numbers in place of the words: an array of strings gives every row the width of the longest.
            number = {value: index for index, value in enumerate(sorted({tags.get(tag, "") for tags in kinds}))}
            values = np.array([number[tags.get(tag, "")] for tags in kinds])[kind]
            groups |= {(tag, value): values == index for value, index in number.items() if value != ""}
        masks = list(groups.values())
        average, unit = self.averaged(masks), spread(self.outcomes.caption)
        numbers = [self._numbers(average.only(index), mask, unit) for index, mask in enumerate(masks)]
        by: dict[str, dict[str, ItemNumbers]] = {}
        for (tag, value), group in zip(list(groups)[1:], numbers[1:], strict=True):
            by.setdefault(tag, {})[value] = group
        return Summary(overall=numbers[0], by=by)

    def macro(self, path: Sequence[str], least: int = 1) -> MacroNumbers | None:
        """Unweighted means over groups, nested along the tags of `path`, outermost first.

        REPLACE is the mean of attributes and relations; VL-CheckList a mean over tests of means over sources of means
        over files. Innermost groups with fewer than `least` items are left out, as ARO does below 25; None where that
        leaves nothing (a first look at a few items).
        """
        groups = leaves(self.outcomes.tags, path, least)
        if groups is None:
            return None
        means = [self._mean_scores(mask, _SCALE) for mask in groups.masks]
        scores = stats.weighted_mean(np.array([means]), groups.weights)[0] * _SCALE
        chance = np.array([[self._by_chance(mask) for mask in groups.masks]])
        return MacroNumbers(
            rule="",
            over=list(path),
            least=least,
            groups=len(groups.masks),
            left_out=groups.left_out,
            n=int(groups.kept.sum()),
            **self._ties(groups.kept),
            metrics=self._named(
                self.averaged(groups.masks, groups.weights), groups.kept, stats.weighted_mean(chance, groups.weights)[0]
            )
            | self._scores(scores.tolist(), groups.kept),
        )

    def by_rule(self, benchmark: Benchmark) -> dict[str, MacroNumbers]:
        """The numbers by each rule; two papers with one rule share the work.

        A rule is left out where no group is large enough, and where items lack its tags: all items without the tag
        would pass for one group.
        """
        known: dict[tuple[tuple[str, ...], int], MacroNumbers | None] = {}
        averages = {}
        for rule, average in benchmark.averages.items():
            lacking = any(tag not in tags for tags in kinds_of(self.outcomes.tags)[0] for tag in average.path)
            if rule != benchmark.rule and lacking:
                log.warning("%s: no average %r: items lack the tag %s", benchmark.name, rule, "/".join(average.path))
                continue
            key = (average.path, average.least)
            if key not in known:
                known[key] = self.macro(*key)
            if (numbers := known[key]) is not None:
                averages[rule] = numbers.model_copy(update={"rule": rule})
        return averages

    def averaged(self, masks: Sequence[Bools], weights: stats.Floats | None = None) -> stats.Average:
        return stats.averaged(self.wins, self.counts, self.outcomes.cluster, masks, weights, self.seed, self.resamples)

    def _numbers(self, average: stats.Average, mask: Bools, unit: float | None) -> ItemNumbers:
        metrics = self._named(average, mask, self._by_chance(mask)) | self._scores(self._mean_scores(mask), mask)
        return ItemNumbers(
            n=int(mask.sum()),
            images=stats.distinct(self.outcomes.cluster[mask]),
            **self._ties(mask),
            metrics=metrics | (_graded(self.outcomes, mask, unit) if self.scored else {}),
        )

    def _named(self, average: stats.Average, mask: Bools, chance: stats.Floats) -> dict[str, Number]:
        """The averages by metric, of those that some item of `mask` is asked."""
        values, n = average.values, self.counts[mask].sum(axis=0)
        there = [(at, row) for at, row in enumerate(self.metrics) if math.isfinite(values[at])]
        return {row.name: number_of(row, average, at, n[at], chance[at]) for at, row in there}

    def _by_chance(self, mask: Bools) -> stats.Floats:
        """The share of a model that orders an item's texts at random; NaN where none is known."""
        n = self.counts[mask].sum(0)
        return np.asarray(self.chance[mask].sum(0) / np.where(n, n, np.nan))

    def _ties(self, mask: Bools) -> dict[str, int | None]:
        if not self.scored:
            return {"ties": None, "image_ties": None}
        images = self.outcomes.images
        on_images = int((mask & images.tie).sum()) if (mask & images.asked).any() else None
        return {"ties": int((mask & self.outcomes.tie).sum()), "image_ties": on_images}

    def _mean_scores(self, mask: Bools, smaller: float = 1.0) -> list[float]:
        """Mean scores of captions, positives and negatives, divided by `smaller`; NaN where there are none."""
        outcomes = self.outcomes
        columns = zip((outcomes.caption, outcomes.positive, outcomes.negative), self._having(mask), strict=True)
        means = [float(np.mean(column[there] / _SCALE)) if there.any() else math.nan for column, there in columns]
        return [mean * (_SCALE / smaller) for mean in means]

    def _having(self, mask: Bools) -> tuple[Bools, Bools, Bools]:
        """The items of `mask` that have a caption, a positive, a negative with a score."""
        if not self.scored:
            mask = np.zeros_like(mask)
        return mask, mask & self.outcomes.has_positive, mask & self.outcomes.has_negative

    def _scores(self, means: Sequence[float], mask: Bools) -> dict[str, Number]:
        columns = zip(("caption", "positive", "negative"), means, self._having(mask), strict=True)
        return {
            f"mean_score_{text}": Number(value=mean, interval=None, n=int(there.sum()))
            for text, mean, there in columns
            if math.isfinite(mean)
        }


def summarise(
    outcomes: Outcomes, seed: int = 0, resamples: int = stats.RESAMPLES, metrics: Sequence[Metric] = ROWS
) -> Summary:
    """The numbers of all items and of each value of each tag: fractions between 0 and 1, with intervals."""
    return Averages(outcomes, seed, resamples, metrics).summary()


def _breakdowns(tags: Sequence[Mapping[str, str]]) -> list[str]:
    """The tags worth a table: not one value for nearly every item."""
    values: dict[str, set[str]] = {}
    for item in tags:
        for tag, value in item.items():
            values.setdefault(tag, set()).add(value)
    return [tag for tag, distinct in values.items() if len(distinct) <= MOST_GROUPS and tag not in _NO_GROUPS]


def spread(captions: stats.Floats) -> float | None:
    """The standard deviation of the captions' scores; None where there is none to measure by."""
    largest = float(np.abs(captions).max(initial=0.0)) or 1.0  # some people's scores are near 1e308
    deviation = float(np.std(captions / largest)) * largest
    return deviation if deviation > 1e-12 * largest and math.isfinite(deviation) else None


def _graded(outcomes: Outcomes, mask: Bools, unit: float | None) -> dict[str, Number]:
    """The graded numbers of the items of `mask`; `unit` is the spread over all items."""
    cluster, change, above = outcomes.cluster[mask], outcomes.change[mask], outcomes.above[mask]
    caption, positive, negative = outcomes.caption[mask], outcomes.positive[mask], outcomes.negative[mask]
    positives, negatives = outcomes.positives[mask].astype(np.float64), outcomes.negatives[mask].astype(np.float64)
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
        means = {name: _mean(*arguments, cluster) for name, arguments in asked.items()}
    numbers = {} if unit is None else {"spread": Number(value=unit, interval=None, n=len(outcomes))}
    numbers |= {name: mean for name, mean in means.items() if mean is not None}
    if (rate := numbers.get("positive_rate")) is not None:
        interval, share = rate.interval, rate.value
        if share in (0.0, 1.0):
            images = stats.distinct(cluster[negatives > 0])
            interval = Interval(*stats.wilson(round(share * images), images))
        elif interval is not None:
            down, up = stats.wilson_distances(share, share - interval.low)
            interval = Interval(share - down, share + up)
        numbers["positive_rate"] = rate.model_copy(update={"interval": interval})
    return numbers


def mean_number(values: stats.Floats, cluster: NDArray[np.int64]) -> Number | None:
    """The mean of the values that are there (not NaN), with the same interval; None where there is none."""
    there = ~np.isnan(values)
    return _mean(np.where(there, values, 0.0), there.astype(np.float64), 1.0, cluster)


def _mean(values: stats.Floats, weights: stats.Floats, unit: float | None, cluster: NDArray[np.int64]) -> Number | None:
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
    n = int(weights.sum())
    _, place = np.unique(cluster, return_inverse=True)
    residuals = np.bincount(place, weights * (values - mean))
    images = len(residuals)
    if images < 2:
        return Number(value=mean / unit, interval=None, n=n)
    error = math.sqrt(float(residuals @ residuals) * images / (images - 1)) / float(weights.sum())
    half = stats.normal_quantile(0.5 + stats.LEVEL / 2) * error
    low, high = (mean - half) / unit, (mean + half) / unit
    interval = Interval(low, high) if math.isfinite(low) and math.isfinite(high) else None
    return Number(value=mean / unit, interval=interval, n=n)


@dataclass(frozen=True)
class Leaves:
    """The innermost groups of a macro average, and how much each counts."""

    masks: list[Bools]  # over items
    weights: stats.Floats
    kept: Bools  # the items that are in one of them
    left_out: int  # groups that are too small


def leaves(tags: Sequence[Mapping[str, str]], path: Sequence[str], least: int = 1) -> Leaves | None:
    """The groups of `macro`, None where none has `least` items; without a path all items are one group."""
    kinds, kind = kinds_of(tags)
    keys = [tuple(item.get(tag, "") for tag in path) for item in kinds]
    sizes: Counter[tuple[str, ...]] = Counter()
    for key, size in zip(keys, np.bincount(kind, minlength=len(keys)).tolist(), strict=True):
        sizes[key] += size
    chosen = sorted(key for key, size in sizes.items() if size >= least)
    if not chosen:
        return None
    number = {leaf: index for index, leaf in enumerate(chosen)}
    leaf_of = np.array([number.get(key, -1) for key in keys])[kind]
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


def measure(
    outcomes: Outcomes,
    benchmark: Benchmark | None,
    seed: int = 0,
    resamples: int = stats.RESAMPLES,
    metrics: Sequence[Metric] = ROWS,
    outcomes_only: bool = False,
) -> Metrics:
    """The numbers of scored items; without a benchmark the plain mean alone. With `outcomes_only` the scores stand for
    right and wrong, and what needs a score is left out."""
    every = Averages(outcomes, seed, resamples, metrics, outcomes_only)
    summary, averages = every.summary(), every.by_rule(benchmark) if benchmark else {}
    left_out = NEED_SCORES if outcomes_only else set()
    asked = [name for name in (benchmark.metrics if benchmark else ()) if name not in left_out]
    rule = benchmark.rule if benchmark and benchmark.rule in averages else None
    measured = Metrics(overall=summary.overall, by=summary.by, averages=averages, rule=rule)
    return measured.also(
        {name: number for function in asked for name, number in FUNCTIONS[function](outcomes.rows).items()}
    )
