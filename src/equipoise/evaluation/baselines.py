"""What baselines that never see the image get of the same items, and the model's gain over the best.

`blind:length` and `blind:ngram` are computed with every run, as they need nothing but the items and cost a second or
two; runs of others (`blind:lm:FOLDER`) join them where they are named. The same images are resampled for the model and
the baselines, so the interval of a gain is a paired one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from equipoise.benchmarks.base import Benchmark
from equipoise.core import stats
from equipoise.core.errors import UserError
from equipoise.data.items import Item
from equipoise.evaluation.averages import MOST_GROUPS, Leaves, leaves
from equipoise.evaluation.metrics import Metric
from equipoise.evaluation.outcomes import ROWS, Outcomes, outcomes_of
from equipoise.evaluation.record import Blind, BlindNumbers, Gain, Interval, Number
from equipoise.evaluation.results import find_runs, read_run
from equipoise.evaluation.scores import ItemScores, Scores
from equipoise.evaluation.scoring import score_items
from equipoise.models.blind import rules

Known = Mapping[str, Mapping[str, ItemScores]]  # baseline -> item -> scores


def known_runs(folders: Iterable[Path], items_sha256: str) -> Known:
    """The finished runs of blind models in or below the folders that scored these very items."""
    found: dict[str, Mapping[str, ItemScores]] = {}
    others = []
    for place, record in find_runs(list(folders)):
        if not (record.model.model_extra or {}).get("blind"):
            others.append(f"{place} ({record.model.spec}, which is not blind)")
        elif record.benchmark.items_sha256 == items_sha256:
            found[record.model.spec] = {row.id: row for row in read_run(place)[1]}
        else:
            others.append(f"{place} ({record.benchmark.name}, other items)")
    if not found:
        raise UserError(
            f"--blind: no run of a blind model on these items among {', '.join(others)}. Make one: "
            "equipoise eval blind:lm:FOLDER --bench ... --out DIR"
        )
    return found


def baseline_scores(items: Sequence[Item]) -> dict[str, Scores]:
    """The scores of the two baselines that are always asked, taught on these items."""
    asked = (rules.length(), rules.ngram())
    return {str(model.card["spec"]): Scores.of(score_items(model, items).rows) for model in asked}


def add_baselines(
    ids: Sequence[str],
    outcomes: Outcomes,
    items: Sequence[Item],
    benchmark: Benchmark | None,
    seed: int = 0,
    known: Known | None = None,
    metrics: Sequence[Metric] = ROWS,
) -> Blind | None:
    """The baselines' numbers on the items that were scored (`ids`, in the order of `outcomes`).

    What was not scored teaches the baselines nothing.
    """
    if not outcomes.has_negative.any():
        return None
    wanted = set(ids)
    asked = baseline_scores([item for item in items if item.id in wanted])
    judged = {spec: outcomes_of(_in_order(scores, ids)) for spec, scores in asked.items()}
    for spec, of_run in (known or {}).items():
        if missing := [name for name in ids if name not in of_run]:
            raise UserError(f"--blind: {spec} has no score for {len(missing):,} items, for instance {missing[0]!r}")
        judged[spec] = outcomes_of([of_run[name] for name in ids])
    table = _Table(outcomes, judged, seed, metrics)
    splits = sorted({tags.get("split", "") for tags in outcomes.tags})
    masks = {split: np.array([tags.get("split", "") == split for tags in outcomes.tags]) for split in splits}
    several = masks if 1 < len(splits) <= MOST_GROUPS else {}
    overall, *parts = table.groups([np.ones(len(outcomes), dtype=bool), *several.values()])
    averages = {}
    for rule, average in (benchmark.averages if benchmark else {}).items():
        if (found := leaves(outcomes.tags, average.path, average.least)) is not None:
            averages[rule] = table.average(found)
    headline = benchmark.rule if benchmark and benchmark.rule in averages else None
    return Blind(overall=overall, averages=averages, splits=dict(zip(several, parts, strict=True)), headline=headline)


def _in_order(scores: Scores, ids: Sequence[str]) -> Sequence[ItemScores]:
    if scores.ids == list(ids):
        return scores
    rows = dict(zip(scores.ids, scores, strict=True))
    return [rows[name] for name in ids]


class _Table:
    """One column of wins for each share of the model and of every baseline, resampled together."""

    def __init__(
        self, outcomes: Outcomes, baselines: Mapping[str, Outcomes], seed: int, metrics: Sequence[Metric]
    ) -> None:
        self._names = ["", *baselines]  # "": the model
        self._seed = seed
        asked = {row: outcomes.column(row) for row in metrics if row.side == "texts" and row.less is None}
        self._metrics = [row for row, column in asked.items() if not np.isnan(column).all()]
        columns = [asked[row] for row in self._metrics]
        for one in baselines.values():
            columns += [one.column(row) for row in self._metrics]
        whole = np.stack(columns, axis=1)
        self._columns = np.nan_to_num(whole, nan=0.0), (~np.isnan(whole)).astype(np.float64), outcomes.cluster

    def groups(self, masks: Sequence[np.ndarray]) -> list[BlindNumbers]:
        found = stats.averaged(*self._columns, masks, seed=self._seed)
        return [self._numbers(found.only(at), mask) for at, mask in enumerate(masks)]

    def average(self, found: Leaves) -> BlindNumbers:
        return self._numbers(stats.averaged(*self._columns, found.masks, found.weights, self._seed), found.kept)

    def _numbers(self, found: stats.Average, mask: np.ndarray) -> BlindNumbers:
        measured, width = found.values, len(self._metrics)
        counts = self._columns[1][mask].sum(axis=0)
        baselines = {
            name: {
                row.name: Number(
                    value=float(measured[at]), interval=Interval(*found.interval(at)), n=int(counts[at]), own=row.own
                )
                for at, row in enumerate(self._metrics, place * width)
                if math.isfinite(measured[at])
            }
            for place, name in list(enumerate(self._names))[1:]
        }
        numbers = BlindNumbers(baselines=baselines, gain={})
        gain: dict[str, Gain] = {}
        for at, row in enumerate(self._metrics):
            if row.better == "low" or (best := numbers.best(row.name)) is None:
                continue
            other = self._names.index(best[0]) * width + at
            change = found._replace(
                parts=found.parts[:, [at]] - found.parts[:, [other]],
                drawn=found.drawn[:, :, [at]] - found.drawn[:, :, [other]],
                images=found.images[:, [at]],
            )
            interval = Interval(*change.interval(0, lowest=-1.0))
            gain[row.name] = Gain(over=best[0], difference=float(measured[at] - measured[other]), interval=interval)
        return BlindNumbers(baselines=baselines, gain=gain)
