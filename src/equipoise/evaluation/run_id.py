"""A run's identity as its record holds it: items, photos, model, settings. Only the same run stands for another."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from equipoise.benchmarks.base import Benchmark
from equipoise.core import run_folder
from equipoise.core.errors import Problems
from equipoise.data import identity
from equipoise.data.items import Item
from equipoise.data.readers.records import explain
from equipoise.evaluation.embedding.embed import EMBEDDING_CODE
from equipoise.evaluation.metrics import Metric
from equipoise.evaluation.record import AverageId, BenchmarkId, ImagesId, ModelCard, RunRecord, Settings
from equipoise.evaluation.results import read_result

# The rest of a benchmark's id are words about it.
_COUNTED: Any = dict.fromkeys(("name", "items_sha256", "macro", "least", "metrics"), True)
_COUNTED |= {"averages": {"__all__": {"over", "least"}}}


def of_run(run: RunRecord | Mapping[str, Any]) -> dict[str, Any]:
    """Everything that a run's numbers depend on, of its record or of the same parts by name."""
    parts = run if isinstance(run, Mapping) else {part: getattr(run, part) for part in _PARTS}
    return {
        part: value.model_dump(mode="json", include=_COUNTED if part == "benchmark" else None)
        for part, value in parts.items()
    }


_PARTS = ("benchmark", "model", "settings", "images")


def refuse_other(folder: Path, there: Mapping[str, Any], here: Mapping[str, Any]) -> None:
    """Raise where the finished run in `folder` is not this one, or cannot be known to be; photos that nobody has read
    yet are not compared."""
    also = []
    if identity.of_card(here["model"]) is None:
        also.append('the model has no identity of its own: give it a card, {"digest": "..."}')
    run_folder.refuse_other(folder, {part: there.get(part) for part in here}, here, also=also)


def benchmark_id(
    items: Sequence[Item], benchmark: Benchmark | None, name: str | None = None, limit: int | None = None
) -> BenchmarkId:
    """Which items these are; without a benchmark they are a caller's own list, averaged plainly."""
    return BenchmarkId(
        name=name or (benchmark.name if benchmark else "items"),
        items_sha256=identity.of_items(items),
        splits=sorted({item.tags["split"] for item in items if "split" in item.tags}),
        limit=limit,
        chance=dict(benchmark.chance) if benchmark else {},
        macro=list(benchmark.macro) if benchmark else [],
        least=benchmark.least if benchmark else 1,
        averages={
            rule: AverageId(over=list(one.path), least=one.least, cite=one.cite)
            for rule, one in (benchmark.averages if benchmark else {}).items()
        },
        metrics=list(benchmark.metrics) if benchmark else [],
        ties=benchmark.ties if benchmark else None,
        citation=benchmark.citation if benchmark else None,
        notes=benchmark.notes if benchmark else None,
    )


def images_id(digests: Mapping[str, bytes]) -> ImagesId:
    return ImagesId(**identity.of_photos(digests))


def settings_of(
    model: Any, seed: int, allow_missing: bool, batch_size: int, metrics: Sequence[Metric] = ()
) -> Settings:
    return Settings(
        seed=seed,
        allow_missing=allow_missing,
        batch_size=batch_size if identity.batch_matters(model) else None,
        embedding_code=EMBEDDING_CODE,
        metrics=[own for metric in metrics if (own := metric.own)],
    )


def model_card(model: Any, *, probe: bool) -> ModelCard:
    """What a model says of itself, or at least its class; a card that no file could hold is refused.

    With `probe`, a model that gives neither a hash of its weights nor a digest gets one from what it answers.
    """
    nameless = {"spec": f"object of {type(model).__module__}.{type(model).__qualname__}"}
    problems = Problems(f"the card of the model ({nameless['spec']})")
    try:
        stated = dict(getattr(model, "card", None) or {})
        whole = nameless | stated | {"device": str(getattr(model, "device", "cpu"))}
        card = ModelCard.model_validate_json(json.dumps(whole, allow_nan=False))  # as it will be read again
    except ValidationError as error:
        explain(error, "", problems)
    except (TypeError, ValueError) as error:
        problems.add("", f"not what JSON can hold ({error})")
    problems.raise_if_any('Expected plain JSON values, for instance {"spec": "mine", "weight_sha256": "..."}')
    if probe and not (card.weight_sha256 or card.digest):
        card = card.model_copy(update={"digest": identity.of_answers(model)})
    return card


_WRITES = ("items.jsonl", "result.json")


def claim(folder: Path, parts: Mapping[str, Any], command: str = "eval") -> None:
    """Take the folder for this run; an unfinished one leaves nothing to keep, its embeddings are in the cache."""
    refuse_other_run(folder, parts)
    if not (folder / "result.json").exists():
        run_folder.take(folder, command, of_run(parts), writes=_WRITES, resumes=False)


def refuse_other_run(folder: Path, parts: Mapping[str, Any]) -> None:
    if (folder / "result.json").exists():
        refuse_other(folder, of_run(read_result(folder)), of_run(parts))


def refuse_early(folder: Path, spec: str, benchmark: BenchmarkId | None) -> None:
    """What `claim` would refuse, as far as it is known before the model is loaded."""
    if not (folder / "result.json").exists():
        run_folder.refuse_early(folder, "eval", {}, writes=_WRITES)
        return
    record = read_result(folder)
    there, here = of_run(record), {} if benchmark is None else of_run({"benchmark": benchmark})
    if record.arguments.passed.get("model") == record.model.spec != spec:
        there["model"], here["model"] = {"spec": record.model.spec}, {"spec": spec}
    run_folder.refuse_other(folder, {part: there[part] for part in here}, here)


def is_finished(folder: Path) -> bool:
    return (folder / "result.json").exists() and (folder / "items.jsonl").exists()
