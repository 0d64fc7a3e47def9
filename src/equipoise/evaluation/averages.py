"""Outcomes -> numbers: shares with intervals of all items and of each tag, every average, the metrics of the paper.

`eval` calls `measure` on what it scored, `metrics --bench` calls `measure_elsewhere` on scores made elsewhere.
"""

from __future__ import annotations

import logging
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from equipoise.benchmarks.base import Average, Benchmark
from equipoise.core import stats
from equipoise.core.errors import Problems, UserError
from equipoise.data.items import ImageRef, Item
from equipoise.evaluation import graded
from equipoise.evaluation.metrics import Metric
from equipoise.evaluation.outcomes import ROWS, Bools, Outcomes, outcomes_of
from equipoise.evaluation.paper_metrics import PAPER_METRICS, require_tags
from equipoise.evaluation.record import Interval, ItemNumbers, MacroNumbers, MeanScores, Metrics, Number, Summary
from equipoise.evaluation.scores import ItemScores, Scores, kinds_of

log = logging.getLogger(__name__)

MOST_GROUPS = 100  # a tag with more values (an image id) is no breakdown
_NAMED = 5  # ids of one kind in a message; all are counted
NEED_SCORES = {"group_match", "truth", "ranks"}  # metrics that need scores, not only right and wrong
_NO_SCORES = MeanScores(caption=None, positive=None, negative=None)
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
    scored = graded.Scored(*(getattr(outcomes, name) for name in graded.Scored._fields))
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
            graded=graded.graded(scored, mask, spread),
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
    """Mean scores by the weights of the groups, so that they belong to the accuracies next to them."""
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


def measure(
    rows: Sequence[ItemScores],
    outcomes: Outcomes,
    benchmark: Benchmark | None,
    seed: int = 0,
    resamples: int = stats.RESAMPLES,
    metrics: Sequence[Metric] = ROWS,
    outcomes_only: bool = False,
) -> Metrics:
    """The numbers of scored items; without a benchmark the plain mean alone. With `outcomes_only` the scores stand for
    right and wrong, and what needs a score is left out."""
    if outcomes_only:
        metrics = [row for row in metrics if row.name not in NEED_SCORES]
    summary = summarise(outcomes, seed, resamples, metrics)
    averages = _averages(outcomes, benchmark, seed, resamples, metrics) if benchmark else {}
    paper = {wanted: PAPER_METRICS[wanted](rows) for wanted in (benchmark.metrics if benchmark else ())}
    headline = averages.get(benchmark.rule) if benchmark else None
    found = Metrics(overall=summary.overall, by=summary.by, macro=headline, averages=averages, paper=paper)
    return _without_scores(found) if outcomes_only else found


def _without_scores(metrics: Metrics) -> Metrics:
    """Ties, mean scores and graded numbers of the ones and zeros that stand for outcomes would be an invention."""

    def plain(numbers: Any) -> Any:
        shares = {name: one.model_copy(update={"chance": None}) for name, one in numbers.metrics.items()}
        update = {"ties": None, "image_ties": None, "mean_scores": _NO_SCORES, "metrics": shares}
        return numbers.model_copy(update=update | ({"graded": None} if isinstance(numbers, ItemNumbers) else {}))

    paper = {name: one | ({"ties": None} if "ties" in one else {}) for name, one in metrics.paper.items()}
    return metrics.model_copy(
        update={
            "overall": plain(metrics.overall),
            "by": {tag: {value: plain(one) for value, one in found.items()} for tag, found in metrics.by.items()},
            "macro": plain(metrics.macro) if metrics.macro else None,
            "averages": {rule: plain(one) for rule, one in metrics.averages.items()},
            "paper": {name: one for name, one in paper.items() if name not in NEED_SCORES},
        }
    )


