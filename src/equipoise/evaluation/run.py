"""The one evaluation loop: items and a model -> scores -> outcomes -> a result, in memory and on disk."""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ParamSpec

from pydantic import JsonValue

from equipoise import registry, run_folder
from equipoise.benchmarks.base import Benchmark
from equipoise.benchmarks.ceilings import CONTEXT, Ceilings, ceilings
from equipoise.collector import elsewhere, set_aside
from equipoise.errors import UserError
from equipoise.evaluation.blind.numbers import Known, beside, from_texts, known_runs
from equipoise.evaluation.embedding.cache import EmbeddingCache, default_world
from equipoise.evaluation.embedding.processes import ALONE, Ranks
from equipoise.evaluation.graded import by_edit
from equipoise.evaluation.measure import measure
from equipoise.evaluation.metrics import Metric
from equipoise.evaluation.outcomes import ROWS, Outcomes, outcomes_of
from equipoise.evaluation.paper_metrics import require_tags
from equipoise.evaluation.record import (
    Arguments,
    FullArguments,
    ItemCounts,
    Numbers,
    RunRecord,
    Seconds,
)
from equipoise.evaluation.results import read_result, read_run, refuse_edited, write_run
from equipoise.evaluation.run_id import benchmark_id, images_id, model_card, of_run, refuse_other, settings_of
from equipoise.evaluation.scores import ItemScores, Scores
from equipoise.evaluation.scoring import default_batch, default_workers, score_items, scored_photos
from equipoise.files import stays_inside
from equipoise.images.sources import ImageSource
from equipoise.items import Item
from equipoise.models.base import reads_images
from equipoise.models.trained import trained_on
from equipoise.provenance import environment

_Arguments = ParamSpec("_Arguments")

MANY = 5_000  # items whose texts are looked at in another process


@dataclass(frozen=True)
class Result:
    """What an evaluation found. `record` is result.json; `numbers` is what most people want of it."""

    record: RunRecord
    rows: Sequence[ItemScores]
    outcomes: Outcomes
    read_from: Path | None = None  # the folder of a finished run that this is, where nothing was computed

    @property
    def numbers(self) -> Numbers:
        """n, ties, Original, Augmented, Brittleness, with intervals, averaged as the benchmark's paper does."""
        return self.record.metrics.headline


def _alone(run: Callable[_Arguments, Result]) -> Callable[_Arguments, Result]:
    """Only one run at a time may write its `out`; the items are not looked through for garbage meanwhile."""

    @functools.wraps(run)
    def locked(*arguments: _Arguments.args, **options: _Arguments.kwargs) -> Result:
        out = options.get("out")
        with contextlib.nullcontext() if out is None else run_folder.locked(str(out)), set_aside():
            return run(*arguments, **options)

    return locked


