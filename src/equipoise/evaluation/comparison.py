"""Two models on the same items: paired differences with intervals.

The same images are resampled for both models, so what both find easy or hard cancels out. A model may be several
runs (finetuning seeds): its outcome on an item is then the mean over them, and the interval speaks of these seeds on
other images, not of other seeds. The spread over seeds is therefore given beside it.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np

from equipoise import stats
from equipoise.collector import cores, elsewhere
from equipoise.errors import UserError
from equipoise.evaluation.image_side import named
from equipoise.evaluation.metrics import Leaves, Outcomes, judge, leaves
from equipoise.evaluation.record import (
    IMAGE_METRICS,
    METRICS,
    Change,
    Difference,
    Interval,
    Numbers,
    RunRecord,
)
from equipoise.evaluation.results import read_run, refuse_edited
from equipoise.evaluation.scores import ItemScores, Scores

LARGE = 100 * 2**20  # bytes of items.jsonl; a process starts in a second, and this is read in two


@dataclass(frozen=True)
class Run:
    """One finished run, read back; or several benchmarks of one model, `joined`."""

    folder: Path
    records: tuple[RunRecord, ...]  # one, or that of each benchmark
    rows: Sequence[ItemScores]
    outcomes: Outcomes

    @property
    def name(self) -> str:
        return "+".join(record.benchmark.name for record in self.records)

    @property
    def ids(self) -> list[str]:
        """Of the items that were scored."""
        return Scores.of(self.rows).ids

    @property
    def items(self) -> list[str]:
        """Hashes of the items that were to be scored."""
        return [record.benchmark.items_sha256 for record in self.records]

    @property
    def images(self) -> list[str | None]:
        """Digests of the photos; None where an older version did not record them, or a blind model read none."""
        return [record.images.sha256 if record.images and record.images.count else None for record in self.records]

    def where(self, tag: str, value: str) -> Run:
        """The items that carry a tag's value."""
        rows = [row for row in self.rows if row.tags.get(tag) == value]
        return Run(self.folder, self.records, rows, judge(rows))


def load_run(folder: str | Path) -> Run:
    """A run folder's result and scores; judged again, so that nobody's edited outcome or number is believed."""
    folder = Path(folder)
    record, rows = read_run(folder)
    outcomes = judge(rows)
    refuse_edited(folder, record, rows, outcomes)
    return Run(folder, (record,), rows, outcomes)


def load_runs(folders: Sequence[str | Path]) -> list[Run]:
    """Several runs; large ones at the same time, each in a process of its own but for the first."""
    with contextlib.ExitStack() as stack:
        loads: list[Callable[[], Run]] = [functools.partial(load_run, folder) for folder in folders]
        for place in range(1, min(len(folders), cores())):
            if sum(file.stat().st_size for file in Path(folders[place]).glob("items.jsonl")) > LARGE:
                loads[place] = stack.enter_context(elsewhere(load_run, folders[place]))
        return [load() for load in loads]


def joined(runs: Sequence[Run]) -> Run:
    """Several benchmarks of one model as one run, each item tagged with its `benchmark`: REPLACE is such a pair."""
    rows = [
        row.model_copy(update={"id": f"{run.name}/{row.id}", "tags": {**row.tags, "benchmark": run.name}})
        for run in runs
        for row in run.rows
    ]
    return Run(runs[0].folder.parent, tuple(record for run in runs for record in run.records), rows, judge(rows))


def difference(
    first: Sequence[Run],
    second: Sequence[Run],
    seed: int = 0,
    resamples: int = stats.RESAMPLES,
    path: Sequence[str] = (),
    least: int = 1,
) -> Difference:
    """second - first for every metric: value, 95% interval, whether the interval leaves zero out, and by seed.

    `path` and `least` average over groups as `metrics.macro` does (REPLACE: ("split",)), so that the difference is
    that of the two headlines. McNemar's test is given where every image has one item and all items weigh the same.
    """
    return measured_difference(first, second, seed, resamples, path, least)[0]


class Measured(NamedTuple):
    """What a difference was made of, a column each metric."""

    groups: Leaves
    before: list[stats.Floats]  # of each run, by item
    after: list[stats.Floats]
    change: stats.Floats  # by item
    found: stats.Average