def _averages(
    outcomes: Outcomes, benchmark: Benchmark, seed: int, resamples: int, metrics: Sequence[Metric]
) -> dict[str, MacroNumbers]:
    """The numbers by each rule; two papers with one rule share the work.

    A rule is left out where no group is large enough, and where items lack its tags: all items without the tag would
    pass for one group.
    """
    known: dict[tuple[tuple[str, ...], int], MacroNumbers | None] = {}
    found = {}
    for rule, average in benchmark.averages.items():
        if rule != benchmark.rule and _lacking(outcomes.tags, average):
            log.warning("%s: no average %r: items lack the tag %s", benchmark.name, rule, "/".join(average.path))
            continue
        key = (average.path, average.least)
        if key not in known:
            known[key] = macro(outcomes, average.path, average.least, seed, resamples, metrics)
        if (numbers := known[key]) is not None:
            found[rule] = numbers.model_copy(update={"rule": rule})
    return found


def _lacking(tags: Sequence[Mapping[str, str]], average: Average) -> bool:
    return any(tag not in one for one in kinds_of(tags)[0] for tag in average.path)


def measure_elsewhere(
    rows: Sequence[ItemScores],
    benchmark: Benchmark,
    items: Sequence[Item] | None = None,
    rule: str | None = None,
    seed: int = 0,
    subject: str = "the scores",
    metrics: Sequence[Metric] = ROWS,
    outcomes_only: bool = False,
) -> Metrics:
    """A benchmark's numbers of anybody's scores, whose tags are their own, or those of `items` where they are given.

    With `items` the ids of both must be the same: a score too few would be another benchmark.
    """
    if items is not None:
        rows = with_items(rows, items, subject)
    average = benchmark.averages.get(rule or benchmark.rule)
    if average is not None and (without := [row for row in rows if any(tag not in row.tags for tag in average.path)]):
        raise UserError(
            f"{subject}: {len(without):,} of {len(rows):,} scores lack a tag of {', '.join(average.path)}, over which "
            f"{benchmark.name} is averaged ({rule or benchmark.rule}), for instance {without[0].id!r}. Name the folder "
            'of the annotation files with --source, or put the tags into the file: "tags": {"split": "..."}'
        )
    require_tags(benchmark.metrics, rows)
    return measure(rows, outcomes_of(rows), benchmark, seed, metrics=metrics, outcomes_only=outcomes_only)


def with_items(rows: Sequence[ItemScores], items: Sequence[Item], subject: str) -> Sequence[ItemScores]:
    """The scores in the items' order with their tags and images; ids that do not match are refused, all at once."""
    scores = Scores.of(rows)
    given = {id_: place for place, id_ in enumerate(scores.ids)}
    wanted = {item.id: (_shape(item), {"tags": item.tags, "paired": item.paired}, item.image) for item in items}
    problems = Problems(f"{subject}: not the scores of these {len(items):,} items")
    _name(problems, "doubled", [id_ for id_, count in Counter(scores.ids).items() if count > 1])
    _name(problems, "unknown: no such item", [id_ for id_ in scores.ids if id_ not in wanted])
    _name(problems, "missing: item without a score", [id_ for id_ in wanted if id_ not in given])
    other = [id_ for id_ in given.keys() & wanted.keys() if _shape(scores[given[id_]]) != wanted[id_][0]]
    _name(problems, "another number of positives, negatives or images than the item", sorted(other))
    problems.raise_if_any('Expected one score per item: {"id": "...", "caption": 0.31, "negatives": [0.28]}')

    def with_item(score: ItemScores, update: dict[str, object], image: ImageRef | None) -> ItemScores:
        return score.model_copy(update=update | {"image": image.path if image else score.image})

    return Scores(with_item(scores[given[id_]], update, image) for id_, (_, update, image) in wanted.items())


def _name(problems: Problems, what: str, ids: Sequence[str]) -> None:
    if ids:
        more = ", ..." if len(ids) > _NAMED else ""
        problems.add("", f"{len(ids):,} {what}: {', '.join(map(repr, ids[:_NAMED]))}{more}")


def _shape(one: ItemScores | Item) -> tuple[int, ...]:
    return len(one.positives), len(one.negatives), len(one.positive_images), len(one.negative_images)
