"""The one way to evaluate: a task and a model -> scores -> numbers -> a result, in memory and on disk.

A task is items (`ItemsTask`) or a set (`evaluation.sets.kinds.SetTask`: classification, retrieval, ratings).
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import JsonValue

from equipoise.benchmarks import registry
from equipoise.benchmarks.base import Benchmark
from equipoise.benchmarks.ceilings import CONTEXT, ceilings
from equipoise.core import run_folder
from equipoise.core.errors import UserError
from equipoise.core.files import stays_inside
from equipoise.core.provenance import environment
from equipoise.data.identity import trained_on
from equipoise.data.images import ImageSource
from equipoise.data.items import Item
from equipoise.evaluation.averages import measure
from equipoise.evaluation.baselines import add_baselines, known_runs
from equipoise.evaluation.embedding.cache import EmbeddingCache, default_world
from equipoise.evaluation.embedding.processes import ALONE, Ranks
from equipoise.evaluation.graded import by_edit, mean_number
from equipoise.evaluation.metrics import Metric
from equipoise.evaluation.outcomes import ROWS, Outcomes, outcomes_of
from equipoise.evaluation.paper_metrics import require_tags
from equipoise.evaluation.record import (
    Arguments,
    BenchmarkId,
    FullArguments,
    ItemCounts,
    Numbers,
    Preflight,
    RunRecord,
    Seconds,
)
from equipoise.evaluation.results import measured_again, write_run, write_set
from equipoise.evaluation.run_id import (
    benchmark_id,
    claim,
    images_id,
    is_finished,
    model_card,
    refuse_other_run,
    settings_of,
)
from equipoise.evaluation.scores import Scores
from equipoise.evaluation.scoring import (
    Scoring,
    ScoringOptions,
    default_batch,
    default_workers,
    score_items,
    scored_photos,
)
from equipoise.models.base import reads_images

if TYPE_CHECKING:
    from equipoise.data.readers.sets.kinds import AnySet


@dataclass(frozen=True)
class Result:
    """What an evaluation found. `record` is result.json; `numbers` is what most people want of it."""

    record: RunRecord
    rows: Sequence[Any]
    outcomes: Outcomes | None = None  # of items
    read_from: Path | None = None  # the folder of a finished run that this is, where nothing was computed

    @property
    def numbers(self) -> Numbers:
        """The metrics with intervals, averaged as the benchmark's paper does."""
        return self.record.metrics.headline


def evaluate(
    model: Any,
    items: Sequence[Item],
    *,
    images: str | Path | ImageSource | None = None,
    benchmark: Benchmark | None = None,
    name: str | None = None,
    out: str | Path | None = None,
    cache: EmbeddingCache | None = None,
    batch_size: int | None = None,
    workers: int | None = None,
    allow_missing: bool = False,
    seed: int = 0,
    limit: int | None = None,
    blind: Sequence[Path] = (),
    metrics: Sequence[Metric] = (),
    preflight: Preflight | None = None,
    arguments: Mapping[str, JsonValue] | None = None,
    ranks: Ranks = ALONE,
) -> Result:
    """Measure `model` on `items` whose images lie in `images`: a folder, tar shards or Parquet files.

    `model` comes from `load_model`, or is any object with `embed_images` and `embed_texts` (lists of PIL images and
    of strings in, one row each out), or with `score_pairs`. With `out`, the run is written there. A folder that
    holds this very run (same items, photos, model and settings) is read instead, and one that holds another is refused
    before anything is computed. With `limit`, only the first so many items count. `blind` are folders of finished runs
    of blind models on these items, which the result then shows with the blind baselines that are always computed.
    `metrics` are your own (`metrics.Metric`), measured and shown with ours. `preflight` is what `kept.checked` says of
    the model, and becomes part of the record. `ranks` are processes that score together; only the first calls this, see
    `evaluate_loaded`.
    """
    task = ItemsTask(items[:limit], images, benchmark, name, limit, tuple(blind), tuple(metrics))
    how = _options(model, batch_size, workers, cache, allow_missing, ranks)
    place = str(images) if images is not None else None
    return _evaluate(model, task, how, out, seed, arguments, place, preflight)


def evaluate_set(
    model: Any,
    data: AnySet,
    *,
    out: str | Path | None = None,
    cache: EmbeddingCache | None = None,
    batch_size: int | None = None,
    workers: int | None = None,
    allow_missing: bool = False,
    seed: int = 0,
    preflight: Preflight | None = None,
    arguments: Mapping[str, JsonValue] | None = None,
    ranks: Ranks = ALONE,
) -> Result:
    """The same of a set of `evaluation.sets.open.open_set`: classification, retrieval or ratings."""
    from equipoise.evaluation.sets.kinds import SetTask

    how = _options(model, batch_size, workers, cache, allow_missing, ranks)
    return _evaluate(model, SetTask(data), how, out, seed, arguments, str(data.source), preflight)