def measured_difference(
    first: Sequence[Run],
    second: Sequence[Run],
    seed: int,
    resamples: int,
    path: Sequence[str],
    least: int,
) -> tuple[Difference, Measured]:
    """`difference`, and the numbers behind it: resampling a million items twice is a waste."""
    same_items([*first, *second])
    outcomes = first[0].outcomes
    groups = leaves_of(first[0], path, least)

    def measured(of_run: Callable[[Outcomes], stats.Floats]) -> Measured:
        before, after = ([of_run(run.outcomes) for run in runs] for runs in (first, second))
        change = np.mean(after, axis=0) - np.mean(before, axis=0)
        return Measured(groups, before, after, change, grouped(change, outcomes, groups, seed, resamples))

    def changes(one: Measured) -> list[Change | None]:
        pairs = zip(one.before, one.after, strict=False)
        seeds = [grouped(there - here, outcomes, groups, seed, 0).values for here, there in pairs]
        return [
            _change(value, one.found.interval(index, lowest=-1.0), [float(by_seed[index]) for by_seed in seeds])
            if not np.isnan(value)
            else None
            for index, value in enumerate(one.found.values.tolist())
        ]

    on_texts = measured(per_item)
    found = _known(METRICS, changes(on_texts))
    alone = len(groups.kept) == stats.distinct(outcomes.cluster)  # items that share an image are no coin tosses
    if len(first) == len(second) == 1 and not path and alone and "original" in found:
        p_value = stats.mcnemar(*_discordant(outcomes, second[0].outcomes))
        found["original"] = found["original"].model_copy(update={"mcnemar": p_value})
    on_images = _known(IMAGE_METRICS, changes(measured(per_item_images))) if outcomes.images is not None else {}
    whole = Difference(
        n=int(groups.kept.sum()),
        n_positives=int((groups.kept & outcomes.has_positive).sum()),
        runs=(len(first), len(second)),
        **found,
        image_side=on_images,
    )
    return whole, on_texts


_Name = TypeVar("_Name", bound=str)


def _known(names: Iterable[_Name], changes: Iterable[Change | None]) -> dict[_Name, Change]:
    return {name: change for name, change in zip(names, changes, strict=True) if change is not None}


def _change(value: float, interval: tuple[float, float], by_run: list[float]) -> Change:
    clear = bool(interval[0] > 0 or interval[1] < 0)
    return Change(difference=value, interval=Interval(*interval), clear=clear, by_run=by_run, mcnemar=None)


def average(
    runs: Sequence[Run],
    path: Sequence[str] = (),
    least: int = 1,
    seed: int = 0,
    resamples: int = stats.RESAMPLES,
) -> Numbers:
    """The numbers of one model over its runs (seeds): an item's outcome is their mean."""
    same_items(runs)
    values = [per_item(run.outcomes) for run in runs]
    outcomes = runs[0].outcomes
    groups = leaves_of(runs[0], path, least)
    measured = grouped(np.mean(values, axis=0), outcomes, groups, seed, resamples)
    known = {name: index for index, name in enumerate(METRICS) if not np.isnan(measured.values[index])}
    found = {name: float(measured.values[index]) for name, index in known.items()}
    return Numbers(
        n=int(groups.kept.sum()),
        n_positives=int((groups.kept & outcomes.has_positive).sum()),
        ties=round(float(np.mean([(run.outcomes.tie & groups.kept).sum() for run in runs])), 1),
        original=found.get("original"),
        augmented=found.get("augmented"),
        brittleness=found.get("brittleness"),
        drop=found.get("drop"),
        intervals={name: Interval(*measured.interval(index)) for name, index in known.items()},
    )


def _discordant(a: Outcomes, b: Outcomes) -> tuple[int, int]:
    return int((a.original & ~b.original).sum()), int((b.original & ~a.original).sum())


def per_item_images(outcomes: Outcomes) -> stats.Floats:
    """(items, 7): as IMAGE_METRICS; NaN where an item has no negative image, no second right pair, no texts of them."""
    assert outcomes.images is not None
    wins, counts = outcomes.images.columns()
    return named(np.where(counts > 0, wins, np.nan))


def per_item(outcomes: Outcomes) -> stats.Floats:
    """(items, 4): original, augmented, brittle, drop; NaN where an item has no positive, or no negative."""
    positive = np.where(outcomes.has_positive, 1.0, np.nan)
    return np.stack(
        [
            np.where(outcomes.has_negative, outcomes.original, np.nan),
            outcomes.augmented * positive,
            outcomes.brittle * positive,
            (outcomes.original.astype(float) - outcomes.augmented) * positive,
        ],
        axis=1,
    )


def leaves_of(run: Run, path: Sequence[str], least: int) -> Leaves:
    found = leaves(run.outcomes.tags, path, least)
    if found is None:
        raise UserError(f"{run.folder}: no group of {'/'.join(path)} has {least} items or more, so nothing is averaged")
    return found


def grouped(values: stats.Floats, outcomes: Outcomes, groups: Leaves, seed: int, resamples: int) -> stats.Average:
    """Each column of (items, columns) averaged over the groups; NaN is no value."""
    there = ~np.isnan(values)
    filled = np.where(there, values, 0.0)
    return stats.averaged(filled, there.astype(float), outcomes.cluster, groups.masks, groups.weights, seed, resamples)


def images_of(values: stats.Floats, outcomes: Outcomes, groups: Leaves) -> list[int]:
    """The images that each column of `grouped` is of; an item that has no value there says nothing."""
    return stats.distinct_by(outcomes.cluster[groups.kept], ~np.isnan(values[groups.kept]))


def same_items(runs: Sequence[Run]) -> None:
    """Paired means the same items, in the same order, with the same texts and the same photos."""
    reference = runs[0]
    for run in runs[1:]:
        if reference.items != run.items or reference.ids != run.ids:
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
