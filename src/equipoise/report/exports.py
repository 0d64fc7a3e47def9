"""A finished run in the formats that others take: each format is a function from a run to files.

What a format cannot say is left out, never guessed; docs/report.md has what the official packages made of the files.
"""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from equipoise.benchmarks import registry
from equipoise.core import stats
from equipoise.core.errors import UserError, did_you_mean
from equipoise.core.files import atomic_write, plain_target
from equipoise.core.run_folder import refuse_file
from equipoise.evaluation.comparing.differences import load_run
from equipoise.evaluation.metrics import info
from equipoise.evaluation.record import Numbers, RunRecord
from equipoise.evaluation.results import find_runs
from equipoise.report.tables import average_words


@dataclass(frozen=True)
class Export:
    """One run on its way to another format, and what only its user can say."""

    folder: Path
    record: RunRecord
    model: str  # ORGANISATION/NAME
    by: str = "unknown"  # who measured
    dataset: str | None = None  # of the hub


@dataclass(frozen=True)
class File:
    """What a format wants to have, below the folder that the user names."""

    path: str
    text: str


def export(runs: Sequence[Path], to: str, out: Path, model: str | None, by: str, dataset: str | None) -> list[str]:
    """Write the files of all runs in one format, and say for each what was done."""
    if to not in FORMATS:
        raise UserError(f"--to {to}: expected one of {', '.join(FORMATS)}.{did_you_mean(to, FORMATS)}")
    if dataset is not None and to != "eval-results":
        raise UserError(f"--dataset is only for --to eval-results, not for {to}")
    if model is not None and not re.fullmatch(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*", model, re.ASCII):
        raise UserError(f"--model {model!r}: expected ORGANISATION/NAME of letters, digits, '.', '-' and '_'")
    files: dict[str, File] = {}
    for place, record in find_runs(runs):
        folder = place if place.is_dir() else place.parent
        load_run(folder)  # refuses numbers and scores that were edited
        for file in FORMATS[to](Export(folder, record, model or model_id(record.model.spec), by, dataset)):
            if files.setdefault(file.path, file) != file:
                raise UserError(
                    f"{folder}: another run here would be the same file, {file.path}; export them one by one"
                )
    return write(list(files.values()), out)


def write(files: Sequence[File], out: Path) -> list[str]:
    """Write the files below `out`, or a single file as `out` itself.

    Everything is looked at before anything is written: a file that holds something else is not ours to replace.
    """
    named = out.suffix in {".json", ".yaml", ".yml"} and not out.is_dir()
    if named and len(files) > 1:
        raise UserError(f"--out {out}: {len(files)} files are to be written; name a folder")
    places = {(out if named else out / file.path): file for file in files}
    there = {path for path in places if plain_target(path).exists()}
    for path in there:
        if plain_target(path).read_bytes() != places[path].text.encode():
            refuse_file(path)
    for path, file in places.items():
        if path not in there:
            with atomic_write(path) as handle:
                handle.write(file.text)
    return [f"{path} {'is already there' if path in there else 'written'}" for path in places]


# ---------------------------------------------------------------------------- what the formats share


def model_id(spec: str) -> str:
    """ORGANISATION/NAME of a model spec, for formats that know models by it; a hub name stays as it is.

    A local model has no organisation: the kind of its spec stands there ("checkpoint/negclip.pt").
    """
    if spec == "world":
        return "equipoise/world"
    kind, _, rest = spec.partition(":")
    rest = rest.partition("?")[0] or kind
    if kind == "hf" and re.fullmatch(r"[\w.-]+/[\w.-]+", rest) and not rest.startswith((".", "/")):
        return rest
    if kind == "paper":
        rest = rest.partition("@")[0]
    name = rest.replace(":", ".") if kind == "py" else Path(rest).name
    return f"{_safe(kind)}/{_safe(name)}"


def _safe(text: str) -> str:
    """A part of a path that every file system takes."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip(".-") or "unnamed"


def _weights(record: RunRecord) -> str:
    """What tells this model's weights from others', short; the word "unknown" where its card has nothing."""
    return (record.model.weight_sha256 or record.model.digest or "unknown")[:12]


def _parts(record: RunRecord) -> dict[str, Numbers]:
    """The headline under "", and where there are several splits each of them."""
    splits = record.metrics.by.get("split", {})
    return {"": record.metrics.headline} | (dict(splits) if len(splits) > 1 else {})


def _flat(numbers: Numbers) -> dict[str, Any]:
    """Numbers and their intervals as one level of names, as tables want them; what was not measured is left out."""
    found: dict[str, Any] = {"n": numbers.n, "ties": numbers.ties}
    if numbers.image_ties is not None:
        found |= {"image_n": numbers.count("image_original"), "image_ties": numbers.image_ties}
    for name, one in numbers.metrics.items():
        found[name] = one.value
        if one.interval is not None:
            found |= {f"{name}_low": one.interval.low, f"{name}_high": one.interval.high}
    return {name: value for name, value in found.items() if value is not None}


def _selection(numbers: Numbers) -> dict[str, float]:
    """Right by text, by image and by both, where the benchmark asks for images too (Winoground's three scores)."""
    names = {"text_acc": "text", "image_acc": "image", "acc": "group"}
    found = {theirs: value for theirs, ours in names.items() if (value := numbers[ours]) is not None}
    return found if len(found) == len(names) else {}


# What neither UTF-8 nor YAML takes as it is, beyond what JSON escapes; both know \uXXXX.
_UNPRINTABLE = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")


def _json(value: Any, indent: int | None = 2) -> str:
    text = json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False)
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


# ---------------------------------------------------------------------------- CLIP_benchmark


def clip_benchmark(run: Export) -> list[File]:
    """One JSON for the headline, and one for each split: sugar_crepe/add_att is a dataset of its own there.

    Its own code gives image_acc 1.0 to any model where an item has one image; that number is left out here, as nothing
    was asked. Our metrics are further columns of `clip_benchmark build`; a tie is never a win.
    """
    name = {"sugarcrepe": "sugar_crepe"}.get(run.record.benchmark.name, run.record.benchmark.name)
    task = "image_caption_selection"
    found = []
    for part, numbers in _parts(run.record).items():
        original = numbers["original"]  # acc is both directions at once; with one image it is text_acc
        metrics: dict[str, Any] = _selection(numbers) or (
            {} if original is None else {"text_acc": original, "acc": original}
        )
        metrics |= _flat(numbers)
        if run.record.n.skipped and not part:
            metrics["skipped"] = run.record.n.skipped
        if run.record.preflight and not part:
            metrics["checked"] = run.record.preflight.words()
        value = {
            "dataset": f"{name}/{part}" if part else name,
            "model": run.model,
            "pretrained": _weights(run.record),
            "task": task,
            "metrics": metrics,
            "language": "en",
        }
        words = (value["dataset"], value["pretrained"], run.model, "en", task)
        path = "_".join(_safe(str(word).replace("/", "_")) for word in words)
        found.append(File(f"{path}.json", f"{_json(value)}\n"))
    return found


# ---------------------------------------------------------------------------- mteb

_MTEB = {"sugarcrepe": "SugarCrepe", "winoground": "Winoground"}  # the same items and the same question


def mteb(run: Export) -> list[File]:
    """mteb's TaskResult, results/ORG__MODEL/REVISION/TASK.json, and its model_meta.json.

    A whole run of a benchmark that mteb has as well takes mteb's name for it; ties are right there and never right
    here. Any other run keeps our name, which no task of mteb has. `dataset_revision` is the hash of our items: they
    were not read from mteb's copy. `mteb_version` is null, as mteb measured nothing.
    """
    record = run.record
    known = _MTEB.get(record.benchmark.name) if _whole(record) else None
    headline = record.metrics.overall if known else record.metrics.headline  # mteb's SugarCrepe: one mean of all items
    scores: dict[str, Any] = {"text_acc": headline["original"]}
    if asked := _selection(headline):  # Winoground's main score is right in both directions
        scores = {"text_acc": asked["text_acc"], "image_acc": asked["image_acc"], "accuracy": asked["acc"]}
    scores = {name: value for name, value in scores.items() if value is not None}
    entry = scores | {"main_score": scores.get("accuracy", scores.get("text_acc")), "hf_subset": "default"}
    entry |= {"languages": ["eng-Latn"], **_flat(headline), "average": average_words(headline)}
    entry |= {"equipoise_version": record.environment.equipoise}
    entry |= {"skipped": record.n.skipped} if record.n.skipped else {}
    entry |= {"checked": record.preflight.words()} if record.preflight else {}
    if splits := {part: _flat(numbers) for part, numbers in _parts(record).items() if part}:
        entry["splits"] = splits
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
    folder = f"results/{run.model.replace('/', '__')}/{_weights(record)}"
    return [
        File(f"{folder}/{_safe(name)}.json", f"{_json(result)}\n"),
        File(f"{folder}/model_meta.json", f"{_json(_mteb_model(run))}\n"),
    ]


def _whole(record: RunRecord) -> bool:
    """Whether the run speaks for its whole benchmark: every item that was published was scored."""
    if record.benchmark.name not in _MTEB or record.n.skipped or record.benchmark.limit:
        return False
    return record.n.items == sum(count or 0 for count in registry.get(record.benchmark.name).splits.values())


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _rounded(one) for name, one in value.items()}
    return round(value, 6) if isinstance(value, float) else value  # as mteb writes


