"""Outcomes -> numbers: shares with intervals of all items, of each tag, and averaged over groups as papers do."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from equipoise import stats
from equipoise.evaluation import graded
from equipoise.evaluation.metrics import Metric
from equipoise.evaluation.outcomes import ROWS, Bools, Outcomes
from equipoise.evaluation.record import Interval, ItemNumbers, MacroNumbers, MeanScores, Number, Summary
from equipoise.evaluation.scores import kinds_of

MOST_GROUPS = 100  # a tag with more values (an image id) is no breakdown
_SCALE = 2.0**40  # scores are summed this much smaller, which is exact: some people's are near 1e308


class Columns(NamedTuple):
    """What is averaged: a column of each metric that is asked of some item."""

    metrics: list[Metric]
    wins: stats.Floats  # (items, metrics)
    counts: stats.Floats

    def subtracted(self, found: stats.Average) -> stats.Average:
        """The averages of these columns; of a difference of two metrics (drop) the second is subtracted."""
        parts, drawn = found.parts.copy(), found.drawn.copy()
        place = {row.name: at for at, row in enumerate(self.metrics)}
        for at, row in enumerate(self.metrics):
            if row.less is not None:
                parts[..., at] = found.parts[..., at] - found.parts[..., place[row.less]]
                drawn[..., at] = found.drawn[..., at] - found.drawn[..., place[row.less]]
        return found._replace(parts=parts, drawn=drawn)


def columns_of(outcomes: Outcomes, metrics: Sequence[Metric]) -> Columns:
    values = {row: column for row in metrics if not np.isnan(column := outcomes.column(row)).all()}
    found = np.stack(list(values.values()), axis=1) if values else np.zeros((len(outcomes), 0))
    return Columns(list(values), np.nan_to_num(found, nan=0.0), (~np.isnan(found)).astype(np.float64))


def summarise(
    outcomes: Outcomes, seed: int = 0, resamples: int = stats.RESAMPLES, metrics: Sequence[Metric] = ROWS
) -> Summary:
    """The numbers of all items and of each value of each tag: fractions between 0 and 1, with intervals."""
    groups: dict[tuple[str, str], Bools] = {("", ""): np.ones(len(outcomes), dtype=bool)}
    kinds, kind = kinds_of(outcomes.tags)
    for tag in _breakdowns(kinds):
        # Numbers in place of the words: an array of strings gives every row the width of the longest.
        number = {value: index for index, value in enumerate(sorted({tags.get(tag, "") for tags in kinds}))}
        values = np.array([number[tags.get(tag, "")] for tags in kinds])[kind]
        groups |= {(tag, value): values == index for value, index in number.items() if value != ""}
    numbers = _numbers(outcomes, list(groups.values()), seed, resamples, metrics)
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


def _numbers(
    outcomes: Outcomes, groups: Sequence[Bools], seed: int, resamples: int, metrics: Sequence[Metric]
) -> list[ItemNumbers]:
    asked = columns_of(outcomes, metrics)
    found = asked.subtracted(
        stats.averaged(asked.wins, asked.counts, outcomes.cluster, groups, seed=seed, resamples=resamples)
    )
    names, chance = _chance(outcomes, groups, metrics)
    spread = graded.spread(outcomes.caption)
    return [
        ItemNumbers(
            n=int(mask.sum()),
            images=stats.distinct(outcomes.cluster[mask]),
            **_ties(outcomes, mask),
            metrics=named(asked, found.only(index), mask, _finite_by(names, chance[index])),
            mean_scores=MeanScores(
                caption=_mean_score(outcomes.caption[mask]),
                positive=_mean_score(outcomes.positive[mask & outcomes.has_positive]),
                negative=_mean_score(outcomes.negative[mask & outcomes.has_negative]),
            ),
            graded=graded.graded(outcomes, mask, spread),
        )
        for index, mask in enumerate(groups)
    ]


def _ties(outcomes: Outcomes, mask: Bools) -> dict[str, int | None]:
    on_images = int((mask & outcomes.images.tie).sum()) if (mask & outcomes.images.asked).any() else None
    return {"ties": int((mask & outcomes.tie).sum()), "image_ties": on_images}


def named(
    asked: Columns, found: stats.Average, mask: Bools, chance: Mapping[str, float] | None = None
) -> dict[str, Number]:
    """The averages by metric, of those that some item of `mask` is asked."""
    values, n = found.values, asked.counts[mask].sum(axis=0)
    return {
        row.name: Number(
            value=float(values[at]),
            interval=Interval(*found.interval(at)),
            n=int(n[at]),
            chance=(chance or {}).get(row.name),
            own=row.own,
        )
        for at, row in enumerate(asked.metrics)
        if math.isfinite(values[at])
    }


def _chance(outcomes: Outcomes, groups: Sequence[Bools], metrics: Sequence[Metric]) -> tuple[list[str], stats.Floats]:
    """Metrics, and (groups, metrics): the share of a model that orders an item's texts at random."""
    known = [(row, row.chance) for row in metrics if row.chance is not None]
    counts = np.stack([~np.isnan(outcomes.column(row)) for row, _ in known], axis=1).astype(np.float64)
    each = np.stack([chance(outcomes) for _, chance in known], axis=1) * counts
    found = np.stack([each[mask].sum(0) / np.where(n := counts[mask].sum(0), n, np.nan) for mask in groups])
    return [row.name for row, _ in known], found


def _finite_by(names: Sequence[str], values: stats.Floats) -> dict[str, float]:
    return {name: float(value) for name, value in zip(names, values, strict=True) if math.isfinite(value)}


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
    metrics: Sequence[Metric] = ROWS,
) -> MacroNumbers | None:
    """Unweighted means over groups, nested along the tags of `path`, outermost first.

    REPLACE is the mean of attributes and relations; VL-CheckList a mean over tests of means over sources of means
    over files. Innermost groups with fewer than `least` items are left out, as ARO does below 25; None where that
    leaves nothing (a first look at a few items).
    """
    found = leaves(outcomes.tags, path, least)
    if found is None:
        return None
    asked = columns_of(outcomes, metrics)
    averaged = stats.averaged(asked.wins, asked.counts, outcomes.cluster, found.masks, found.weights, seed, resamples)
    names, chance = _chance(outcomes, found.masks, metrics)
    by_chance = _finite_by(names, stats.weighted_mean(chance[None], found.weights)[0])
    return MacroNumbers(
        rule="",
        over=list(path),
        least=least,
        groups=len(found.masks),
        left_out=found.left_out,
        n=int(found.kept.sum()),
        **_ties(outcomes, found.kept),
        metrics=named(asked, asked.subtracted(averaged), found.kept, by_chance),
        mean_scores=_macro_scores(outcomes, found),
    )


def _macro_scores(outcomes: Outcomes, found: Leaves) -> MeanScores:
    """Mean scores by the weights of the groups, so that they belong to the accuracies beside them."""
    columns = [outcomes.caption, outcomes.positive, outcomes.negative]
    there = [np.ones(len(outcomes), dtype=bool), outcomes.has_positive, outcomes.has_negative]
    means = np.array(
        [
            [
                value / _SCALE if (value := _mean_score(column[mask & kept])) is not None else np.nan
                for column, kept in zip(columns, there, strict=True)
            ]
            for mask in found.masks
        ]
    )
    caption, positive, negative = (
        _finite(value * _SCALE) for value in stats.weighted_mean(means[None], found.weights)[0]
    )
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