def _options(
    model: Any,
    batch_size: int | None,
    workers: int | None,
    cache: EmbeddingCache | None,
    allow_missing: bool,
    ranks: Ranks,
) -> ScoringOptions:
    return ScoringOptions(batch_size or default_batch(model), workers or default_workers(), cache, allow_missing, ranks)


@dataclass(frozen=True)
class ItemsTask:
    """Items to evaluate a model on."""

    items: Sequence[Item]
    images: str | Path | ImageSource | None
    benchmark: Benchmark | None
    name: str | None
    limit: int | None
    blind: tuple[Path, ...]
    own: tuple[Metric, ...]
    kind = "items"

    def about(self) -> BenchmarkId:
        require_tags(self.benchmark.metrics if self.benchmark else (), self.items)
        return benchmark_id(self.items, self.benchmark, self.name, self.limit)

    def photos(self, how: ScoringOptions) -> dict[str, bytes]:
        return scored_photos(self.items, self.images, how.workers, how.allow_missing)

    def score(self, model: Any, how: ScoringOptions) -> Scoring:
        asked = self.benchmark is not None and "tot" in self.benchmark.metrics
        return score_items(model, self.items, images=self.images, text_scores=asked, **vars(how))


def _evaluate(
    model: Any,
    task: Any,
    how: ScoringOptions,
    out: str | Path | None,
    seed: int,
    arguments: Mapping[str, JsonValue] | None,
    images: str | None,
    preflight: Preflight | None,
) -> Result:
    """The task, on disk where `out` is given: whose folder, scores, numbers, result.json last."""
    folder = None if out is None else Path(out)
    started = time.monotonic()
    own = task.own if task.kind == "items" else ()
    with contextlib.nullcontext() if folder is None else run_folder.locked(str(folder)):
        parts: dict[str, Any] = {
            "benchmark": task.about(),
            "model": model_card(model, probe=folder is not None),
            "settings": settings_of(model, seed, how.allow_missing, how.batch_size, own),
        }
        known = known_runs(task.blind, parts["benchmark"].items_sha256) if task.kind == "items" and task.blind else None
        if folder is not None:
            claim(folder, parts)
        if folder is not None and is_finished(folder):  # only then are the photos read for their hashes alone
            how.ranks.lead(scores=False)
            parts["images"] = images_id(task.photos(how) if reads_images(model) else {})
            refuse_other_run(folder, parts)
            record, rows, outcomes = measured_again(folder, own)
            if known is not None and outcomes is not None:
                ids = Scores.of(rows).ids
                shown = add_baselines(ids, outcomes, task.items, task.benchmark, seed, known, [*ROWS, *own])
                record = record.model_copy(update={"blind": shown})
            return Result(record, rows, outcomes, read_from=folder)
        how.ranks.lead(scores=True)
        scoring = task.score(model, how)
        parts["images"] = images_id(scoring.digests)
        scored = time.monotonic()
        outcomes, measured = _measured(model, task, scoring, parts, seed, known)
        record = RunRecord(
            kind=task.kind,
            date=datetime.now(UTC).replace(microsecond=0),
            preflight=preflight,
            **parts,
            **measured,
            n=ItemCounts(
                items=len(scoring.rows) + len(scoring.skipped), scored=len(scoring.rows), skipped=len(scoring.skipped)
            ),
            skipped=dict(list(scoring.skipped.items())[:100]),
            read_alike=scoring.read_alike[:100],
            arguments=Arguments(
                passed=dict(arguments or {}),
                in_full=FullArguments(
                    images=images,
                    out=None if out is None else str(out),
                    cache=None if how.cache is None or how.cache.path is None else str(how.cache.path),
                    batch_size=how.batch_size,
                    workers=how.workers,
                ),
            ),
            environment=environment(),
            seconds=Seconds(
                score=round(scored - started, 3),
                measure=round(time.monotonic() - scored, 3),
                parts={part: round(seconds, 3) for part, seconds in scoring.seconds.items()},
            ),
            scores_sha256=None,
        )
        if folder is not None:
            refuse_other_run(folder, parts)  # where there are no locks, another may have finished meanwhile
            if outcomes is None:
                record = write_set(folder, record, scoring.rows)
            else:
                items = {item.id: item for item in task.items}
                record = write_run(folder, record, scoring.rows, outcomes, items, [*ROWS, *own])
        return Result(record, scoring.rows, outcomes)


