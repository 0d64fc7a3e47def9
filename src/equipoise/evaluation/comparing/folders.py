"""Compares run folders: everything that `equipoise compare` shows, and which items flipped between two models."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from equipoise.benchmarks.base import PLAIN
from equipoise.core import stats
from equipoise.core.errors import UserError
from equipoise.evaluation.comparing.differences import per_item, shared_metrics
from equipoise.evaluation.comparing.inference import holm
from equipoise.evaluation.comparing.models import ComparedModel, Placed, compare_models, place, require_seeds
from equipoise.evaluation.record import Change, Comparison, Interval, Metrics
from equipoise.evaluation.results import (
    ItemTexts,
    LoadedRun,
    find_runs,
    is_outcomes_only,
    load_run,
    read_result,
    read_run,
    read_shown,
)
from equipoise.evaluation.scores import Scores, kinds_of

_LEAST = 2  # items that carry a tag's value; an id is no phrase


@dataclass(frozen=True)
class Compared:
    """The first model against each of the others, benchmark by benchmark."""

    differences: list[Comparison]
    flips: list[Flips]  # of each difference
    groups: dict[str, dict[str, list[Placed]]] = field(default_factory=dict)  # by benchmark; three models or more
    left_out: list[str] = field(default_factory=list)  # benchmarks that some folder lacks, a sentence each
    warnings: list[str] = field(default_factory=list)  # runs whose items were trained on
    one_benchmark: str = ""  # the run folders of a benchmark that was compared

    def require_whole(self) -> None:
        """Refuse a gate where a benchmark was left out: what was not compared must not pass."""
        if self.left_out:
            raise UserError(
                f"{'; '.join(self.left_out)}. A gate does not pass what was not compared. Evaluate what is missing "
                "(equipoise eval MODEL --bench NAME --out FOLDER), or name the runs of one benchmark: "
                f"equipoise compare {self.one_benchmark}"
            )


def seeds_of(text: str) -> list[Path]:
    """'a,b,c' -> the folders of three seeds; a folder whose own name has a comma is itself."""
    if Path(text).exists() or "," not in text:
        return [Path(text)]
    return [Path(part.strip()) for part in text.split(",") if part.strip()]


def compare_folders(
    models: Sequence[str | Path],
    seed: int = 0,
    average: str | None = None,
    most: int = 10,
    flipped_on: str = "original",
) -> Compared:
    """The first of `models` against each of the others, where both have a benchmark; `most` flips each way are kept.

    Each model is a folder, or folders of several seeds with commas between. All are averaged by one rule: that of the
    first's headline, or the one that `average` names.
    """
    names = [str(model) for model in models]
    folders = [seeds_of(name) for name in names]
    runs = {folder: by_benchmark(folder) for seeds in folders for folder in seeds}
    held = [  # of each model, the runs of each benchmark that all its seeds have
        {
            name: [runs[folder][name] for folder in seeds]
            for name in runs[seeds[0]]
            if all(name in runs[folder] for folder in seeds)
        }
        for seeds in folders
    ]
    comparisons, flipped = [], []
    left_out: dict[str, None] = {}  # in order, each once
    warnings: dict[str, None] = {}

    @functools.cache
    def read(index: int, benchmark: str) -> ComparedModel:
        model = ComparedModel(names[index], [load_run(folder) for folder in held[index][benchmark]])
        require_seeds(model)
        return model

    for other in range(1, len(names)):
        shared = [name for name in held[0] if name in held[other]]
        if not shared:
            here = ", ".join(_all([runs[folder] for folder in folders[0]]))
            there = ", ".join(_all([runs[folder] for folder in folders[other]]))
            raise UserError(f"{names[0]} ({here}) and {names[other]} ({there}) share no benchmark")
        both = [*folders[0], *folders[other]]
        for name in _all([runs[folder] for folder in both]):
            if lacking := [str(folder) for folder in both if name not in runs[folder]]:
                left_out[f"{name} is left out: {', '.join(lacking)} has no run of it"] = None
        for name in shared:
            sides = [held[index][name] for index in (0, other)]
            for folder in (*sides[0], *sides[1]):
                if seen := read_result(folder).trained_on:
                    warnings[f"{folder}: {seen}"] = None
            first, second = ({read_result(folder).record_sha256 for folder in side} for side in sides)
            if first & second:
                warnings[f"{name}: run {other + 1} is the first run itself, so they cannot differ"] = None
            if read_result(sides[0][0]).kind != "items":
                comparisons.append(compare_sets(name, names[0], names[other], sides, seed))
                flipped.append(Flips(0, 0, 0, [], []))
                continue
            before, after = read(0, name), read(other, name)
            rule, path, least = rule_of(before.runs[0], average)
            numbers = compare_models(before.runs, after.runs, seed, path, least)
            comparisons.append(
                Comparison(benchmark=name, average=rule, before=names[0], after=names[other], **dict(numbers))
            )
            flipped.append(flips(before, after, most, flipped_on))
    groups = {}
    for name in held[0] if len(names) > 2 else ():
        if all(name in of_model for of_model in held) and read_result(held[0][name][0]).kind == "items":
            all_of_it = [read(index, name) for index in range(len(names))]
            _, path, least = rule_of(all_of_it[0].runs[0], average)
            metrics = shared_metrics([run for model in all_of_it for run in model.runs])
            groups[name] = {
                row.name: placed
                for row in metrics
                if row.less is None and (placed := place(all_of_it, row.name, path, least, seed))
            }
    named = " ".join(",".join(map(str, side)) for side in sides)
    return Compared(corrected(comparisons), flipped, groups, list(left_out), list(warnings), named)


def compare_sets(name: str, first: str, other: str, sides: Sequence[Sequence[Path]], seed: int) -> Comparison:
    """Two runs of one set, paired over photos; seeds of a configuration are not averaged."""
    from equipoise.evaluation.sets.kinds import changes

    for side, called in zip(sides, (first, other), strict=True):
        if len(side) > 1:
            raise UserError(f"{called}: {name} is compared run by run, without seeds; name one folder")
    (here, rows), (there, others) = read_run(sides[0][0]), read_run(sides[1][0])
    unpaired = here.kind == there.kind == "aggregate"
    if (here.kind, here.benchmark.items_sha256) != (there.kind, there.benchmark.items_sha256) or (
        [(row.id, row.image) for row in rows] != [(row.id, row.image) for row in others]
    ):
        raise UserError(
            f"{sides[0][0]} ({here.kind} {name}, {len(rows):,} rows) and {sides[1][0]} ({there.kind} {name}, "
            f"{len(others):,}) were not asked the same, so they cannot be paired. Evaluate both with the same --bench, "
            "--splits and --templates."
        )
    if here.images.sha256 != there.images.sha256:
        raise UserError(
            f"{sides[0][0]} and {sides[1][0]} ({name}) were evaluated on different photos, so they cannot be paired: "
            "the paths are the same, the files are not."
        )
    return Comparison(
        benchmark=name,
        average="aggregate, unpaired" if unpaired else here.kind,
        before=first,
        after=other,
        n=here.metrics.overall.n if unpaired else len(rows),
        n_positives=0,
        runs=(1, 1),
        changes=_unpaired(here.metrics, there.metrics)
        if unpaired
        else changes(here.kind, rows, others, here.benchmark.counts, seed),
    )


def _unpaired(before: Metrics, after: Metrics) -> dict[str, Change]:
    """after - before with Newcombe's interval of two independent shares: wider than a paired one, which needs items."""
    changes = {}
    for name, first in before.overall.metrics.items():
        second = after.overall.metrics.get(name)
        if second is None:
            continue
        low1, high1 = stats.wilson(round(first.value * first.n), first.n)
        low2, high2 = stats.wilson(round(second.value * second.n), second.n)
        value = second.value - first.value
        low = value - math.hypot(second.value - low2, high1 - first.value)
        high = value + math.hypot(high2 - second.value, first.value - low1)
        changes[name] = Change(difference=value, interval=Interval(low, high))
    return changes