@_alone
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
    arguments: Mapping[str, JsonValue] | None = None,
    ranks: Ranks = ALONE,
) -> Result:
    """Judge `model` on `items` whose images lie in `images`: a folder, tar shards or Parquet files.

    `model` comes from `load_model`, or is any object with `embed_images` and `embed_texts` (lists of PIL images and
    of strings in, one row each out), or with `score_pairs`. With `out`, the run is written there. A folder that
    holds this very run (same items, photos, model and settings) is read instead, and one that holds another is refused
    before anything is computed. With `limit`, only the first so many items count. `blind` are folders of finished runs
    of blind models on these items, which the result then shows beside the blind baselines that are always computed.
    `metrics` are your own (`metrics.Metric`), measured and shown beside ours.
    `ranks` are processes that score together; only the first calls this, see `evaluate_benchmarks`.
    """
    started = time.monotonic()
    rows = [*ROWS, *metrics]
    items = items[:limit]
    batch_size, workers = batch_size or default_batch(model), workers or default_workers()
    folder = None if out is None else Path(out)
    require_tags(benchmark.metrics if benchmark else (), items)

    card = model_card(model, probe=folder is not None)
    context = card.context_length or CONTEXT

    def claim() -> tuple[dict[str, Any], Known | None]:
        """Who this run is, and that the folder is its own: known before the model is asked for anything."""
        parts: dict[str, Any] = {
            "benchmark": benchmark_id(items, benchmark, name, limit),
            "model": card,
            "settings": settings_of(model, seed, allow_missing, batch_size, metrics),
        }
        known = known_runs(blind, parts["benchmark"].items_sha256) if blind else None
        if folder is not None:
            _claim(folder, parts)
        return parts, known

    # What costs nothing to know is known before every photo is read; of an empty folder there is nothing to know.
    claimed = None if ranks.count == 1 and (folder is None or _is_empty(folder)) else claim()
    if claimed and folder is not None and _is_finished(folder):  # only then are the photos read for their hashes alone
        parts, known = claimed
        ranks.lead(scores=False)
        photos = scored_photos(items, images, workers, allow_missing) if reads_images(model) else {}
        read = _finished(folder, parts | {"images": images_id(photos)}, benchmark, rows)
        if known is None:
            return read
        shown = beside([row.id for row in read.rows], read.outcomes, items, benchmark, seed, known, metrics=rows)
        return replace(read, record=read.record.model_copy(update={"blind": shown}))
    ranks.lead(scores=True)
    ahead: Callable[[], tuple[dict[str, Scores], Ceilings]] | None = None
    with contextlib.ExitStack() as stack:

        def meanwhile() -> None:
            nonlocal claimed, ahead
            claimed = claimed or claim()
            if len(items) >= MANY and workers > 2:  # while photos are decoded there is a core for it
                lines = [item.__pydantic_serializer__.to_json(item) for item in items]
                ahead = stack.enter_context(elsewhere(from_texts, lines, context))

        scoring = score_items(
            model,
            items,
            images=images,
            cache=cache,
            batch_size=batch_size,
            workers=workers,
            allow_missing=allow_missing,
            text_scores=benchmark is not None and "tot" in benchmark.metrics,
            ranks=ranks,
            meanwhile=meanwhile,
        )
        assert claimed is not None
        parts, known = claimed[0] | {"images": images_id(scoring.digests)}, claimed[1]
        scored = time.monotonic()
        outcomes = outcomes_of(scoring.rows)
        measured = measure(scoring.rows, outcomes, benchmark, seed, metrics=rows)
        asked, bounds = ahead() if ahead is not None else (None, None)
        if bounds is None or scoring.skipped:  # of what was scored: they bound the numbers above
            bounds = ceilings((item for item in items if item.id not in scoring.skipped), context)
    shown = beside(Scores.of(scoring.rows).ids, outcomes, items, benchmark, seed, known, asked, rows)
    judged = time.monotonic()
    record = RunRecord(
        date=datetime.now(UTC).replace(microsecond=0),
        **parts,
        metrics=measured,
        edits=by_edit(scoring.rows, items),
        ceilings=bounds,
        blind=shown,
        n=ItemCounts(items=len(items), scored=len(scoring.rows), skipped=len(scoring.skipped)),
        skipped=dict(list(scoring.skipped.items())[:100]),
        counts=scoring.counts | ({} if (seen := trained_on(model, items)) is None else {"trained_on": seen}),
        arguments=Arguments(
            passed=dict(arguments or {}),
            in_full=FullArguments(
                images=None if images is None else str(images),
                out=None if out is None else str(out),
                cache=None if cache is None or cache.path is None else str(cache.path),
                batch_size=batch_size,
                workers=workers,
            ),
        ),
        environment=environment(),
        seconds=Seconds(
            score=round(scored - started, 3),
            measure=round(judged - scored, 3),
            parts={part: round(seconds, 3) for part, seconds in scoring.seconds.items()},
        ),
        scores_sha256=None,
    )
    if folder is not None:
        _refuse_other_run(folder, parts)  # where there are no locks, another may have finished meanwhile
        record = write_run(folder, record, scoring.rows, outcomes, {item.id: item for item in items}, rows)
    return Result(record, scoring.rows, outcomes)