def _mteb_model(run: Export) -> dict[str, Any]:
    """mteb's ModelMeta: all its required fields, null where a run does not know (licence, release, training data)."""
    card = run.record.model.model_dump()
    unknown = "loader release_date memory_usage_mb license open_weights public_training_code public_training_data"
    return dict.fromkeys((*unknown.split(), "training_datasets")) | {
        "name": run.model,
        "revision": _weights(run.record),
        "languages": ["eng-Latn"],
        "n_parameters": card.get("parameters") if isinstance(card.get("parameters"), int) else None,
        "max_tokens": card.get("context_length"),
        "embed_dim": card.get("embed_dim") if isinstance(card.get("embed_dim"), int) else None,
        "framework": ["PyTorch"],
        "similarity_fn_name": "cosine",
        "use_instructions": False,
        "modalities": ["image", "text"],
    }


# ---------------------------------------------------------------------------- the hub's .eval_results


def eval_results(run: Export) -> list[File]:
    """The hub's .eval_results/NAME.yaml, which lies in the model's repository: an entry per task and metric, percent.

    `dataset.id` is a dataset of the hub that is registered as a benchmark; only the user knows which one stands for
    these items, so it is asked for (--dataset) where it is not the benchmark's own address.
    """
    record, name = run.record, run.record.benchmark.name
    dataset = run.dataset or {"winoground": "facebook/winoground"}.get(name)
    if dataset is None:
        raise UserError(
            f"{run.folder}: the hub's format names a dataset of the hub, and {name} has none that is known here. "
            "Name the dataset: --dataset ORGANISATION/NAME"
        )
    limit = f"; the first {record.benchmark.limit} items only" if record.benchmark.limit else ""
    skipped = f"; {record.n.skipped} items could not be scored" if record.n.skipped else ""
    checked = f"; model checked: {record.preflight.words()}" if record.preflight else ""
    lines: list[str] = []
    for part, numbers in _parts(record).items():
        for metric, number in numbers.metrics.items():
            row, interval = info(metric, number), number.interval
            if row.less is not None:
                continue  # a difference of two shares
            spread = f", 95% interval {100 * interval.low:.2f} to {100 * interval.high:.2f}" if interval else ""
            better = " (lower is better)" if row.better == "low" else ""
            notes = (
                f"{row.title}{better} of {name}, {average_words(numbers)}, n = {number.n}{spread}; "
                f"a tie is never a win{limit}{skipped}{checked}. Equipoise {record.environment.equipoise}, "
                f"items sha256 {record.benchmark.items_sha256}"
            )
            # JSON's strings, which YAML reads, so that no text can become a field
            lines += [
                "- dataset:",
                f"    id: {_json(dataset)}",
                f"    task_id: {_json(f'{part}_{metric}' if part else metric)}",
                f"  value: {round(100 * number.value, 5)!r}",
                f"  date: {_json(record.date.date().isoformat())}",
                f"  notes: {_json(notes)}",
            ]
    if not lines:
        raise UserError(f"{run.folder}: nothing that the format can hold was measured (no share of items)")
    return [File(f".eval_results/{_safe(name)}.yaml", "\n".join(lines) + "\n")]


