"""The paired difference of two models with an interval over images.

The same images are resampled for both models, so what both find easy or hard cancels out. A model may be several
runs (finetuning seeds): its outcome on an item is then the mean over them, and the interval speaks of these seeds on
other images, not of other seeds. `models.compare_models` starts from this difference and adds tests and seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from equipoise.core import stats
from equipoise.core.errors import UserError
from equipoise.evaluation.averages import Leaves, leaves, number_of
from equipoise.evaluation.metrics import Metric
from equipoise.evaluation.outcomes import Outcomes
from equipoise.evaluation.record import Change, Difference, Interval, Numbers
from equipoise.evaluation.results import LoadedRun


def difference(
    first: Sequence[LoadedRun],
    second: Sequence[LoadedRun],
    seed: int = 0,
    resamples: int = stats.RESAMPLES,
    path: Sequence[str] = (),
    least: int = 1,
) -> Difference:
    """second - first for every metric: value, 95% interval, whether the interval excludes zero.

    `path` and `least` average over groups as `Averages.macro` does (REPLACE: ("split",)), so that the difference is
    that of the two headlines.
    """
    return measured_difference(first, second, seed, resamples, path, least)[0]


class PairedRuns(NamedTuple):
    """The numbers behind a difference, one column per metric."""

    metrics: list[Metric]
    groups: Leaves
    before: list[stats.Floats]  # of each run, by item
    after: list[stats.Floats]
    change: stats.Floats  # by item
    average: stats.Average  # of `change`


def measured_difference(
    first: Sequence[LoadedRun], second: Sequence[LoadedRun], seed: int, resamples: int, path: Sequence[str], least: int
) -> tuple[Difference, PairedRuns]:
    """`difference`, and the numbers behind it: resampling a million items twice is a waste."""
    same_items([*first, *second])
    outcomes = first[0].outcomes
    groups = leaves_of(first[0], path, least)
    metrics = shared_metrics([*first, *second])
    before = [per_item(run.outcomes, metrics) for run in first]
    after = [per_item(run.outcomes, metrics) for run in second]
    change = np.mean(after, axis=0) - np.mean(before, axis=0)
    average = grouped(change, outcomes, groups, seed, resamples)
    asked = (~np.isnan(change[groups.kept])).sum(axis=0).tolist()
    changes = {}
    for at, (row, value) in enumerate(zip(metrics, average.values.tolist(), strict=True)):
        if not np.isnan(value):
            interval = Interval(*average.change(at))
            changes[row.name] = Change(difference=value, interval=interval, n=asked[at], own=row.own)
    whole = Difference(
        n=int(groups.kept.sum()),
        n_positives=int((groups.kept & outcomes.has_positive).sum()),
        runs=(len(first), len(second)),
        changes=changes,
    )
    return whole, PairedRuns(metrics, groups, before, after, change, average)


def shared_metrics(runs: Sequence[LoadedRun]) -> list[Metric]:
    """The metrics that all runs have and that some item is asked; one of the user's own must be the same in all."""
    metrics = runs[0].metrics
    for run in runs[1:]:
        own = {row.name: row.own for row in run.metrics}
        metrics = [row for row in metrics if row.name in own]
        if other := [row for row in metrics if row.own != own[row.name]]:
            raise UserError(
                f"{runs[0].folder} and {run.folder}: the metric {other[0].name!r} is not the same in both: "
                f"{other[0].spec} was changed between them. Evaluate one of them again."
            )
    asked = [row for row in metrics if not np.isnan(row.column(runs[0].outcomes)).all()]
    names = {row.name for row in asked}
    return [row for row in asked if row.less is None or row.less in names]  # an effect needs repeats


def average(
    runs: Sequence[LoadedRun], path: Sequence[str] = (), least: int = 1, seed: int = 0, resamples: int = stats.RESAMPLES
) -> Numbers:
    """The numbers of one model over its runs (seeds): an item's outcome is their mean."""
    same_items(runs)
    metrics = shared_metrics(runs)
    values = np.mean([per_item(run.outcomes, metrics) for run in runs], axis=0)
    outcomes = runs[0].outcomes
    groups = leaves_of(runs[0], path, least)
    measured = grouped(values, outcomes, groups, seed, resamples)
    asked = (~np.isnan(values[groups.kept])).sum(axis=0)

    def ties(tie: Callable[[Outcomes], NDArray[np.bool_]]) -> float:
        return round(float(np.mean([(tie(run.outcomes) & groups.kept).sum() for run in runs])), 1)

    return Numbers(
        n=int(groups.kept.sum()),
        ties=ties(lambda each: each.tie),
        image_ties=ties(lambda each: each.images.tie) if outcomes.images.asked.any() else None,
        metrics={
            row.name: number_of(row, measured, at, asked[at])
            for at, row in enumerate(metrics)
            if not np.isnan(measured.values[at])
        },
    )


def per_item(outcomes: Outcomes, metrics: Sequence[Metric]) -> stats.Floats:
    """(items, metrics): how far an item counts as a win, NaN where it is not asked."""
    columns = {row.name: row.column(outcomes) for row in metrics}
    return np.stack([columns[row.name] - columns[row.less] if row.less else columns[row.name] for row in metrics], 1)


def leaves_of(run: LoadedRun, path: Sequence[str], least: int) -> Leaves:
    groups = leaves(run.outcomes.tags, path, least)
    if groups is None:
        raise UserError(f"{run.folder}: no group of {'/'.join(path)} has {least} items or more, so nothing is averaged")
    return groups


def grouped(values: stats.Floats, outcomes: Outcomes, groups: Leaves, seed: int, resamples: int) -> stats.Average:
    """Each column of (items, columns) averaged over the groups; NaN is no value."""
    there = ~np.isnan(values)
    filled = np.where(there, values, 0.0)
    return stats.averaged(filled, there.astype(float), outcomes.cluster, groups.masks, groups.weights, seed, resamples)


def images_of(values: stats.Floats, outcomes: Outcomes, groups: Leaves) -> list[int]:
    """The images that each column of `grouped` is of; an item that has no value there says nothing."""
    return stats.distinct_by(outcomes.cluster[groups.kept], ~np.isnan(values[groups.kept]))


def same_items(runs: Sequence[LoadedRun]) -> None:
    """Paired means the same items, in the same order, with the same texts and the same photos."""
    reference = runs[0]
    for run in runs[1:]:
        if reference.items != run.items or reference.rows.ids != run.rows.ids:
            raise UserError(
                f"{reference.folder} ({reference.name}, {len(reference.rows):,} items scored) and {run.folder} "
                f"({run.name}, {len(run.rows):,}) were not scored on the same items, so they cannot be paired. "
                "Evaluate both with the same --bench, --splits and --limit."
            )
        if any(None not in pair and len(set(pair)) > 1 for pair in zip(reference.images, run.images, strict=True)):
            raise UserError(
                f"{reference.folder} and {run.folder} ({run.name}) were scored on different photos, so they cannot be "
                "paired: the paths are the same, the files are not. Evaluate both with the same --images."
            )
