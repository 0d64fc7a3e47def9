"""One line a score, {"label": "0_c0_i1", "score": 0.3}: Winoground's own statistics, and VALSE in the same manner.

VALSE's lines come with an instrument, and their numbers count the records of all files, valid or not, one file after
another; only within an instrument are they sure to be unique. What the annotation files call a record is its key, so
items are matched in the order of the file, instrument by instrument.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from equipoise.benchmarks import valse as valse_benchmark
from equipoise.benchmarks.reading import item_id
from equipoise.errors import Problems
from equipoise.evaluation.foreign.base import Foreign, Rows, check_finite, check_ids, check_single, name_some
from equipoise.evaluation.scores import ImageScores, ItemScores
from equipoise.items import Item
from equipoise.readers.records import checked, jsonl_lines

EXAMPLES = 400  # of Winoground
FOUR = ("c0_i0", "c1_i0", "c0_i1", "c1_i1")


class Line(BaseModel):
    """What is used of a line."""

    model_config = ConfigDict(strict=True, frozen=True, extra="ignore")
    label: str
    score: float
    instrument: str | None = None
    model: str | None = None


def _lines(path: Path, problems: Problems) -> list[Line]:
    lines = [line for _, line in checked(jsonl_lines(path, problems), Line, problems)]
    problems.raise_if_any('Expected one object per line: {"label": "...", "score": 0.3}')
    check_single(problems, "model", (line.model for line in lines))
    check_finite(problems, ((line.label, line.score) for line in lines))
    return lines


# ---------------------------------------------------------------------------- Winoground


def winoground(paths: Sequence[Path]) -> Foreign:
    (path,) = paths
    problems = Problems(f"{path}: not the scores of Winoground's {EXAMPLES} examples")
    lines = _lines(path, problems)
    wanted = [f"{number}_{part}" for number in range(EXAMPLES) for part in FOUR]
    check_ids(problems, (line.label for line in lines), wanted, "labels")
    problems.raise_if_any("Expected 0_c0_i0, 0_c1_i0, 0_c0_i1, 0_c1_i1 and so on, each once: caption and image.")
    score = {line.label: line.score for line in lines}
    rows = [_example(number, [score[f"{number}_{part}"] for part in FOUR]) for number in range(EXAMPLES)]
    return Foreign("Winoground's labels", rows)


def _example(number: int, scores: Sequence[float]) -> ItemScores:
    """As an item of Winoground is: the first image and its caption, the other of both as negatives, all four scores."""
    own0, other0, other1, own1 = scores
    return ItemScores(
        id=item_id("winoground", "test", number),
        image=f"ex_{number}_img_0.png",
        caption=own0,
        negatives=[other0],
        tags={"split": "test"},
        negative_images=(ImageScores(image=f"ex_{number}_img_1.png", caption=other1, negatives=[own1]),),
        paired=True,
    )


# ---------------------------------------------------------------------------- VALSE


def valse(paths: Sequence[Path]) -> Foreign:
    (path,) = paths
    problems = Problems(f"{path}: not the scores of VALSE's valid items")
    lines = _lines(path, problems)
    found = [(line.instrument or "", *line.label.rpartition("_")[::2]) for line in lines]
    odd = [line.label for line, (_, key, side) in zip(lines, found, strict=True) if not key or side not in ("c", "f")]
    name_some(problems, "labels that are neither ID_c nor ID_f", odd)
    others = Counter(instrument for instrument, _, _ in found if instrument not in valse_benchmark.SPLITS)
    name_some(problems, "instruments that VALSE does not have", sorted(others))
    doubled = [f"{one[0]} {one[1]}_{one[2]}" for one, count in Counter(found).items() if count > 1]
    name_some(problems, "labels doubled (two models in one file?)", doubled)
    score = {one: line.score for one, line in zip(found, lines, strict=True)}
    keys = list(dict.fromkeys((instrument, key) for instrument, key, _ in found))
    half = [f"{i} {key}" for i, key in keys if not {(i, key, "c"), (i, key, "f")} <= score.keys()]
    name_some(problems, "items with the score of only one of caption and foil", half)
    counts = Counter(instrument for instrument, _ in keys)
    for split, published in valse_benchmark.SPLITS.items():
        if counts[split] != published:
            problems.add("", f"{split}: {counts[split]:,} of {published:,} items")
    problems.raise_if_any('Expected {"label": "0_c", "score": 0.3, "instrument": "existence"} and 0_f for every item.')
    rows = [
        ItemScores(
            id=item_id("valse", instrument, key),
            caption=score[instrument, key, "c"],
            negatives=[score[instrument, key, "f"]],
            tags={"split": instrument, "phenomenon": valse_benchmark.phenomenon(instrument)},
        )
        for instrument, key in sorted(keys, key=_place)
    ]
    return Foreign("VALSE's labels", rows, fit=_fit_in_order)


def _place(key: tuple[str, str]) -> tuple[str, int, str]:
    """As the annotation files go: numbers by their value."""
    instrument, name = key
    return instrument, int(name) if re.fullmatch(r"\d{1,18}", name) else -1, name


def _fit_in_order(rows: Rows, items: Sequence[Item]) -> tuple[Rows, Sequence[Item]]:
    """The n-th score of an instrument is of its n-th valid record."""
    by_split: dict[str, list[str]] = {}
    for item in items:
        by_split.setdefault(item.tags["split"], []).append(item.id)
    named = {
        row.id: id_
        for split, ids in by_split.items()
        for row, id_ in zip([row for row in rows if row.tags["split"] == split], ids, strict=False)
    }
    return [row.model_copy(update={"id": named.get(row.id, row.id)}) for row in rows], items