def corrected(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """The p-values corrected for all that are printed together: every metric of every comparison."""
    tested = [
        (index, metric, change)
        for index, comparison in enumerate(comparisons)
        for metric, change in comparison.changes.items()
        if change.p is not None
    ]
    adjusted = holm([change.p or 0.0 for _, _, change in tested])
    updates = [dict(comparison.changes) for comparison in comparisons]
    for (index, metric, change), p_value in zip(tested, adjusted, strict=True):
        updates[index][metric] = change.model_copy(update={"adjusted": p_value})
    return [
        comparison.model_copy(update={"changes": more}) for comparison, more in zip(comparisons, updates, strict=True)
    ]


def _all(seeds: Sequence[dict[str, Path]]) -> list[str]:
    return list(dict.fromkeys(name for places in seeds for name in places))


def rule_of(run: LoadedRun, wanted: str | None) -> tuple[str, list[str], int]:
    """The name, tags and least group of the rule to compare by."""
    metrics = run.records[0].metrics
    wanted = wanted or metrics.rule
    if wanted in (None, PLAIN):
        return PLAIN, [], 1
    if wanted not in metrics.averages:
        raise UserError(
            f"{run.folder} ({run.name}): no average {wanted!r}; measured are {', '.join([*metrics.averages, PLAIN])}"
        )
    average = metrics.averages[wanted]
    return wanted, average.over, average.least


def own_metrics(folders: Sequence[Path]) -> list[str]:
    records = [record for folder in folders for _, record in find_runs([folder])]
    return sorted({metric.name for record in records for metric in record.settings.metrics})


def by_benchmark(folder: Path) -> dict[str, Path]:
    """The run of each benchmark below a folder; two of one benchmark are refused, as either could be meant."""
    places: dict[str, Path] = {}
    for where, record in find_runs([folder]):
        name = record.benchmark.name
        if name in places:
            raise UserError(
                f"{folder}: holds more than one run of {name}, for instance {places[name]} and {where}. "
                "Name the folder that holds the one you mean."
            )
        places[name] = where
    return places


@dataclass(frozen=True)
class FlippedItem:
    """An item that one metric counts better, or worse, than before."""

    id: str
    image: str | None
    change: float  # 1 better or -1 worse; with several runs a side, the mean over them
    before: float | None  # margin s(c) - highest s(n), the mean over runs; None: only right and wrong were published
    after: float | None
    texts: ItemTexts | None


@dataclass(frozen=True)
class FlippedTag:
    """Items of one value of a tag that got better, and worse; of `n`."""

    tag: str
    value: str
    n: int
    gained: float
    lost: float

    @property
    def net(self) -> float:
        return self.gained - self.lost


@dataclass(frozen=True)
class Flips:
    gained: float  # items; a fraction where there are several seeds
    lost: float
    flipped: int  # items that got better or worse, of which `items` are some
    items: list[FlippedItem]  # the largest
    tags: list[FlippedTag]
    metric: str = "original"


def flips(first: ComparedModel, second: ComparedModel, most: int, metric: str = "original") -> Flips:
    """The `most` items that got better on a metric, as many that got worse, and tags; none if it was not measured.

    Items by the change of their outcome, then by how far their margin moved; tags by gained minus lost.
    """
    known = next((row for row in shared_metrics([*first.runs, *second.runs]) if row.name == metric), None)
    if known is None:
        return Flips(0, 0, 0, [], [], metric)
    asked = [known, *(row for row in first.runs[0].metrics if row.name == known.less)]
    was, now = (
        np.mean([per_item(run.outcomes, asked)[:, 0] for run in model.runs], axis=0) for model in (first, second)
    )
    moved: np.ndarray = np.nan_to_num(now - was) * (1 if known.better == "high" else -1)
    margins = [_mean_margins(model) for model in (first, second)]
    far = np.nan_to_num(np.abs(margins[1] - margins[0]))
    largest = np.lexsort((-far, -np.abs(moved)))
    order: list[int] = [
        *largest[moved[largest] > 0][:most].tolist(),
        *largest[moved[largest] < 0][:most].tolist(),
    ]
    rows = first.runs[0].rows
    texts = {line.id: line.texts for line in read_shown(first.runs[0].folder, order)}
    items = []
    for index in order:
        name, change = rows.ids[index], float(moved[index])
        before, after = _known(margins[0][index]), _known(margins[1][index])
        items.append(FlippedItem(name, rows.images[index], change, before, after, texts.get(name)))
    tags = _tags(rows.tags, moved, most)
    return Flips(_gained(moved), _gained(-moved), int(np.count_nonzero(moved)), items, tags, metric)


def _known(margin: float) -> float | None:
    return None if np.isnan(margin) else float(margin)


def _gained(moved: np.ndarray) -> float:
    return float(moved[moved > 0].sum())


def _mean_margins(model: ComparedModel) -> np.ndarray:
    """NaN where the scores of a run stand for right and wrong."""
    margins: np.ndarray = np.mean([_margins(run.rows) for run in model.runs], axis=0)
    unknown = any(is_outcomes_only(record) for run in model.runs for record in run.records)
    return np.full_like(margins, np.nan) if unknown else margins


def _margins(scores: Scores) -> np.ndarray:
    """By column: a million rows as objects take a minute. NaN for answers alone."""
    captions = scores.right.values[scores.right.starts]
    level = np.where(np.isnan(captions), np.nan, 0.0)
    margins: np.ndarray = np.where(
        scores.negatives.counts > 0, captions - scores.negatives.reduced(np.maximum, -np.inf), level
    )
    return margins


def _tags(rows: Sequence[dict[str, str]], moved: np.ndarray, most: int) -> list[FlippedTag]:
    tags = [
        FlippedTag(tag, value, len(places), _gained(moved[places]), _gained(-moved[places]))
        for (tag, value), places in _holding(rows).items()
        if _LEAST <= len(places) < len(rows)
    ]
    changed = [tag for tag in tags if tag.gained or tag.lost]
    return sorted(changed, key=lambda tag: (-abs(tag.net), -(tag.gained + tag.lost), tag.tag, tag.value))[:most]


def _holding(rows: Sequence[dict[str, str]]) -> dict[tuple[str, str], np.ndarray]:
    """The places of the items that carry each value of each tag. Items that share one set of tags are found at once."""
    kinds, kind = kinds_of(rows)
    together = np.split(np.argsort(kind, kind="stable"), np.bincount(kind, minlength=len(kinds)).cumsum()[:-1])
    held: dict[tuple[str, str], list[np.ndarray]] = {}
    for tags, places in zip(kinds, together, strict=False):  # no kinds: one empty part
        for pair in tags.items():
            held.setdefault(pair, []).append(places)
    return {pair: np.sort(np.concatenate(several)) for pair, several in held.items()}
