"""The one evaluation loop: items and a model -> scores -> outcomes -> a result, in memory and on disk."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import JsonValue, ValidationError

from equipoise import registry
from equipoise.benchmarks.base import Benchmark
from equipoise.errors import Problems, UserError
from equipoise.evaluation.cache import EmbeddingCache, default_cache
from equipoise.evaluation.metrics import Outcomes, judge, macro, summarise
from equipoise.evaluation.paper_metrics import PAPER_METRICS
from equipoise.evaluation.record import (
    Arguments,
    BenchmarkId,
    FullArguments,
    ItemCounts,
    Metrics,
    ModelCard,
    Numbers,
    RunRecord,
    Seconds,
    Settings,
)
from equipoise.evaluation.results import read_result, write_run
from equipoise.evaluation.scores import ItemScores
from equipoise.evaluation.scoring import default_batch, score_items
from equipoise.files import make_folder, sha256_json
from equipoise.items import Item
from equipoise.provenance import environment
from equipoise.records import explain


@dataclass(frozen=True)
class Result:
    """What an evaluation found. `record` is result.json; `numbers` is what most people want of it."""

    record: RunRecord
    rows: list[ItemScores]
    outcomes: Outcomes

    @property
    def numbers(self) -> Numbers:
        """n, ties, Original, Augmented, Brittleness, with intervals, averaged as the benchmark's paper does."""
        return self.record.metrics.headline


def items_hash(items: Sequence[Item]) -> str:
    return sha256_json([item.to_json() for item in items])


def evaluate(
    model: Any,
    items: Sequence[Item],
    *,
    images: str | Path | None = None,
    benchmark: Benchmark | None = None,
    name: str | None = None,
    out: str | Path | None = None,
    cache: EmbeddingCache | None = None,
    batch_size: int | None = None,
    workers: int = 4,
    allow_missing: bool = False,
    seed: int = 0,
    limit: int | None = None,
    arguments: Mapping[str, JsonValue] | None = None,
) -> Result:
    """Judge `model` on `items` whose images are below the folder `images`.

    `model` comes from `load_model`, or is any object with `embed_images` and `embed_texts` (lists of PIL images and
    of strings in, one row each out), or with `score_pairs`. With `out`, the run is written there; a folder that
    holds another run is refused before anything is computed. With `limit`, only the first so many items count.
    """
    started = time.monotonic()
    items = items[:limit]
    batch_size = batch_size or default_batch(model)
    identity = _Identity(
        benchmark_id(items, benchmark, name, limit), model_card(model), Settings(seed=seed, allow_missing=allow_missing)
    )
    if out is not None:
        make_folder(out)
        _refuse_other_run(Path(out), identity)
    scoring = score_items(
        model,
        items,
        images=None if images is None else Path(images),
        cache=cache,
        batch_size=batch_size,
        workers=workers,
        allow_missing=allow_missing,
        text_scores=benchmark is not None and "tot" in benchmark.metrics,
    )
    scored = time.monotonic()
    outcomes = judge(scoring.rows)
    metrics = _metrics(scoring.rows, outcomes, benchmark, seed)
    judged = time.monotonic()
    record = RunRecord(
        date=datetime.now(UTC).replace(microsecond=0),
        benchmark=identity.benchmark,
        model=identity.model,
        settings=identity.settings,
        metrics=metrics,
        n=ItemCounts(items=len(items), scored=len(scoring.rows), skipped=len(scoring.skipped)),
        skipped=dict(list(scoring.skipped.items())[:100]),
        counts=scoring.counts,
        arguments=Arguments(
            passed=dict(arguments or {}),
            in_full=FullArguments(
                images=None if images is None else str(images),
                out=None if out is None else str(out),
                cache=None if cache is None else str(cache.path),
                batch_size=batch_size,
                workers=workers,
            ),
        ),
        environment=environment(),
        seconds=Seconds(score=round(scored - started, 3), judge=round(judged - scored, 3)),
    )
    result = Result(record, scoring.rows, outcomes)
    if out is not None:
        _refuse_other_run(Path(out), identity)  # another process may have finished one meanwhile
        write_run(Path(out), record, scoring.rows, outcomes, {item.id: item for item in items})
    return result


