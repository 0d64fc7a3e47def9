"""Every Eval Ever, schema 0.3.0: one aggregate JSON, and one JSONL with a line per item and metric.

Both lie in data/COLLECTION/DEVELOPER/MODEL/ under one UUID, made from the hash of the run: the same run gives the same
bytes. A line belongs to the result of its split, where it has one: the mean of its lines is that result's score.
The schema is of language models; of ours, `output.raw` is the texts from the highest score down, a negative before a
right text with the same score, as a tie is never a win.
"""

from __future__ import annotations

import itertools
import math
import uuid
from collections.abc import Iterator, Mapping
from typing import Any

from equipoise import stats
from equipoise.errors import UserError
from equipoise.evaluation.metrics import Metric, MetricInfo, info
from equipoise.evaluation.outcomes import Outcomes
from equipoise.evaluation.record import Interval, Numbers, RunRecord
from equipoise.evaluation.results import Texts, metrics_of, read_outcomes, read_run, read_texts
from equipoise.evaluation.scores import ItemScores
from equipoise.exports.base import Export, File, as_json, as_line, sha256
from equipoise.report.tables import average_words

SCHEMA = "0.3.0"
COLLECTION = "equipoise"
ITEMS = "all-items"  # the part that is the plain mean over all items
_LOWER = {"one_wording", "mean_rank", "median_rank"}  # of the papers' own metrics: better when lower


def every_eval_ever(run: Export) -> list[File]:
    record, rows = read_run(run.folder)
    made = str(int(record.date.timestamp()))
    name = f"{record.benchmark.name}/{run.model}/{made}"
    identity = sha256(as_line([record.model_dump(mode="json", by_alias=True), run.model, run.by]))
    folder = f"data/{COLLECTION}/{run.model}"
    stem = f"{folder}/{uuid.UUID(bytes=bytes.fromhex(identity)[:16], version=4)}"
    outcomes = read_outcomes(run.folder, record, rows)
    columns = {row: outcomes.column(row) for row in metrics_of(record) if row.side == "texts" and row.less is None}
    texts = read_texts(run.folder)
    lines = [
        as_line({"schema_version": SCHEMA, "evaluation_id": name, "model_id": run.model} | line)
        for index, row in enumerate(rows)
        for line in _lines(row, outcomes, columns, index, texts.get(row.id), record)
    ]
    if not lines:
        raise UserError(f"{run.folder}: no item compares texts of one image, so there is no line to write")
    samples = "".join(lines)
    aggregate = {
        "schema_version": SCHEMA,
        "evaluation_id": name,
        "evaluation_timestamp": record.date.isoformat(),
        "retrieved_timestamp": made,
        "source_metadata": {
            "source_name": f"Equipoise run of {record.benchmark.name}",
            "source_type": "evaluation_run",
            "source_organization_name": run.by,
            "evaluator_relationship": "other",
        },
        "eval_library": {
            "name": "equipoise",
            "version": record.environment.equipoise,
            "additional_details": _strings({"code": record.environment.code, **record.environment.packages}),
        },
        "model_info": {
            "name": record.model.spec,
            "id": run.model,
            "developer": run.model.partition("/")[0],
            "additional_details": {"deployment_type": "self_deployed", "model_availability": "unknown"}
            | _strings({"weight_sha256": record.model.weight_sha256, "digest": record.model.digest})
            | _strings({"dtype": record.model.dtype, "device": record.model.device}),
        },
        "evaluation_results": list(_results(record)),
        "detailed_evaluation_results": {
            "format": "jsonl",
            "file_path": f"{stem}_samples.jsonl",
            "hash_algorithm": "sha256",
            "checksum": sha256(samples),
            "total_rows": len(lines),
        },
    }
    return [File(f"{stem}_samples.jsonl", samples), File(f"{stem}.json", as_json(aggregate))]


def _strings(values: dict[str, Any]) -> dict[str, str]:
    """The schema wants every detail as a string; what is not known is left out."""
    return {name: str(value) for name, value in values.items() if value is not None}


# ---------------------------------------------------------------------------- aggregate


def _parts(record: RunRecord) -> dict[str, Numbers]:
    """The headline under "", the plain mean where that is another, and each split."""
    metrics = record.metrics
    return {"": metrics.headline, ITEMS: metrics.overall} | dict(metrics.by.get("split", {}))


def _result_id(record: RunRecord, part: str, metric: str) -> str:
    return "/".join([record.benchmark.name, *([part] if part else []), metric])


def _results(record: RunRecord) -> Iterator[dict[str, Any]]:
    for part, numbers in _parts(record).items():
        for metric, number in numbers.metrics.items():
            row = info(metric, number)
            config = _metric(row, -1.0 if row.less else 0.0, 1.0)
            ties = numbers.ties if row.side == "texts" else numbers.image_ties
            details = {"average": average_words(numbers), "ties": ties}
            yield _result(record, part, metric, config, number.value, number.interval, number.n, details)
    for kind, found in record.metrics.paper.items():
        for name, value in found.items():
            if not isinstance(value, float):
                continue
            ranked = name.endswith("_rank")
            if not ranked and not 0 <= value <= 1:
                continue  # not a share: its bounds are not known here
            config = _config(
                f"{kind}.{name}",
                name,
                "of the benchmark's paper",
                name in _LOWER,
                *((1.0, "Infinity") if ranked else (0.0, 1.0)),
            )
            interval = found.get(f"{name}_interval")
            count = found.get("n")
            yield _result(
                record, "", f"{kind}.{name}", config, value,
                interval if isinstance(interval, Interval) else None,
                count if isinstance(count, int) else record.n.scored, {},
            )  # fmt: skip


