"""Measures baselines that never see the image on the same items, and the model's gain over the best of them.

`blind:length` and `blind:ngram` are computed with every run, as they need nothing but the items and cost a second or
two. One seed resamples the same images for the model and the baselines, so the interval of a gain is a paired one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from equipoise.benchmarks.base import Benchmark
from equipoise.core import stats
from equipoise.data.items import Item
from equipoise.evaluation.averages import MOST_GROUPS, Averages, Leaves, leaves, number_of
from equipoise.evaluation.metrics import ROWS, Metric
from equipoise.evaluation.outcomes import Outcomes, outcomes_of
from equipoise.evaluation.record import Blind, BlindNumbers, Gain, Interval
from equipoise.evaluation.scoring import taught_rows
from equipoise.models.blind import by_length, by_ngrams


class Groups(NamedTuple):
    """All items, each split where there are several, and the groups of each rule of the benchmark."""

    splits: dict[str, NDArray[np.bool_]]  # "" is all items
    rules: dict[str, Leaves]

    @classmethod
    def of(cls, outcomes: Outcomes, benchmark: Benchmark | None) -> Groups:
        splits = sorted({tags.get("split", "") for tags in outcomes.tags})
        masks = {split: np.array([tags.get("split", "") == split for tags in outcomes.tags]) for split in splits}
        by_split = {"": np.ones(len(outcomes), dtype=bool)} | (masks if 1 < len(splits) <= MOST_GROUPS else {})
        averages = (benchmark.averages if benchmark else {}).items()
        groups = {rule: leaves(outcomes.tags, average.path, average.least) for rule, average in averages}
        return cls(by_split, {rule: group for rule, group in groups.items() if group is not None})

    def averaged(self, averages: Averages) -> list[stats.Average]:
        """The averages of all items, of each split, and by each rule."""
        of_splits = averages.averaged(list(self.splits.values()))
        by_rule = [averages.averaged(group.masks, group.weights) for group in self.rules.values()]
        return [*(of_splits.only(at) for at in range(len(self.splits))), *by_rule]


Blinds = dict[str, list[stats.Average]]  # by the name of the baseline, as `Groups.averaged` has them


def _texts_alone(outcomes: Outcomes, seed: int, metrics: Sequence[Metric]) -> Averages:
    rows = [row for row in metrics if row.side == "texts" and row.less is None]
    return Averages(outcomes, seed, metrics=rows, keep_empty=True)


def blind_averages(
    items: Sequence[Item], benchmark: Benchmark | None, seed: int = 0, metrics: Sequence[Metric] = ROWS
) -> Blinds:
    """The averages of each baseline; they need no model, so they are computed while photos are decoded."""
    blinds: Blinds = {}
    if not any(item.negatives for item in items):
        return blinds
    rows = None
    # Its rule alone is asked: the identity of such a model hashes all code it depends on, which takes longer.
    for name, rule in (("blind:length", by_length), ("blind:ngram", by_ngrams)):
        rows = taught_rows(items, rule(items), rows)
        outcomes = outcomes_of(rows)
        blinds[name] = Groups.of(outcomes, benchmark).averaged(_texts_alone(outcomes, seed, metrics))
    return blinds


def add_baselines(
    outcomes: Outcomes, blind: Blinds, benchmark: Benchmark | None, seed: int = 0, metrics: Sequence[Metric] = ROWS
) -> Blind | None:
    """The baselines' numbers, of the items that were scored, and the model's gain over them."""
    if not blind or not outcomes.has_negative.any():
        return None
    groups, model = Groups.of(outcomes, benchmark), _texts_alone(outcomes, seed, metrics)
    masks = [*groups.splits.values(), *(group.kept for group in groups.rules.values())]
    own = groups.averaged(model)
    numbers = [
        _numbers(model, {"": own[at]} | {name: averages[at] for name, averages in blind.items()}, mask)
        for at, mask in enumerate(masks)
    ]
    overall, *by_split = numbers[: len(groups.splits)]
    averages = dict(zip(groups.rules, numbers[len(groups.splits) :], strict=True))
    headline = benchmark.rule if benchmark and benchmark.rule in averages else None
    splits = dict(zip(list(groups.splits)[1:], by_split, strict=True))
    return Blind(overall=overall, averages=averages, splits=splits, headline=headline)


def _numbers(model: Averages, blinds: Mapping[str, stats.Average], mask: NDArray[np.bool_]) -> BlindNumbers:
    """The numbers of each baseline, and the gain of the model, which is called ""."""
    n, values = model.counts[mask].sum(axis=0), blinds[""].values
    there = [(at, row) for at, row in enumerate(model.metrics) if math.isfinite(values[at])]
    baselines = {
        name: {row.name: number_of(row, of, at, n[at]) for at, row in there if math.isfinite(of.values[at])}
        for name, of in blinds.items()
        if name
    }
    numbers = BlindNumbers(baselines=baselines, gain={})
    gain: dict[str, Gain] = {}
    for at, row in there:
        if row.better == "low" or (best := numbers.best(row.name)) is None:
            continue
        mine, other = blinds[""], blinds[best[0]]
        change = mine._replace(
            parts=mine.parts[:, [at]] - other.parts[:, [at]],
            drawn=mine.drawn[:, :, [at]] - other.drawn[:, :, [at]],
            images=mine.images[:, [at]],
            signs=None,
        )
        interval = Interval(*change.change(0))
        gain[row.name] = Gain(over=best[0], difference=float(values[at] - other.values[at]), interval=interval)
    return BlindNumbers(baselines=baselines, gain=gain)