def evaluate_benchmarks(
    model: Any,
    names: Sequence[str],
    *,
    source: Path | None = None,
    data: Path | None = None,
    splits: Sequence[str] = (),
    out: Path | None = None,
    limit: int | None = None,
    **options: Any,
) -> Iterator[RunRecord]:
    """Evaluate on benchmarks or items files by name, one after the other; each is on disk before the next begins.

    `source` holds annotation files and `data` images; where only one is named it stands for both. A benchmark that
    is already finished in `out` for the same model and items is read, not computed.
    """
    loaded = []  # every benchmark is read before the first is scored: a typing error must not cost hours
    for name in [one for wanted in names for one in registry.expand(wanted)]:
        folder = source or data
        if folder is None and name in registry.names() and registry.get(name).drawn:
            folder = default_cache() / "world"
        items, benchmark = registry.load(name, folder, splits)
        loaded.append((benchmark, items, data or folder))
    labels = [benchmark.name for benchmark, _, _ in loaded]
    if out is not None and len(set(labels)) < len(labels):
        raise UserError(f"two of {', '.join(labels)} would be kept in one folder of {out}; evaluate them one by one")
    arguments = options.pop("arguments", None)
    for benchmark, items, images in loaded:
        folder = None if out is None else out / benchmark.name
        what = {
            "benchmark": benchmark,
            "seed": options.get("seed", 0),
            "allow_missing": options.get("allow_missing", False),
            "limit": limit,
        }
        record = None if folder is None else finished(folder, model, items, **what)
        if record is None:
            record = evaluate(
                model,
                items,
                images=images,
                benchmark=benchmark,
                out=folder,
                limit=limit,
                arguments=arguments,
                **options,
            ).record
        yield record


def finished(
    out: str | Path,
    model: Any,
    items: Sequence[Item],
    benchmark: Benchmark | None = None,
    seed: int = 0,
    allow_missing: bool = False,
    limit: int | None = None,
) -> RunRecord | None:
    """The record of a run in `out` that was made with the same model, items and settings, else None."""
    folder = Path(out)
    if not ((folder / "result.json").exists() and (folder / "items.jsonl").exists()):
        return None
    record = read_result(folder)
    settings = Settings(seed=seed, allow_missing=allow_missing)
    wanted = _Identity(benchmark_id(items[:limit], benchmark, None, limit), model_card(model), settings)
    return record if wanted.same(record) else None


def benchmark_id(
    items: Sequence[Item], benchmark: Benchmark | None, name: str | None, limit: int | None
) -> BenchmarkId:
    """Which items these are; what is not a benchmark's is a caller's own list."""
    return BenchmarkId(
        name=name or (benchmark.name if benchmark else "items"),
        items_sha256=items_hash(items),
        splits=sorted({item.tags["split"] for item in items if "split" in item.tags}),
        limit=limit,
        chance=dict(benchmark.chance) if benchmark else {},
        ties=benchmark.ties if benchmark else None,
        citation=benchmark.citation if benchmark else None,
        notes=benchmark.notes if benchmark else None,
    )


def model_card(model: Any) -> ModelCard:
    """What a model says of itself, or at least its class; a card that no file could hold is refused."""
    nameless = {"spec": f"object of {type(model).__module__}.{type(model).__qualname__}"}
    card = getattr(model, "card", None) or {}
    problems = Problems(f"the card of the model ({nameless['spec']})")
    try:
        return ModelCard.model_validate({**nameless, **card, "device": str(getattr(model, "device", "cpu"))})
    except ValidationError as error:
        explain(error, "", problems)
    problems.raise_if_any('Expected plain JSON values, for instance {"spec": "mine", "weight_sha256": "..."}')
    raise AssertionError("a card that does not validate has problems")


@dataclass(frozen=True)
class _Identity:
    """What makes two runs the same run."""

    benchmark: BenchmarkId
    model: ModelCard
    settings: Settings

    def same(self, record: RunRecord) -> bool:
        here, there = self.benchmark, record.benchmark
        return (here.name, here.items_sha256, self.model, self.settings) == (
            there.name,
            there.items_sha256,
            record.model,
            record.settings,
        )


def _refuse_other_run(out: Path, identity: _Identity) -> None:
    if (out / "result.json").exists() and not identity.same(read_result(out)):
        raise UserError(
            f"{out}: holds another run (other model, items or settings); results are never mixed. "
            "Name another folder with --out, or delete this one."
        )


def _metrics(rows: Sequence[ItemScores], outcomes: Outcomes, benchmark: Benchmark | None, seed: int) -> Metrics:
    summary = summarise(outcomes, seed)
    average = macro(outcomes, benchmark.macro, benchmark.least, seed) if benchmark and benchmark.macro else None
    paper = {wanted: PAPER_METRICS[wanted](rows) for wanted in (benchmark.metrics if benchmark else ())}
    return Metrics(overall=summary.overall, by=summary.by, macro=average, paper=paper)
