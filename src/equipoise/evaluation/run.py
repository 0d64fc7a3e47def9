"""Evaluates a model on a task: scores -> numbers -> a result, in memory and on disk.

task.py says what a task is.
"""

from __future__ import annotations

import contextlib
import json
import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from pydantic import JsonValue, ValidationError

from equipoise.benchmarks import registry
from equipoise.benchmarks.base import Benchmark
from equipoise.core import run_folder
from equipoise.core.errors import Problems, UserError
from equipoise.core.files import stays_inside
from equipoise.core.processes import ahead
from equipoise.core.provenance import environment
from equipoise.data import identity
from equipoise.data.identity import batch_matters, steady
from equipoise.data.images import ImageSource
from equipoise.data.items import Item
from equipoise.data.readers.records import explain
from equipoise.embedding.cache import ALONE, EmbeddingCache, Ranks, ScoringOptions
from equipoise.embedding.embed import EMBEDDING_CODE
from equipoise.evaluation.asking.until import Until, parse_until
from equipoise.evaluation.asking.variants import DEFAULT, Ask, parse_ask
from equipoise.evaluation.metrics import Metric
from equipoise.evaluation.outcomes import outcomes_of
from equipoise.evaluation.record import (
    ImagesId,
    ItemCounts,
    Kind,
    ModelCard,
    Numbers,
    Preflight,
    RunRecord,
    Seconds,
    Settings,
)
from equipoise.evaluation.results import (
    claim,
    is_finished,
    read_run,
    refuse_other_metrics,
    refuse_other_run,
    write_lines,
    write_record,
)
from equipoise.evaluation.scoring import Scoring, default_batch, default_workers
from equipoise.evaluation.task import FromTexts, ItemsTask, Task
from equipoise.models.base import Model, device_of, kind_of, reads_images

if TYPE_CHECKING:
    from equipoise.data.readers.sets.kinds import AnySet

log = logging.getLogger(__name__)

MANY = 5_000  # items; below, the baselines take less time than a process


@dataclass(frozen=True)
class Result:
    """The result of an evaluation. `record` is result.json; `numbers` are its headline."""

    record: RunRecord
    rows: Sequence[Any]
    read_from: Path | None = None  # the folder of a finished run that this is, where nothing was computed

    @property
    def numbers(self) -> Numbers:
        """The metrics with intervals, averaged as the benchmark's paper does."""
        return self.record.metrics.headline


class Options(TypedDict, total=False):
    """Options of every evaluation.

    With `out`, the run is written there. A folder that holds this very run (same items, photos, model and settings) is
    read instead, and one that holds another is refused before anything is computed. `preflight` is what the checks of
    the model found (preflight/judging.py), and becomes part of the record. `ranks` are processes that score together;
    only the first calls `evaluate`, see `evaluate_loaded`.
    """

    out: str | Path | None
    cache: EmbeddingCache | None
    batch_size: int | None
    workers: int | None
    allow_missing: bool
    seed: int
    preflight: Preflight | None
    arguments: Mapping[str, JsonValue] | None
    ranks: Ranks


def evaluate(
    model: Model,
    items: Sequence[Item],
    *,
    images: str | Path | ImageSource | None = None,
    benchmark: Benchmark | None = None,
    name: str | None = None,
    limit: int | None = None,
    metrics: Sequence[Metric] = (),
    ask: Ask | None = None,
    until: Until | None = None,
    **options: Unpack[Options],
) -> Result:
    """Measure `model` on `items` whose images lie in `images`: a folder, tar shards or Parquet files.

    `model` comes from `load_model`, or is any object with `embed_images` and `embed_texts` (lists of PIL images and
    of strings in, one row each out), or with `score_pairs`. With `limit`, only the first so many items count.
    `metrics` are your own (`metrics.Metric`), measured and shown with ours. A model with `answer(images, prompts)` is
    asked in the variants of `ask`, until enough is known (asking/variants.py, asking/until.py).
    """
    called = name or (benchmark.name if benchmark else "items")
    task = ItemsTask(called, items, images, benchmark).limited(limit).chosen(metrics, ask, until)
    if benchmark is not None:
        benchmark.require_tags(task.items)
    return _evaluate(model, task, **options)


def evaluate_set(model: Model, data: AnySet, **options: Unpack[Options]) -> Result:
    """Measure `model` on a set of `evaluation.sets.kinds.open_set`: classification, retrieval or ratings."""
    from equipoise.evaluation.sets.kinds import SetTask

    return _evaluate(model, SetTask(data), **options)


