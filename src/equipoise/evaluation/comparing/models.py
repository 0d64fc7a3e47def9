"""Two models, each of one or several seeds, on the same items: tests of their difference.

With one run a side, images are resampled: the interval is the bootstrap's, the p-value comes from sign flips. With
several seeds of a configuration the question is another one: would other seeds on other images say the same? Then seeds
and images are both resampled, interval and p-value are Student's, and three things are put right that a plain bootstrap
over both gets wrong (docs/appendix/statistics.md has the formulas):

- three seeds that are resampled spread a third too little, so one seed less is drawn than there is;
- what a seed gets right by chance on single images shows in both directions, so it is taken out of the seeds' spread;
- few seeds are few, so the quantile is Student's, with Satterthwaite's degrees of freedom.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from equipoise.core import stats
from equipoise.core.errors import UserError
from equipoise.core.stats import Floats
from equipoise.evaluation.averages import Leaves
from equipoise.evaluation.comparing import inference
from equipoise.evaluation.comparing.differences import (
    images_of,
    leaves_of,
    measured_difference,
    per_item,
    same_items,
    shared_metrics,
)
from equipoise.evaluation.metrics import Metric
from equipoise.evaluation.record import Change, Difference, Interval
from equipoise.evaluation.results import LoadedRun


@dataclass(frozen=True)
class ComparedModel:
    """A configuration: its runs differ by seed alone."""

    name: str
    runs: Sequence[LoadedRun]


def require_seeds(model: ComparedModel) -> None:
    """Refuse a run that is there twice, or another architecture: neither is a seed."""
    for first, second in combinations(model.runs, 2):
        record, other = first.records[0], second.records[0]
        same = record.model.weight_sha256 is not None and record.model.weight_sha256 == other.model.weight_sha256
        if same or (record.scores_sha256 is not None and record.scores_sha256 == other.scores_sha256):
            raise UserError(
                f"{first.folder} and {second.folder} are the same {'weights' if same else 'scores'}, not two seeds: "
                "counted twice they would claim a certainty that is not there. Name each run once."
            )
        if record.model.architecture != other.model.architecture:
            raise UserError(
                f"{first.folder} and {second.folder} are models of different architecture, not seeds of one "
                "configuration. Compare them with a space between, not a comma."
            )


def compare_models(
    first: Sequence[LoadedRun],
    second: Sequence[LoadedRun],
    seed: int = 0,
    path: Sequence[str] = (),
    least: int = 1,
    resamples: int = stats.RESAMPLES,
) -> Difference:
    """second - first, tested: p-value, smallest detectable difference, standard errors of images and of seeds."""
    same_items([*first, *second])
    outcomes = first[0].outcomes
    comparison, measured = measured_difference(first, second, seed, resamples, path, least)
    metrics, groups, change = measured.metrics, measured.groups, measured.change
    parts = contributions(change, outcomes.cluster, groups)
    flipped = functools.cache(lambda: _flipped(parts, metrics, seed))  # several seeds rarely need them
    weights = _weights(change, groups)
    spread = measured.average.spread
    images = images_of(change, outcomes, groups)
    sides = [_seeds(runs, outcomes.cluster, groups) for runs in (measured.before, measured.after) if len(runs) > 1]
    drawn = _draw_seeds(sides, seed, (resamples, len(metrics)))
    changes: dict[str, Change] = {}
    for index, metric in enumerate(metrics):
        known = comparison.changes.get(metric.name)
        if known is None:
            continue
        by_image, lightest = parts[:, index], float(weights[:, index].min(where=weights[:, index] > 0, initial=1.0))
        image_error = error = float(np.nanstd(spread[:, index], ddof=1))
        freedom = float(max(1, images[index] - 1))
        more: dict[str, object] = {"image_error": image_error}
        if sides:
            error = float(np.nanstd(spread[:, index] + drawn[:, index], ddof=1))
            of_seeds = [(side.raw[index], side.own[index], side.count) for side in sides]
            freedom = _freedom(image_error**2, images[index], of_seeds)
            more["seed_error"] = math.sqrt(sum(side.own[index] for side in sides))
            if error:
                value, half = known.difference, stats.t_quantile(stats.LEVEL, freedom) * error
                more["interval"] = Interval(value - half, value + half)
                more["p"] = 1 - stats.within(abs(value) / error, freedom)
        if "p" not in more:
            more["p"] = inference.flip_p_value(by_image, flipped()[:, index])
        more["detectable"] = inference.smallest_detectable(error, by_image, lightest, freedom)
        changes[metric.name] = known.model_copy(update=more)
    return comparison.model_copy(update={"changes": changes})


def _flipped(parts: Floats, metrics: Sequence[Metric], seed: int) -> Floats:
    """Sign flips of all columns. Those of one side share their signs; a metric of the user's own has its own, so that
    it changes no other p-value."""
    sums = np.empty((inference.FLIPS, len(metrics)))
    groups: dict[str, list[int]] = {}
    for place, metric in enumerate(metrics):
        groups.setdefault(metric.name if metric.own else metric.side, []).append(place)
    for places in groups.values():
        sums[:, places] = inference.sign_flip_sums(parts[:, places], seed)
    return sums


def contributions(values: Floats, cluster: np.ndarray, groups: Leaves) -> Floats:
    """(clusters, columns): what each image adds to the average of (items, columns) over the groups; NaN is no value."""
    weights = _weights(values, groups)
    parts = np.where(np.isnan(values), 0.0, values) * weights
    return np.stack([np.bincount(cluster, column, int(cluster.max()) + 1) for column in parts.T], axis=1)


def _weights(values: Floats, groups: Leaves) -> Floats:
    """How much each item counts in the average; a group without a value gives its weight to the others."""
    there = ~np.isnan(values)
    weights = np.zeros(values.shape)
    total = np.zeros(values.shape[1])
    for mask, weight in zip(groups.masks, groups.weights, strict=True):
        counts = there[mask].sum(axis=0)
        share = np.where(counts > 0, weight / np.maximum(counts, 1), 0.0)
        weights[mask] = there[mask] * share
        total += np.where(counts > 0, weight, 0.0)
    shares: Floats = weights / np.maximum(total, 1e-300)
    return shares


@dataclass(frozen=True)
class _Side:
    """The seeds of one model; (columns,) but for the deviations."""

    count: int
    deviations: Floats  # (seeds, columns): of each seed from their mean
    raw: Floats  # variance of the mean over seeds, as it shows on these images
    own: Floats  # of it, what is not chance on single images


def _seeds(values: Sequence[Floats], cluster: np.ndarray, groups: Leaves) -> _Side:
    parts = np.stack([contributions(seed, cluster, groups) for seed in values])  # seeds, clusters, columns
    count, clusters = len(parts), int((parts != 0).any(axis=(0, 2)).sum())
    of_seed = parts.sum(axis=1)
    deviations = of_seed - of_seed.mean(axis=0)
    # A seed that is better overall is so on every image by its weight; what is left is between a seed and an image.
    share = contributions(np.where(np.isnan(values[0]), np.nan, 1.0), cluster, groups)
    left = parts - parts.mean(axis=0) - share[None] * deviations[:, None]
    by_chance = (left**2).sum(axis=(0, 1)) / (count * (count - 1)) * clusters / max(1, clusters - 1)
    raw = (deviations**2).sum(axis=0) / (count * (count - 1))
    return _Side(count, deviations, raw, np.maximum(0.0, raw - by_chance))


def _draw_seeds(sides: Sequence[_Side], seed: int, shape: tuple[int, int]) -> Floats:
    """(resamples, columns): how much resampled seeds move the difference."""
    rng = np.random.default_rng([seed, 1])  # not the draws of the images
    moved = np.zeros(shape)
    for side in sides:
        chosen = rng.integers(side.count, size=(shape[0], side.count - 1))
        shrink = np.sqrt(np.divide(side.own, side.raw, out=np.zeros_like(side.raw), where=side.raw > 0))
        moved += side.deviations[chosen].mean(axis=1) * shrink  # a sign would change nothing: deviations sum to zero
    return moved


def _freedom(images: float, clusters: int, sides: Sequence[tuple[float, float, int]]) -> float:
    """Satterthwaite's degrees of freedom of the whole variance; at least those of one side's seeds."""
    whole = images + sum(own for _, own, _ in sides)
    doubt = images**2 / max(1, clusters - 1) + sum(raw**2 / (count - 1) for raw, _, count in sides)
    least = float(min(count for _, _, count in sides) - 1)
    return max(least, whole**2 / doubt) if doubt else math.inf


@dataclass(frozen=True)
class Placed:
    """A model among others on one metric; models that share a letter do not differ significantly."""

    model: str
    value: float
    letters: str


def place(
    models: Sequence[ComparedModel], metric: str, path: Sequence[str] = (), least: int = 1, seed: int = 0
) -> list[Placed]:
    """The models from the best down, with letters: every pair is tested, the p-values corrected for all pairs.

    Empty where the metric was not measured.
    """
    runs = [run for model in models for run in model.runs]
    same_items(runs)
    known = next((row for row in shared_metrics(runs) if row.name == metric), None)
    if known is None:
        return []
    groups, cluster = leaves_of(runs[0], path, least), runs[0].outcomes.cluster
    asked = [known, *(row for row in runs[0].metrics if row.name == known.less)]
    means = [np.mean([per_item(run.outcomes, asked)[:, :1] for run in model.runs], axis=0) for model in models]
    parts = np.concatenate([contributions(mean, cluster, groups) for mean in means], axis=1)
    values = parts.sum(axis=0)
    sign = 1 if known.better == "low" else -1
    order = sorted(range(len(models)), key=lambda index: (sign * values[index], index))
    pairs = [(order[a], order[b]) for a, b in combinations(range(len(order)), 2)]
    if len(runs) == len(models):
        # One set of flips serves all pairs. Images on which all models agree say nothing, and cost nothing.
        sums = inference.sign_flip_sums(parts - parts[:, :1], seed)
        p_values = [inference.flip_p_value(parts[:, a] - parts[:, b], sums[:, a] - sums[:, b]) for a, b in pairs]
    else:
        changes = [compare_models(models[a].runs, models[b].runs, seed, path, least)[metric] for a, b in pairs]
        p_values = [1.0 if change is None or change.p is None else change.p for change in changes]
    adjusted = inference.holm(p_values)
    ranks = combinations(range(len(order)), 2)
    different = [pair for pair, p_value in zip(ranks, adjusted, strict=True) if p_value < 1 - stats.LEVEL]
    groups_of_ranks = inference.groups(len(order), different)
    placed = []
    for rank, index in enumerate(order):
        own = [inference.letter(number) for number, group in enumerate(groups_of_ranks) if rank in group]
        placed.append(Placed(models[index].name, float(values[index]), " ".join(own)))
    return placed