def evaluate_benchmarks(
    model: Any,
    names: Sequence[str],
    *,
    source: Path | None = None,
    data: Path | None = None,
    splits: Sequence[str] = (),
    out: Path | None = None,
    limit: int | None = None,
    average: str | None = None,
    ranks: Ranks = ALONE,
    **options: Any,
) -> Iterator[Result]:
    """Evaluate on benchmarks or items files by name, one after the other; each is on disk before the next begins.

    `source` holds annotation files and `data` images; where only one is named it stands for both. A benchmark that
    is already finished in `out` is read, not computed (`Result.read_from`). Every average is measured; `average` is the
    rule that the caller will show, and a benchmark without it is refused before anything is scored. Of several `ranks`
    that all call this, the first yields the results; the others help it and yield nothing.
    """
    loaded = read_benchmarks(names, source=source, data=data, splits=splits, out=out, average=average)
    yield from evaluate_loaded(model, loaded, out=out, limit=limit, ranks=ranks, **options)


Loaded = tuple[Benchmark, Sequence[Item], Path | None]  # and where its images lie


def read_benchmarks(
    names: Sequence[str],
    *,
    source: Path | None = None,
    data: Path | None = None,
    splits: Sequence[str] = (),
    out: Path | None = None,
    average: str | None = None,
) -> list[Loaded]:
    """All that `evaluate_benchmarks` can know and refuse without a model, which may take longer to load."""
    loaded: list[Loaded] = []  # every benchmark is read before the first is scored: a typing error must not cost hours
    for name in [one for wanted in names for one in registry.expand(wanted)]:
        folder = source or data
        if folder is None and name in registry.names() and registry.get(name).drawn:
            folder = default_world()
        if average is not None and name in registry.names():
            registry.get(name).require_rule(average)
        items, benchmark = registry.load(name, folder, splits)
        registry.require_images(name, items)
        benchmark.require_rule(average)
        require_tags(benchmark.metrics, items)
        loaded.append((benchmark, items, data or folder))
    labels = [benchmark.name for benchmark, _, _ in loaded]
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
    **options: Any,
) -> Iterator[Result]:
    """`evaluate_benchmarks` of what `read_benchmarks` read."""
    for benchmark, items, images in loaded:
        if ranks.number > 0:
            if ranks.follow():
                helped = {
                    name: value
                    for name, value in options.items()
                    if name not in {"seed", "arguments", "blind", "metrics"}
                }
                score_items(model, items[:limit], images=images, ranks=ranks, **helped)
            continue
        place = None if out is None else out / benchmark.name
        yield evaluate(model, items, images=images, benchmark=benchmark, out=place, limit=limit, ranks=ranks, **options)


def _claim(folder: Path, parts: Mapping[str, Any]) -> None:
    """Take the folder for this run; an unfinished one leaves nothing to keep, its embeddings are in the cache."""
    _refuse_other_run(folder, parts)
    if not (folder / "result.json").exists():
        run_folder.take(folder, "eval", of_run(parts), writes=("items.jsonl", "result.json"), resumes=False)


def _refuse_other_run(folder: Path, parts: Mapping[str, Any]) -> None:
    if (folder / "result.json").exists():
        refuse_other(folder, of_run(read_result(folder)), of_run(parts))


def _is_empty(folder: Path) -> bool:
    return not any(folder.iterdir())  # it is there: it is locked


def _is_finished(folder: Path) -> bool:
    return (folder / "result.json").exists() and (folder / "items.jsonl").exists()


def _finished(folder: Path, parts: Mapping[str, Any], benchmark: Benchmark | None, metrics: Sequence[Metric]) -> Result:
    """The run in `folder`, which is this one or refused.

    It is judged again, so that a number that somebody wrote into result.json is never printed as measured.
    """
    _refuse_other_run(folder, parts)
    record, rows = read_run(folder)
    outcomes = outcomes_of(rows)
    measured = measure(rows, outcomes, benchmark, record.settings.seed, metrics=metrics)
    refuse_edited(folder, record, rows, outcomes, measured)
    return Result(record.model_copy(update={"metrics": measured}), rows, outcomes, read_from=folder)
