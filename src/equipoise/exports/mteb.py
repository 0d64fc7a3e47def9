"""mteb's TaskResult: results/ORG__MODEL/REVISION/TASK.json beside model_meta.json.

A whole run of a benchmark that mteb has as well takes mteb's name for it, so that both stand in one table; ties are
right there and never right here. Any other run keeps our name, which no task of mteb has. `dataset_revision` is the
hash of our items: they were not read from mteb's copy on the hub. `mteb_version` is null, as mteb measured nothing.
"""

from __future__ import annotations

from typing import Any

from equipoise import registry
from equipoise.evaluation.record import RunRecord
from equipoise.exports.base import Export, File, as_json, flat, parts, safe, selection, weights
from equipoise.report.tables import average_words

TASKS = {"sugarcrepe": "SugarCrepe", "winoground": "Winoground"}  # the same items and the same question
DIGITS = 6  # as mteb writes


def mteb(run: Export) -> list[File]:
    record = run.record
    # mteb's SugarCrepe is one mean over all items, whatever our headline is.
    known = TASKS.get(record.benchmark.name) if _whole(record) else None
    headline = record.metrics.overall if known else record.metrics.headline
    asked = selection(headline)
    scores: dict[str, Any] = {"text_acc": headline["original"]}
    if asked:  # Winoground's main score is right in both directions
        scores = {"text_acc": asked.get("text_acc"), "image_acc": asked.get("image_acc"), "accuracy": asked.get("acc")}
    scores = {name: value for name, value in scores.items() if value is not None}
    main = scores.get("accuracy", scores.get("text_acc"))
    splits = {part: flat(numbers) for part, numbers in parts(record).items() if part}
    entry = scores | {"main_score": main, "hf_subset": "default", "languages": ["eng-Latn"]} | flat(headline)
    entry |= {"average": average_words(headline), "equipoise_version": record.environment.equipoise}
    entry |= {"skipped": record.n.skipped} if record.n.skipped else {}
    entry |= {"splits": splits} if splits else {}
    name = known or f"Equipoise-{record.benchmark.name}"
    result = {
        "dataset_revision": record.benchmark.items_sha256,
        "task_name": name,
        "mteb_version": None,
        "scores": {"test": [_rounded(entry)]},
        "evaluation_time": record.seconds.score + record.seconds.measure,
        "kg_co2_emissions": None,
        "date": record.date.timestamp(),
        "evaluation_phases": None,
    }
    folder = f"results/{run.model.replace('/', '__')}/{weights(record)}"
    return [
        File(f"{folder}/{safe(name)}.json", as_json(result)),
        File(f"{folder}/model_meta.json", as_json(_model(run))),
    ]


def _whole(record: RunRecord) -> bool:
    """Whether the run speaks for its whole benchmark: every item that was published was scored."""
    if record.benchmark.name not in TASKS or record.n.skipped or record.benchmark.limit:
        return False
    return record.n.items == sum(count or 0 for count in registry.get(record.benchmark.name).splits.values())


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _rounded(one) for name, one in value.items()}
    return round(value, DIGITS) if isinstance(value, float) else value


def _model(run: Export) -> dict[str, Any]:
    """mteb's ModelMeta: all its required fields, null where a run does not know (licence, release, training data)."""
    card = run.record.model
    more = card.model_dump()
    return {
        "name": run.model,
        "revision": weights(run.record),
        "loader": None,
        "release_date": None,
        "languages": ["eng-Latn"],
        "n_parameters": more.get("parameters") if isinstance(more.get("parameters"), int) else None,
        "memory_usage_mb": None,
        "max_tokens": card.context_length,
        "embed_dim": more.get("embed_dim") if isinstance(more.get("embed_dim"), int) else None,
        "license": None,
        "open_weights": None,
        "public_training_code": None,
        "public_training_data": None,
        "framework": ["PyTorch"],
        "similarity_fn_name": "cosine",
        "use_instructions": False,
        "training_datasets": None,
        "modalities": ["image", "text"],
    }
