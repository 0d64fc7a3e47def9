"""Result CSVs with one row an item: predicate-noun dependencies, one file for each wording.

CLIP's file holds a softmax over the two sentences of a row, the others' files match probabilities of each sentence. A
softmax says nothing across wordings: 0.6 of one comparison is not more than 0.5 of another. Such files are known by
rows that all add up to 1, and are judged by what they do say: each wording by its margin over its own wrong sentence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from equipoise.benchmarks import predicate_noun as benchmark
from equipoise.benchmarks.reading import entries, item_id
from equipoise.errors import Problems, UserError
from equipoise.evaluation.foreign.base import Foreign, Rows, check_finite, check_ids, check_single
from equipoise.evaluation.scores import ItemScores
from equipoise.items import Item
from equipoise.readers.records import explain

NAME = "predicate-noun"
_ONE = 1e-4  # how far a softmax of float32 numbers in text is from 1
_CHANCE = 0.1  # of rows that happen to add up to 1; more in part of a file are two models
WITHIN = (
    "probabilities add up to 1 within a wording, so those of two wordings cannot be compared: Augmented accuracy and "
    "Brittleness set each wording against its own wrong sentence, and mean scores are margins"
)


class Line(BaseModel):
    """What is used of a row; a CSV has only text, so numbers are read from it."""

    model_config = ConfigDict(frozen=True, extra="ignore")
    id: str
    prob_target_match: float
    prob_distractor_match: float
    model: str | None = None
    cropped_image: str | None = None


@dataclass(frozen=True)
class _File:
    right: list[float]  # by row of the benchmark
    wrong: list[float]
    within: bool  # a softmax over the two


def predicate_noun(paths: Sequence[Path]) -> Foreign:
    files = [_read(path) for path in paths]
    if len({file.within for file in files}) > 1:
        raise UserError(f"{paths[0]} and {paths[1]}: one holds a softmax over two sentences, one does not: two models")
    if len(files) == 2 and files[0] == files[1]:
        raise UserError(f"{paths[0]} and {paths[1]}: the same scores; name the file of the other wording second")
    rows = [row for split, own, other in _views(files) for row in _rows(split, own, other)]
    notes = (
        () if len(files) == 2 else ("one wording alone: no Augmented accuracy; name the other wording's file second",)
    )
    if files[0].within and len(files) == 2:
        notes = (WITHIN,)
    return Foreign("predicate-noun's result CSV", rows, notes=notes, fit=_fit)


def _views(files: Sequence[_File]) -> list[tuple[str, _File, _File | None]]:
    if len(files) == 1:
        return [("first", files[0], None)]
    return [("first", files[0], files[1]), ("alt", files[1], files[0])]


def _rows(split: str, own: _File, other: _File | None) -> Rows:
    found = []
    for number in range(benchmark.ROWS):
        caption, negative = own.right[number], own.wrong[number]
        positives = [] if other is None else [other.right[number]]
        if own.within and other is not None:
            caption, negative = caption - negative, 0.0
            positives = [other.right[number] - other.wrong[number]]
        found.append(
            ItemScores(
                id=item_id(NAME, split, number),
                caption=caption,
                positives=positives,
                negatives=[negative],
                tags={"split": split, "pair": str(number // 2)},
            )
        )
    return found


def _read(path: Path) -> _File:
    problems = Problems(f"{path}: not the scores of {benchmark.ROWS:,} rows")
    lines: list[Line] = []
    for where, _, value in entries(path, Line, problems):
        try:
            lines.append(Line.model_validate(value))
        except ValidationError as error:
            explain(error, where, problems)
    check_single(problems, "model", (line.model for line in lines))
    check_single(problems, "cropped_image", (line.cropped_image for line in lines))
    check_finite(problems, ((line.id, line.prob_target_match + line.prob_distractor_match) for line in lines))
    check_ids(problems, (line.id for line in lines), [str(number) for number in range(benchmark.ROWS)], "ids")
    ones = sum(abs(line.prob_target_match + line.prob_distractor_match - 1) < _ONE for line in lines)
    if _CHANCE * len(lines) < ones < len(lines):
        problems.add("", f"{ones:,} of {len(lines):,} rows add up to 1 and the others do not: two models in one file?")
    problems.raise_if_any("Expected the columns id, prob_target_match, prob_distractor_match, each id once.")
    lines.sort(key=lambda line: int(line.id))
    return _File(
        [line.prob_target_match for line in lines],
        [line.prob_distractor_match for line in lines],
        within=ones == len(lines),
    )


def _fit(rows: Rows, items: Sequence[Item]) -> tuple[Rows, Sequence[Item]]:
    """One file is asked about its own wording only, and has nothing to say on the other as a positive."""
    if any(row.positives for row in rows):
        return rows, items
    first = [item for item in items if item.tags["split"] == "first"]
    return rows, [item.model_copy(update={"positives": ()}) for item in first]
