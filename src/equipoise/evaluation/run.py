"""The one evaluation loop: items and a model -> scores -> outcomes -> a result, in memory and on disk."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from equipoise import registry
from equipoise.benchmarks.base import Benchmark
from equipoise.errors import UserError
from equipoise.evaluation.cache import EmbeddingCache, default_cache
from equipoise.evaluation.metrics import Outcomes, judge, macro, summarise
from equipoise.evaluation.paper_metrics import PAPER_METRICS
from equipoise.evaluation.results import environment, read_result, write_run
from equipoise.evaluation.scores import ItemScores
from equipoise.evaluation.scoring import default_batch, default_workers, score_items
from equipoise.files import make_folder, sha256_json
from equipoise.image_sources import ImageSource
from equipoise.items import Item


@dataclass(frozen=True)
class Result:
    """What an evaluation found. `record` is result.json; `numbers` is what most people want of it."""

    record: dict[str, Any]
    rows: list[ItemScores]
    outcomes: Outcomes

    @property
    def numbers(self) -> dict[str, Any]:
        """n, ties, Original, Augmented, Brittleness, with intervals, averaged as the benchmark's paper does."""
        return headline(self.record)


def headline(record: Mapping[str, Any]) -> dict[str, Any]:
    """The numbers of a result's first line: the macro average where the benchmark has one, else the plain mean."""
    metrics = record["metrics"]
    return dict(metrics.get("macro") or metrics["overall"])


def items_hash(items: Sequence[Item]) -> str:
    return sha256_json([item.to_json() for item in items])


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
    arguments: Mapping[str, Any] | None = None,
) -> Result:
    """Judge `model` on `items` whose images lie in `images`: a folder, tar shards or Parquet files.

    `model` comes from `load_model`, or is any object with `embed_images` and `embed_texts` (lists of PIL images and
    of strings in, one row each out), or with `score_pairs`. With `out`, the run is written there; a folder that
    holds another run is refused before anything is computed.
    """
    started = time.monotonic()
    in_full = {
        "images": None if images is None else str(images),
        "out": None if out is None else str(out),
        "cache": None if cache is None else str(cache.path),
        "batch_size": batch_size or default_batch(model),
        "workers": workers or default_workers(),
        "allow_missing": allow_missing,
        "seed": seed,
    }
    batch_size = batch_size or default_batch(model)
    identity = _identity(model, items, benchmark, name, seed, allow_missing)
    if out is not None:
        make_folder(out)
        _refuse_other_run(Path(out), identity)
    scoring = score_items(
        model,
        items,
        images=images,
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
    record = {
        "status": "success",
        **identity,
        "metrics": metrics,
        "n": {"items": len(items), "scored": len(scoring.rows), "skipped": len(scoring.skipped)},
        "ties": metrics["overall"]["ties"],
        "skipped": dict(list(scoring.skipped.items())[:100]),
        "counts": scoring.counts,
        "arguments": {"passed": dict(arguments or {}), "in_full": in_full},
        "environment": environment(),
        "seconds": {
            "score": round(scored - started, 3),
            "judge": round(judged - scored, 3),
            **{part: round(seconds, 3) for part, seconds in scoring.seconds.items()},
        },
    }
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
) -> Iterator[dict[str, Any]]:
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
        loaded.append((benchmark, items[:limit], data or folder))
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
        }
        record = None if folder is None else finished(folder, model, items, **what)
        if record is None:
            record = evaluate(
                model, items, images=images, benchmark=benchmark, out=folder, arguments=arguments, **options
            ).record
        yield record


def finished(out: str | Path, model: Any, items: Sequence[Item], **what: Any) -> dict[str, Any] | None:
    """The record of a run in `out` that was made with the same model, items and settings, else None."""
    folder = Path(out)
    if not ((folder / "result.json").exists() and (folder / "items.jsonl").exists()):
        return None
    record = read_result(folder)
    return record if _same(record, _identity(model, items, **what)) else None


def _identity(
    model: Any,
    items: Sequence[Item],
    benchmark: Benchmark | None = None,
    name: str | None = None,
    seed: int = 0,
    allow_missing: bool = False,
) -> dict[str, Any]:
    """What makes two runs the same run."""
    card = getattr(model, "card", None) or {"spec": f"object of {type(model).__module__}.{type(model).__qualname__}"}
    return {
        "benchmark": {
            "name": name or (benchmark.name if benchmark else "items"),
            "items_sha256": items_hash(items),
            "chance": dict(benchmark.chance) if benchmark else {},
        },
        "model": {**card, "device": str(getattr(model, "device", "cpu"))},
        "seed": seed,
        "allow_missing": allow_missing,
    }


def _same(record: Mapping[str, Any], identity: Mapping[str, Any]) -> bool:
    return all(sha256_json(record.get(part)) == sha256_json(value) for part, value in identity.items())


def _refuse_other_run(out: Path, identity: Mapping[str, Any]) -> None:
    if (out / "result.json").exists() and not _same(read_result(out), identity):
        raise UserError(
            f"{out}: holds another run (other model, items or settings); results are never mixed. "
            "Name another folder with --out, or delete this one."
        )


def _metrics(rows: Sequence[ItemScores], outcomes: Outcomes, benchmark: Benchmark | None, seed: int) -> dict[str, Any]:
    metrics: dict[str, Any] = summarise(outcomes, seed)
    metrics["macro"] = None
    metrics["paper"] = {}
    if benchmark is not None:
        if benchmark.macro:
            metrics["macro"] = macro(outcomes, benchmark.macro, benchmark.least, seed)
        metrics["paper"] = {wanted: PAPER_METRICS[wanted](rows) for wanted in benchmark.metrics}
    return metrics