def _how(model: Model, options: Options) -> ScoringOptions:
    return ScoringOptions(
        options.get("batch_size") or default_batch(model),
        options.get("workers") or default_workers(),
        options.get("cache"),
        options.get("allow_missing", False),
        options.get("ranks", ALONE),
    )


def _evaluate(model: Model, task: Task, **options: Unpack[Options]) -> Result:
    """The task, on disk where `out` is given: whose folder, scores, numbers, result.json last."""
    out, seed, how = options.get("out"), options.get("seed", 0), _how(model, options)
    folder = None if out is None else Path(out)
    started = time.monotonic()
    with contextlib.ExitStack() as stack:
        stack.enter_context(steady())
        if folder is not None:
            stack.enter_context(run_folder.locked(str(folder)))
        # What depends on the texts alone is computed while photos are decoded, if that leaves a core for it. An empty
        # folder holds no other run that would be refused.
        spare = how.workers > 1 and len(task.items) >= MANY
        fresh = folder is None or not any(folder.iterdir())
        about = stack.enter_context(ahead(task.about)) if spare and fresh else task.about
        parts: dict[str, Any] = {} if spare and fresh else {"benchmark": about()}
        parts["model"] = card = model_card(model, probe=folder is not None)
        parts["settings"] = settings_of(model, seed, how.allow_missing, how.batch_size, task)
        if folder is not None and not (spare and fresh):
            claim(folder, parts)
        if folder is not None and is_finished(folder):  # only then are the photos read for their hashes alone
            how.ranks.lead(scores=False)
            parts["images"] = images_id(task.photos(how, folder) if reads_images(model) else {})
            refuse_other_run(folder, parts)
            record, rows = read_run(folder)
            if task.own:
                refuse_other_metrics(folder, record, outcomes_of(rows), task.own)
            return Result(record, rows, read_from=folder)
        how.ranks.lead(scores=True)

        def from_texts() -> FromTexts | None:
            return task.from_texts(card.context_length, seed)

        begun = stack.enter_context(ahead(from_texts)) if spare else from_texts
        scoring = task.score(model, how, seed)
        parts["images"] = images_id(scoring.digests)
        if spare and fresh:
            parts["benchmark"] = about()
            if folder is not None:
                claim(folder, parts)
        scored = time.monotonic()
        if folder is not None:
            write = partial(_write_lines, folder, parts, task, scoring)
            lines_sha256 = stack.enter_context(ahead(write)) if spare and not task.own else write
        measured = task.measure(model, scoring, card.context_length, seed, begun)
        record = new_record(
            task.kind,
            parts,
            scored=len(scoring.rows),
            skipped=scoring.skipped,
            arguments={
                **(options.get("arguments") or {}),
                "images": None if task.images is None else str(task.images),
                "out": None if out is None else str(out),
                "cache": None if how.cache is None or how.cache.path is None else str(how.cache.path),
                "batch_size": how.batch_size,
                "workers": how.workers,
            },
            preflight=options.get("preflight"),
            read_alike=scoring.read_alike[:100],
            seconds=Seconds(
                score=round(scored - started, 3),
                measure=round(time.monotonic() - scored, 3),
                parts={part: round(seconds, 3) for part, seconds in scoring.seconds.items()},
            ),
            **measured,
        )
        if folder is not None:
            written = lines_sha256()
            refuse_other_run(folder, parts)
            record = write_record(folder, record, written)
        return Result(record, scoring.rows)


def _write_lines(folder: Path, parts: Mapping[str, Any], task: Task, scoring: Scoring) -> str:
    def lines() -> Iterator[Mapping[str, object]]:
        yield from task.lines(scoring)
        refuse_other_run(folder, parts)  # where there are no locks, another may have finished meanwhile

    return write_lines(folder, lines())


def new_record(
    kind: Kind, parts: Mapping[str, Any], scored: int, skipped: Mapping[str, str] | None = None, **more: Any
) -> RunRecord:
    """The record of a run that ends now; `parts` identify it, the hashes come when it is written."""
    lost = skipped or {}
    return RunRecord(
        kind=kind,
        date=datetime.now(UTC).replace(microsecond=0),
        **parts,
        n=ItemCounts(items=scored + len(lost), scored=scored, skipped=len(lost)),
        skipped=dict(list(lost.items())[:100]),
        environment=environment(),
        scores_sha256=None,
        record_sha256=None,
        **more,
    )


def settings_of(model: Model, seed: int, allow_missing: bool, batch_size: int, task: Task | None = None) -> Settings:
    chosen = task or Task()
    ask, until = chosen.ask, chosen.until
    if task is not None and kind_of(model, answers=ask is not None) == "answers":
        ask = ask or Ask()
    return Settings(
        seed=seed,
        allow_missing=allow_missing,
        batch_size=batch_size if batch_matters(model) else None,
        embedding_code=EMBEDDING_CODE,
        metrics=[metric.own for metric in chosen.own if metric.own],
        ask=None if ask is None else ask.words(),
        until=None if until is None else until.words(),
    )