def _measured(
    model: Any, task: Any, scoring: Scoring, parts: Mapping[str, Any], seed: int, known: Any
) -> tuple[Outcomes | None, dict[str, Any]]:
    """What a record holds of the scores; outcomes are of items alone."""
    if task.kind != "items":
        from equipoise.evaluation.sets.kinds import measure as measure_set

        metrics = measure_set(task.kind, scoring.rows, parts["benchmark"].counts, seed)
        return None, {"metrics": metrics, "counts": scoring.counts}
    rows = [*ROWS, *task.own]
    outcomes = outcomes_of(scoring.rows)
    seen = trained_on(model, task.items)
    return outcomes, {
        "metrics": measure(scoring.rows, outcomes, task.benchmark, seed, metrics=rows),
        "edits": by_edit(scoring.rows, task.items),
        "text_cosines": {
            name: number
            for name, values in scoring.text_cosines.items()
            if (number := mean_number(values, outcomes.cluster)) is not None
        },
        # Of what was scored: they bound the numbers above.
        "ceilings": ceilings(
            (item for item in task.items if item.id not in scoring.skipped), parts["model"].context_length or CONTEXT
        ),
        "blind": add_baselines(Scores.of(scoring.rows).ids, outcomes, task.items, task.benchmark, seed, known, rows),
        "counts": scoring.counts
        | ({} if seen is None else {"trained_on": seen})
        | ({"read_alike": len(scoring.read_alike)} if scoring.read_alike else {}),
    }


@dataclass(frozen=True)
class Loaded:
    """What a name of `--bench` means: a benchmark's items and where their images lie, or a set."""

    name: str
    items: Sequence[Item] = ()
    benchmark: Benchmark | None = None
    images: str | Path | ImageSource | None = None
    data: AnySet | None = None


def read_benchmarks(
    names: Sequence[str],
    *,
    source: Path | None = None,
    data: Path | None = None,
    splits: Sequence[str] = (),
    out: Path | None = None,
    average: str | None = None,
    templates: Path | None = None,
) -> list[Loaded]:
    """Benchmarks, items files and sets by name; all that can be known and refused without a model.

    `source` holds annotation files and `data` images; where only one is named it stands for both.
    """
    loaded: list[Loaded] = []  # every one is read before the first is scored: a typing error must not cost hours
    for name in [one for wanted in names for one in ([wanted] if registry.is_set(wanted) else registry.expand(wanted))]:
        if registry.is_set(name):
            from equipoise.evaluation.sets.open import open_set

            split = splits[0] if splits else "test"
            found = open_set(name, source=source, data=data, split=split, templates=templates)
            loaded.append(Loaded(found.name, data=found))
            continue
        folder = source or data
        if folder is None and name in registry.names() and registry.get(name).drawn:
            folder = default_world()
        if average is not None and name in registry.names():
            registry.get(name).require_rule(average)
        items, benchmark = registry.load(name, folder, splits)
        registry.require_images(name, items)
        benchmark.require_rule(average)
        require_tags(benchmark.metrics, items)
        loaded.append(Loaded(benchmark.name, items, benchmark, data or folder))
    labels = [one.name for one in loaded]
    if templates is not None and not any(one.data is not None for one in loaded):
        raise UserError("--templates is only for zero-shot classification; no --bench is one")
    if out is not None and len(set(labels)) < len(labels):
        raise UserError(f"two of {', '.join(labels)} would be kept in one folder of {out}; evaluate them one by one")
    if out is not None and (leaving := [label for label in labels if not stays_inside(label)]):
        raise UserError(f"the benchmark {leaving[0]!r} cannot be kept in {out}: its name would be a folder outside")
    return loaded


def evaluate_loaded(
    model: Any,
    loaded: Sequence[Loaded],
    *,
    out: Path | None = None,
    limit: int | None = None,
    ranks: Ranks = ALONE,
    blind: Sequence[Path] = (),
    metrics: Sequence[Metric] = (),
    **options: Any,
) -> Iterator[Result]:
    """Evaluate on what `read_benchmarks` read, one after the other; each is on disk before the next begins.

    One that is already finished in `out` is read, not computed (`Result.read_from`). Of several `ranks` that all call
    this, the first yields the results; the others help it and yield nothing.
    """
    for one in loaded:
        place = None if out is None else out / one.name
        if ranks.number > 0:
            if ranks.follow():
                _help(model, one, limit, ranks, options)
        elif one.data is not None:
            yield evaluate_set(model, one.data, out=place, ranks=ranks, **options)
        else:
            yield evaluate(
                model, one.items, images=one.images, benchmark=one.benchmark, out=place, limit=limit, ranks=ranks,
                blind=blind, metrics=metrics, **options,
            )  # fmt: skip


def _help(model: Any, one: Loaded, limit: int | None, ranks: Ranks, options: Mapping[str, Any]) -> None:
    """Score what the first process scores."""
    asked = {name: options.get(name) for name in ("batch_size", "workers", "cache")}
    how = _options(model, **asked, allow_missing=bool(options.get("allow_missing")), ranks=ranks)
    if one.data is not None:
        from equipoise.evaluation.sets.kinds import SetTask

        SetTask(one.data).score(model, how)
    else:
        ItemsTask(one.items[:limit], one.images, one.benchmark, None, limit, (), ()).score(model, how)
