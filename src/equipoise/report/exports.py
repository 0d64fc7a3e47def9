"""A finished run in the formats that others take: each format is a function from a run to files.

What a format cannot say is left out, never guessed; docs/report.md has what the official packages made of the files.
"""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from equipoise.core import stats
from equipoise.core.errors import UserError, did_you_mean
from equipoise.core.run_folder import refuse_foreign, write_own
from equipoise.evaluation.metrics import shown
from equipoise.evaluation.record import Numbers, RunRecord
from equipoise.evaluation.results import find_item_runs, load_run
from equipoise.report.tables import average_words


@dataclass(frozen=True)
class Export:
    """One run on its way to another format, and what only its user can say."""

    folder: Path
    record: RunRecord
    model: str  # ORGANISATION/NAME
    by: str = "unknown"  # who measured
    dataset: str | None = None  # of the hub


def export(runs: Sequence[Path], to: str, out: Path, model: str | None, by: str, dataset: str | None) -> list[str]:
    """Write the files of all runs in one format, and say for each what was done."""
    if to not in FORMATS:
        raise UserError(f"--to {to}: expected one of {', '.join(FORMATS)}.{did_you_mean(to, FORMATS)}")
    if dataset is not None and to != "eval-results":
        raise UserError(f"--dataset is only for --to eval-results, not for {to}")
    if model is not None and not re.fullmatch(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*", model, re.ASCII):
        raise UserError(f"--model {model!r}: expected ORGANISATION/NAME of letters, digits, '.', '-' and '_'")
    files: dict[str, str] = {}
    for place, record in find_item_runs(runs):
        folder = place if place.is_dir() else place.parent
        load_run(folder)  # refuses numbers and scores that were edited
        path, text = FORMATS[to](Export(folder, record, model or model_id(record.model.spec), by, dataset))
        if files.setdefault(path, text) != text:
            raise UserError(f"{folder}: another run here would be the same file, {path}; export them one by one")
    return write(files, out)


def write(files: Mapping[str, str], out: Path) -> list[str]:
    """Write the texts by their paths below `out`, or a single one as `out` itself.

    Everything is looked at before anything is written: a file that holds something else is not ours to replace.
    """
    named = out.suffix in {".json", ".yaml", ".yml"} and not out.is_dir()
    if named and len(files) > 1:
        raise UserError(f"--out {out}: {len(files)} files are to be written; name a folder")
    places = {(out if named else out / path): text for path, text in files.items()}
    for path, text in places.items():
        refuse_foreign(path, "", text)
    for path, text in places.items():
        write_own(path, text)
    return [f"{path} written" for path in places]


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


def _parts(record: RunRecord) -> dict[str, Numbers]:
    """The headline under "", and where there are several splits each of them."""
    splits = record.metrics.by.get("split", {})
    return {"": record.metrics.headline} | (dict(splits) if len(splits) > 1 else {})


# What neither UTF-8 nor YAML takes as it is, beyond what JSON escapes; both know \uXXXX.
_UNPRINTABLE = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")


def _json(value: object, indent: int | None = 2) -> str:
    text = json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False)
    return _UNPRINTABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def eval_results(run: Export) -> tuple[str, str]:
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
        for row in shown([numbers.metrics]):
            metric, number = row.name, numbers.metrics[row.name]
            interval = number.interval
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
    return f".eval_results/{_safe(name)}.yaml", "\n".join(lines) + "\n"


def every_eval_ever(run: Export) -> tuple[str, str]:
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
    return path, f"{_json(aggregate)}\n"


def _strings(**values: object) -> dict[str, str]:
    """The schema wants every detail as a string; what is not known is left out."""
    return {name: str(value) for name, value in values.items() if value is not None}


def _results(record: RunRecord) -> Iterator[dict[str, object]]:
    about = record.benchmark
    facts = _strings(
        items_sha256=about.items_sha256, limit=about.limit, skipped=record.n.skipped or None, citation=about.citation,
        checked=record.preflight.words() if record.preflight else None,
    )  # fmt: skip
    for part, numbers in _parts(record).items():
        for row in shown([numbers.metrics]):
            metric, number = row.name, numbers.metrics[row.name]
            ties = numbers.ties if row.side == "texts" else numbers.image_ties
            uncertainty: dict[str, object] = {"num_samples": number.n}
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


FORMATS: dict[str, Callable[[Export], tuple[str, str]]] = {
    "eval-results": eval_results,
    "every-eval-ever": every_eval_ever,
}