# ---------------------------------------------------------------------------- Every Eval Ever


def every_eval_ever(run: Export) -> list[File]:
    """Every Eval Ever's aggregate, schema 0.3.0, in data/equipoise/DEVELOPER/MODEL/ under a UUID made from the hash of
    the run: the same run gives the same bytes."""
    record = run.record
    made = str(int(record.date.timestamp()))
    whole = [record.model_dump(mode="json", by_alias=True), run.model, run.by]
    identity = hashlib.sha256(_json(whole, None).encode()).digest()
    aggregate = {
        "schema_version": "0.3.0",
        "evaluation_id": f"{record.benchmark.name}/{run.model}/{made}",
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
            "additional_details": _strings(code=record.environment.code, **record.environment.packages),
        },
        "model_info": {
            "name": record.model.spec,
            "id": run.model,
            "developer": run.model.partition("/")[0],
            "additional_details": {"deployment_type": "self_deployed", "model_availability": "unknown"}
            | _strings(weight_sha256=record.model.weight_sha256, digest=record.model.digest)
            | _strings(dtype=record.model.dtype, device=record.model.device),
        },
        "evaluation_results": list(_results(record)),
    }
    path = f"data/equipoise/{run.model}/{uuid.UUID(bytes=identity[:16], version=4)}.json"
    return [File(path, f"{_json(aggregate)}\n")]


