"""Reads published tables of results without items: mteb's result files. Each model and task (and date) is a run.

Numbers are those of the table. No interval can be given, and two such runs are compared unpaired.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from equipoise.core.errors import Problems, UserError
from equipoise.data.readers.records import EMPTY, rows
from equipoise.evaluation.record import ItemNumbers, Metrics, Number

TASKS = {  # mteb's name -> ours, and how many items mteb's dataset has: shares of it are whole counts
    "SugarCrepe": ("sugarcrepe", 7511),
    "Winoground": ("winoground", 400),
    "AROVisualAttribution": ("aro-vg-a", 28748),
    "AROVisualRelation": ("aro-vg-r", 23937),
    "AROCocoOrder": ("aro-coco-order", 25010),
    "AROFlickrOrder": ("aro-flickr-order", 5000),
}
_JSON, _CSV = {"model", "task", "result"}, {"model", "task", "date", "main_score", "text_acc"}
GROUPED = "Winoground"  # the only task of these with an image score; the others' files hold a zero in its place


class PublishedRow(NamedTuple):
    model: str
    task: str
    shares: dict[str, float]  # by our metric
    revision: str  # of the dataset
    date: str = ""
    exact: bool = True  # False: rounded to a tenth of a percent

    @property
    def called(self) -> str:
        return f"{self.model}@{self.date}" if self.date else self.model

    @property
    def folder(self) -> str:
        return re.sub(r"[^\w.@-]+|^\.+", "_", self.called)


def is_table(path: Path) -> bool:
    try:
        first = next((row.value for row in rows(path) if row.problem != EMPTY), None)
    except UserError:  # whoever reads it next says what is wrong, or reads it: scores may have columns of one name
        return False
    return isinstance(first, dict) and (first.keys() >= _JSON or first.keys() >= _CSV)


def read_tables(paths: Sequence[Path], benchmark: str | None) -> list[PublishedRow]:
    """The rows of the benchmark, or all; all that is wrong is raised at once."""
    problems, listed = Problems(" and ".join(map(str, paths))), []
    seen: dict[tuple[str, str, str], str] = {}
    for path in paths:
        for where, value, problem in rows(path):
            if problem == EMPTY:
                continue
            place = f"{path.name}, {where}"
            if problem or not isinstance(value, dict):
                problems.add(place, problem or "expected an object")
                continue
            try:
                row = _row(value)
            except (KeyError, TypeError, ValueError, IndexError) as error:
                problems.add(place, f"not a result of mteb's ({type(error).__name__}: {error})")
                continue
            if row.task not in TASKS:
                problems.add(place, f"task: expected one of {', '.join(TASKS)}, found {row.task!r}")
            elif bad := [name for name, share in row.shares.items() if not 0 <= share <= 1]:
                problems.add(place, f"{', '.join(bad)}: expected a share from 0 to 1")
            elif (first := seen.setdefault((row.model, row.task, row.date), place)) != place:
                problems.add(place, f"{row.model}, {row.task}: already in {first}")
            else:
                listed.append(row)
    problems.raise_if_any(f"Expected {', '.join(sorted(_JSON))}, or a table of {', '.join(sorted(_CSV))}.")
    kept = [row for row in listed if benchmark in (None, TASKS[row.task][0])]
    if not kept:
        there = ", ".join(sorted({TASKS[row.task][0] for row in listed}))
        raise UserError(f"{paths[0]}: no result of {benchmark}; it has {there or 'none'}")
    return kept


def _row(value: Mapping[str, Any]) -> PublishedRow:
    if "result" in value:
        ((scores,),) = value["result"]["scores"].values()
        revision, date, scale, group = str(value["result"].get("dataset_revision", "")), "", 1.0, "accuracy"
    else:
        scores, revision, date, scale, group = value, "", str(value["date"]), 100.0, "main_score"
    shares = {"original": float(scores["text_acc"]) / scale}
    if value["task"] == GROUPED:
        shares = {"text": shares["original"], "group": float(scores[group]) / scale}
        shares |= {"image": float(scores["image_acc"]) / scale} if "image_acc" in scores else {}
    if not all(map(math.isfinite, shares.values())):
        raise ValueError("a score that is not a finite number")
    return PublishedRow(str(value["model"]), str(value["task"]), shares, revision, date, scale == 1.0)


def metrics_of(row: PublishedRow) -> tuple[Metrics, list[str]]:
    """The numbers, and notes on them."""
    n = TASKS[row.task][1]
    notes = [f"n is that of mteb's {row.task}; the file does not say it"]
    odd = [name for name, share in row.shares.items() if abs(share * n - round(share * n)) > 0.02]
    if row.exact and odd:
        notes.append(f"{', '.join(odd)}: no whole count of {n:,} items, so other items were asked, or fewer")
    if not row.exact:
        notes.append("rounded to a tenth of a percent")
    numbers = {name: Number(value=share, interval=None, n=n) for name, share in row.shares.items()}
    return Metrics(overall=ItemNumbers(n=n, ties=None, metrics=numbers, images=0), by={}), notes
