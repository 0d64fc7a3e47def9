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
from equipoise.evaluation.metrics import ROWS, Metric
from equipoise.evaluation.outcomes import Outcomes, outcomes_of
from equipoise.evaluation.record import Blind, BlindNumbers, Gain, Interval
from equipoise.evaluation.scoring import taught_rows
from equipoise.models.blind import TextScores, by_length, by_ngrams


def text_scores(items: Sequence[Item]) -> dict[str, TextScores]:
    """The scores that each baseline gives to the texts of the items, by its name. Its rule alone is asked: the identity
    of such a model hashes all code it depends on, which takes longer."""
    return {"blind:length": by_length(items), "blind:ngram": by_ngrams(items)}


def add_baselines(
    outcomes: Outcomes,
    items: Sequence[Item],
    scores: Mapping[str, TextScores],
    benchmark: Benchmark | None,
    seed: int = 0,
    metrics: Sequence[Metric] = ROWS,
) -> Blind | None:
    """The baselines' numbers, from their `scores` of the items that were scored, in the order of the outcomes."""
    if not outcomes.has_negative.any():
        return None
    text_metrics = [row for row in metrics if row.side == "texts" and row.less is None]
    model = Averages(outcomes, seed, metrics=text_metrics, keep_empty=True)
    blind = {
        name: Averages(
            outcomes_of(taught_rows(items, of_texts, outcomes.rows)), seed, metrics=text_metrics, keep_empty=True
        )
        for name, of_texts in scores.items()
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
            signs=None,
        )
        interval = Interval(*change.change(0))
        gain[row.name] = Gain(over=best[0], difference=float(values[at] - other.values[at]), interval=interval)
    return BlindNumbers(baselines=baselines, gain=gain)
