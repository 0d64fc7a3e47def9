"""The hub's .eval_results/NAME.yaml, which lies in the model's repository: a list, one entry per task and metric.

`dataset.id` is a dataset of the hub that is registered as a benchmark; only the user knows which one stands for these
items, so it is asked for (--dataset) where it is not the benchmark's own address. Values are percent, as mteb's are.
"""

from __future__ import annotations

import json
import re

from equipoise.errors import UserError
from equipoise.evaluation.metrics import info
from equipoise.evaluation.record import Number, Numbers, RunRecord
from equipoise.exports.base import Export, File, parts, safe
from equipoise.report.tables import average_words

DATASETS = {"winoground": "facebook/winoground"}  # where the benchmark itself lives on the hub
DIGITS = 5


def eval_results(run: Export) -> list[File]:
    name = run.record.benchmark.name
    dataset = run.dataset or DATASETS.get(name)
    if dataset is None:
        raise UserError(
            f"{run.folder}: the hub's format names a dataset of the hub, and {name} has none that is known here. "
            "Say which stands for these items: --dataset ORGANISATION/NAME"
        )
    lines: list[str] = []
    for part, numbers in parts(run.record).items():
        for metric, number in numbers.metrics.items():
            if info(metric, number).less is None:
                lines += _entry(run.record, dataset, f"{part}_{metric}" if part else metric, metric, number, numbers)
    if not lines:
        raise UserError(f"{run.folder}: nothing that the format can hold was measured (no share of items)")
    return [File(f".eval_results/{safe(name)}.yaml", "\n".join(lines) + "\n")]


def _entry(record: RunRecord, dataset: str, task: str, metric: str, number: Number, numbers: Numbers) -> list[str]:
    row, interval = info(metric, number), number.interval
    spread = f", 95% interval {100 * interval.low:.2f} to {100 * interval.high:.2f}" if interval else ""
    better = " (lower is better)" if row.better == "low" else ""
    limit = f"; the first {record.benchmark.limit} items only" if record.benchmark.limit else ""
    skipped = f"; {record.n.skipped} items could not be scored" if record.n.skipped else ""
    notes = (
        f"{row.title}{better} of {record.benchmark.name}, {average_words(numbers)}, n = {number.n}{spread}; "
        f"a tie is never a win{limit}{skipped}. Equipoise {record.environment.equipoise}, items sha256 "
        f"{record.benchmark.items_sha256}"
    )
    lines = ["- dataset:", f"    id: {_quoted(dataset)}", f"    task_id: {_quoted(task)}"]
    lines.append(f"  value: {round(100 * number.value, DIGITS)!r}")
    lines.append(f"  date: {_quoted(record.date.date().isoformat())}")
    return [*lines, f"  notes: {_quoted(notes)}"]


# What YAML does not take as it is, beyond what JSON escapes; both know \uXXXX.
_UNPRINTABLE = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")


def _quoted(text: str) -> str:
    """A YAML string in double quotes: JSON's, which YAML reads, so that no text can become a field."""
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(text, ensure_ascii=False))