def _metric(row: MetricInfo, low: float, high: float) -> dict[str, Any]:
    return _config(row.name, row.title, row.meaning, row.better == "low", low, high)


def _config(metric: str, name: str, about: str, lower: bool, low: float, high: float | str) -> dict[str, Any]:
    return {
        "evaluation_description": about,
        "metric_id": f"equipoise.{metric}",
        "metric_name": name,
        "metric_kind": "accuracy" if metric in ("original", "augmented") else metric,
        "metric_unit": "rank" if isinstance(high, str) else "proportion",
        "lower_is_better": lower,
        "score_type": "continuous",
        "min_score": low,
        "max_score": high,
    }


def _result(
    record: RunRecord,
    part: str,
    metric: str,
    config: dict[str, Any],
    value: float,
    interval: Interval | None,
    n: int,
    details: dict[str, Any],
) -> dict[str, Any]:
    uncertainty: dict[str, Any] = {"num_samples": n}
    if interval is not None:
        uncertainty["confidence_interval"] = {
            "lower": interval.low,
            "upper": interval.high,
            "confidence_level": stats.LEVEL,
            "method": "bootstrap over images" if "." not in metric else "of the benchmark's paper, Wilson or bootstrap",
        }
    facts = {"items_sha256": record.benchmark.items_sha256, "limit": record.benchmark.limit}
    facts |= {"skipped": record.n.skipped or None, "citation": record.benchmark.citation}
    return {
        "evaluation_result_id": _result_id(record, part, metric),
        "evaluation_name": ".".join([record.benchmark.name, *([part] if part else [])]),
        "source_data": {
            "dataset_name": record.benchmark.name,
            "source_type": "other",
            "additional_details": _strings(facts),
        },
        "metric_config": config,
        "score_details": {"score": value, "details": _strings(details), "uncertainty": uncertainty},
    }


# ---------------------------------------------------------------------------- instances


def _lines(
    row: ItemScores,
    outcomes: Outcomes,
    columns: Mapping[Metric, stats.Floats],
    index: int,
    texts: Texts | None,
    record: RunRecord,
) -> Iterator[dict[str, Any]]:
    """One line for each metric that the item counts for."""
    if not row.negatives:
        return
    split = row.tags.get("split", "")
    part = split if split in record.metrics.by.get("split", {}) else ITEMS
    for row_of, column in columns.items():
        metric, score = row_of.name, float(column[index])
        if math.isnan(score):
            continue
        ranked = _ranking(row, with_positives=metric != "original")
        words = [_words(texts, kind, place) for _, kind, place in ranked]
        wanted = [
            _words(texts, kind, place) for _, kind, place in sorted(ranked, key=lambda one: one[1:]) if kind != "n"
        ]
        choices = [_words(texts, kind, place) for _, kind, place in sorted(ranked, key=lambda one: one[1:])]
        image = row.image if row.image is not None else row.id
        yield {
            "evaluation_name": f"{record.benchmark.name}.{part}",
            "evaluation_result_id": _result_id(record, part, metric),
            "sample_id": row.id,
            "sample_hash": sha256("".join([image, *wanted]).encode("utf-8", "backslashreplace").decode()),
            "interaction_type": "single_turn",
            "input": {"raw": image, "reference": wanted, "choices": choices},
            "output": {"raw": words},
            "messages": None,
            "answer_attribution": [
                {
                    "turn_idx": 0,
                    "source": "output.raw",
                    "extracted_value": words[0] if metric == "original" else _order(ranked),
                    "extraction_method": "argmax" if metric == "original" else "ranking",
                    "is_terminal": True,
                }
            ],
            "evaluation": {"score": score, "is_correct": (score > 0.5) is (row_of.better == "high")},
            "metadata": {f"tag.{tag}": value for tag, value in row.tags.items()}
            | {"metric": metric, "tie": str(bool(outcomes.tie[index])).lower()}
            | {f"score.{kind}{place}": repr(given) for given, kind, place in ranked},
        }


_Ranked = tuple[float, str, int]  # score; c, p or n; which of them


def _ranking(row: ItemScores, with_positives: bool) -> list[_Ranked]:
    """From the highest score down; a negative comes before a right text with its score."""
    right: list[_Ranked] = [(row.caption, "c", 1)]
    if with_positives:
        right += [(score, "p", place) for place, score in enumerate(row.positives, 1)]
    wrong: list[_Ranked] = [(score, "n", place) for place, score in enumerate(row.negatives, 1)]
    return sorted([*wrong, *right], key=lambda one: -one[0])


def _order(ranked: list[_Ranked]) -> str:
    """'c1 > n1 > p1'; '=' between equal scores."""
    words = [f"{ranked[0][1]}{ranked[0][2]}"]
    for (before, _, _), (score, kind, place) in itertools.pairwise(ranked):
        words += ["=" if score == before else ">", f"{kind}{place}"]
    return " ".join(words)


def _words(texts: Texts | None, kind: str, place: int) -> str:
    """The text, or its place where the run kept no texts."""
    if texts is None:
        return f"{kind}{place}"
    return texts.caption if kind == "c" else (texts.positives if kind == "p" else texts.negatives)[place - 1]