def _strings(**values: Any) -> dict[str, str]:
    """The schema wants every detail as a string; what is not known is left out."""
    return {name: str(value) for name, value in values.items() if value is not None}


def _results(record: RunRecord) -> Iterator[dict[str, Any]]:
    about = record.benchmark
    facts = _strings(
        items_sha256=about.items_sha256, limit=about.limit, skipped=record.n.skipped or None, citation=about.citation,
        checked=record.preflight.words() if record.preflight else None,
    )  # fmt: skip
    for part, numbers in _parts(record).items():
        for metric, number in numbers.metrics.items():
            row = info(metric, number)
            ties = numbers.ties if row.side == "texts" else numbers.image_ties
            uncertainty: dict[str, Any] = {"num_samples": number.n}
            if number.interval is not None:
                uncertainty["confidence_interval"] = {
                    "lower": number.interval.low,
                    "upper": number.interval.high,
                    "confidence_level": stats.LEVEL,
                    "method": "bootstrap over images",
                }
            yield {
                "evaluation_result_id": "/".join(filter(None, (about.name, part, metric))),
                "evaluation_name": f"{about.name}.{part}" if part else about.name,
                "source_data": {"dataset_name": about.name, "source_type": "other", "additional_details": facts},
                "metric_config": {
                    "evaluation_description": row.meaning,
                    "metric_id": f"equipoise.{metric}",
                    "metric_name": row.title,
                    "metric_kind": "accuracy" if metric in ("original", "augmented") else metric,
                    "metric_unit": "proportion",
                    "lower_is_better": row.better == "low",
                    "score_type": "continuous",
                    "min_score": -1.0 if row.less else 0.0,
                    "max_score": 1.0,
                },
                "score_details": {
                    "score": number.value,
                    "details": _strings(average=average_words(numbers), ties=ties),
                    "uncertainty": uncertainty,
                },
            }


FORMATS: dict[str, Callable[[Export], list[File]]] = {
    "clip-benchmark": clip_benchmark,
    "mteb": mteb,
    "eval-results": eval_results,
    "every-eval-ever": every_eval_ever,
}
