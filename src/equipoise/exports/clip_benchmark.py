"""CLIP_benchmark's result: one JSON a run, `metrics` beside dataset, model, pretrained, task and language.

Its own code gives image_acc 1.0 to any model where an item has one image; that number is left out here, as nothing was
asked. Our metrics stand beside its own (`clip_benchmark build` makes a column of each); a tie is never a win.
"""

from __future__ import annotations

from typing import Any

from equipoise.evaluation.record import Numbers
from equipoise.exports.base import Export, File, as_json, flat, parts, safe, selection, weights

TASK = "image_caption_selection"
DATASETS = {"sugarcrepe": "sugar_crepe"}  # what it calls our benchmarks, where the names differ


def clip_benchmark(run: Export) -> list[File]:
    """One file for the headline, and one for each split: sugar_crepe/add_att is a dataset of its own there."""
    name = DATASETS.get(run.record.benchmark.name, run.record.benchmark.name)
    found = []
    for part, numbers in parts(run.record).items():
        dataset = f"{name}/{part}" if part else name
        metrics = selection(numbers) or _text_side(numbers)
        skipped = {"skipped": run.record.n.skipped} if run.record.n.skipped and not part else {}
        value = {
            "dataset": dataset,
            "model": run.model,
            "pretrained": weights(run.record),
            "task": TASK,
            "metrics": metrics | flat(numbers) | skipped,
            "language": "en",
        }
        words = [dataset, value["pretrained"], run.model, "en", TASK]
        found.append(File("_".join(safe(str(word).replace("/", "_")) for word in words) + ".json", as_json(value)))
    return found


def _text_side(numbers: Numbers) -> dict[str, Any]:
    """acc is both directions at once; with one image it is text_acc, in their code as here."""
    original = numbers["original"]
    return {} if original is None else {"text_acc": original, "acc": original}
