"""Measures baselines that never see the image on the same items, and the model's gain over the best of them.

`blind:length` and `blind:ngram` are computed with every run, as they need nothing but the items and cost a second or
two. One seed resamples the same images for the model and the baselines, so the interval of a gain is a paired one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from equipoise.benchmarks.base import Benchmark
from equipoise.core import stats
from equipoise.data.items import Item
from equipoise.evaluation.averages import MOST_GROUPS, Averages, leaves, number_of
from equipoise.evaluation.metrics import Metric
from equipoise.evaluation.outcomes import ROWS, Outcomes, outcomes_of
from equipoise.evaluation.record import Blind, BlindNumbers, Gain, Interval
from equipoise.evaluation.scores import Scores
from equipoise.evaluation.scoring import score_items
from equipoise.models.blind import length, ngram


def add_baselines(
    outcomes: Outcomes,
    items: Sequence[Item],
    benchmark: Benchmark | None,
    seed: int = 0,
    metrics: Sequence[Metric] = ROWS,
) -> Blind | None:
    """The baselines' numbers on those of the items that were scored. What was not scored teaches them nothing."""
    if not outcomes.has_negative.any():
        return None
    known = {item.id: item for item in items}
    taught = [known[name] for name in Scores.of(outcomes.rows).ids]  # in the order of the outcomes
    asked = (length(), ngram())
    text_metrics = [row for row in metrics if row.side == "texts" and row.less is None]
    model = Averages(outcomes, seed, metrics=text_metrics, keep_empty=True)
    blind = {
        str(one.card["spec"]): Averages(
            outcomes_of(score_items(one, taught).rows), seed, metrics=text_metrics, keep_empty=True
        )
        for one in asked
    }
    splits = sorted({tags.get("split", "") for tags in outcomes.tags})
    masks = {split: np.array([tags.get("split", "") == split for tags in outcomes.tags]) for split in splits}
    several = masks if 1 < len(splits) <= MOST_GROUPS else {}
    groups = [np.ones(len(outcomes), dtype=bool), *several.values()]
    found = {name: one.averaged(groups) for name, one in {"": model, **blind}.items()}
    numbers = [
        _numbers(model, {name: average.only(at) for name, average in found.items()}, mask)
        for at, mask in enumerate(groups)
    ]
    averages = {}
    for rule, average in (benchmark.averages if benchmark else {}).items():
        if (group := leaves(outcomes.tags, average.path, average.least)) is not None:
            found = {name: one.averaged(group.masks, group.weights) for name, one in {"": model, **blind}.items()}
            averages[rule] = _numbers(model, found, group.kept)
    headline = benchmark.rule if benchmark and benchmark.rule in averages else None
    by_split = dict(zip(several, numbers[1:], strict=True))
    return Blind(overall=numbers[0], averages=averages, splits=by_split, headline=headline)


def _numbers(model: Averages, found: Mapping[str, stats.Average], mask: NDArray[np.bool_]) -> BlindNumbers:
    """The numbers of each baseline, and the gain of the model, which is called ""."""
    n, values = model.counts[mask].sum(axis=0), found[""].values
    there = [(at, row) for at, row in enumerate(model.metrics) if math.isfinite(values[at])]
    baselines = {
        name: {row.name: number_of(row, of, at, n[at]) for at, row in there if math.isfinite(of.values[at])}
        for name, of in found.items()
        if name
    }
    numbers = BlindNumbers(baselines=baselines, gain={})
    gain: dict[str, Gain] = {}
    for at, row in there:
        if row.better == "low" or (best := numbers.best(row.name)) is None:
            continue
        mine, other = found[""], found[best[0]]
        change = mine._replace(
            parts=mine.parts[:, [at]] - other.parts[:, [at]],
            drawn=mine.drawn[:, :, [at]] - other.drawn[:, :, [at]],
            images=mine.images[:, [at]],
        )
        interval = Interval(*change.interval(0, lowest=-1.0))
        gain[row.name] = Gain(over=best[0], difference=float(values[at] - other.values[at]), interval=interval)
    return BlindNumbers(baselines=baselines, gain=gain)