def ask_of(model: Model, given: str | None) -> Ask | None:
    """The variants to ask; None for a model that gives scores, unless some are `given`."""
    if given is None and kind_of(model) != "answers":
        return None
    return parse_ask(DEFAULT if given is None else given, getattr(model, "ask_template", None))


def read_benchmarks(
    names: Sequence[str],
    *,
    source: Path | None = None,
    data: Path | None = None,
    splits: Sequence[str] = (),
    out: Path | None = None,
    average: str | None = None,
    templates: Path | None = None,
) -> list[Task]:
    """Benchmarks, items files and sets by name, as tasks; all that can be known and refused without a model.

    `source` holds annotation files and `data` images; where only one is named it stands for both.
    """
    tasks: list[Task] = []  # every one is read before the first is scored: a typing error must not cost hours
    for name in [name for wanted in names for name in registry.expand(wanted)]:
        if registry.is_set(name):
            from equipoise.evaluation.sets.kinds import SetTask, open_set

            split = splits[0] if splits else "test"
            data_set = open_set(name, source=source, data=data, split=split, templates=templates)
            tasks.append(SetTask(data_set))
            continue
        folder = registry.folder_of(name, source or data)
        items, benchmark = registry.load(name, folder, splits)
        registry.require_images(name, items)
        benchmark.require_rule(average)
        benchmark.require_tags(items)
        tasks.append(ItemsTask(benchmark.name, items, data or folder, benchmark))
    labels = [task.name for task in tasks]
    if templates is not None and all(task.items for task in tasks):
        raise UserError("--templates is only for zero-shot classification; no --bench is one")
    if out is not None and len(set(labels)) < len(labels):
        raise UserError(f"two of {', '.join(labels)} would be kept in one folder of {out}; evaluate them one by one")
    if out is not None and (leaving := [label for label in labels if not stays_inside(label)]):
        raise UserError(f"the benchmark {leaving[0]!r} cannot be kept in {out}: its name would be a folder outside")
    return tasks


def evaluate_loaded(
    model: Model,
    tasks: Sequence[Task],
    *,
    metrics: Sequence[Metric] = (),
    ask: Ask | None = None,
    until: str | None = None,
    **options: Unpack[Options],
) -> Iterator[Result]:
    """Evaluate on what `read_benchmarks` read, one after the other; each is on disk before the next begins.

    A run is kept in OUT/NAME. One that is already finished there is read, not computed (`Result.read_from`). Of several
    `ranks` that all call this, the first yields the results; the others help it and yield nothing.
    """
    ranks, out = options.get("ranks", ALONE), options.get("out")
    for given in tasks:
        task = given.chosen(metrics, ask, None if until is None else parse_until(until))
        here: Options = {**options, "out": None if out is None else Path(out) / given.name}
        if ranks.number == 0:
            yield _evaluate(model, task, **here)
        elif ranks.follow():
            task.score(model, _how(model, options), options.get("seed", 0))


def images_id(digests: Mapping[str, bytes]) -> ImagesId:
    return ImagesId(**identity.of_photos(digests))


def model_card(model: Model, *, probe: bool) -> ModelCard:
    """The card of a model, or at least its class. A card that JSON cannot hold is refused.

    With `probe`, a model that gives neither a hash of its weights nor a digest gets one from what it answers.
    """
    nameless = {"spec": f"object of {type(model).__module__}.{type(model).__qualname__}"}
    problems = Problems(f"the card of the model ({nameless['spec']})")
    try:
        stated = dict(identity.card_now(model))
        whole = nameless | stated | {"device": device_of(model)}
        card = ModelCard.model_validate_json(json.dumps(whole, allow_nan=False))  # as it will be read again
    except ValidationError as error:
        explain(error, "", problems)
    except (TypeError, ValueError) as error:
        problems.add("", f"not what JSON can hold ({error})")
    problems.raise_if_any('Expected plain JSON values, for instance {"spec": "mine", "weight_sha256": "..."}')
    if probe and not (card.weight_sha256 or card.digest):
        digest = identity.or_unknown(lambda: identity.of_own(model))
        card = card.model_copy(update={"state" if digest.startswith(run_folder.UNKNOWN) else "digest": digest})
    if (state := str(getattr(card, "state", ""))).startswith(run_folder.UNKNOWN):
        log.warning("the model %s; so nothing of it is cached, and its run is not read again", state)
    return card
