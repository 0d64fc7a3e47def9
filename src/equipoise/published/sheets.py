"""Shared by the published layouts: the rows of a file, the scores made of them, and the checks of both."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from equipoise.benchmarks import by_fields
from equipoise.core.errors import Problems
from equipoise.data.items import Item
from equipoise.data.readers.records import explain, short
from equipoise.evaluation.scores import ImageScores, ItemScores

Rows = Sequence[ItemScores]
Record = Mapping[str, Any]  # of a published file
_TRUTH = {"true": True, "1": True, "1.0": True, "false": False, "0": False, "0.0": False}


@dataclass(frozen=True)
class ScoreTable:
    """The rows of one file, with their places; `problems` is of the file. `head` is what stands outside of them."""

    path: Path
    rows: list[Record]
    places: list[str]
    problems: Problems
    head: Mapping[str, object] = field(default_factory=dict)

    def texts(self, column: str) -> list[str]:
        return [str(row[column]) for row in self.rows]

    def numbers(self, column: str) -> list[float]:
        values = [_number(row[column]) for row in self.rows]
        for where, row, value in zip(self.places, self.rows, values, strict=True):
            if value is None:
                wrong = f"{column}: input should be a valid number; found {short(row[column])}"
                self.problems.add(where, wrong)
        return [math.nan if value is None else value for value in values]

    def outcomes(self, column: str) -> list[bool]:
        values = [_TRUTH.get(text.strip().lower()) for text in self.texts(column)]
        for where, row, value in zip(self.places, self.rows, values, strict=True):
            if value is None:
                self.problems.add(where, f"{column}: expected True or False, found {row[column]!r}")
        return [bool(value) for value in values]


def _number(value: Any) -> float | None:
    try:
        return None if isinstance(value, bool) or "_" in str(value) else float(value)  # Python reads 1_0 as 10
    except (TypeError, ValueError):
        return None


@dataclass(frozen=True)
class PublishedScores:
    """The scores of items in a published file."""

    layout: str  # in words: "Winoground's labels"
    rows: Rows
    outcomes_only: bool = False  # right or wrong was published, no score: ties and mean scores are unknown
    notes: Sequence[str] = ()  # empty ones are left out
    items: Sequence[Item] = ()  # as far as the file says what was asked
    model: str = ""  # as the file calls it
    # Gives the rows the ids of the benchmark's items; with no items where the rows say everything themselves.
    fit: Callable[[Rows, Sequence[Item]], tuple[Rows, Sequence[Item]]] = lambda rows, items: (rows, items)


def scored(
    id_: str, image: str | None, tags: dict[str, str], caption: float, *negatives: float, **more: Any
) -> ItemScores:
    return ItemScores(id=id_, image=image, tags=tags, caption=caption, negatives=list(negatives), **more)


def two_by_two(id_: str, images: Sequence[str], tags: dict[str, str], scores: Sequence[float]) -> ItemScores:
    """`scores`: of the first image's own and other text, then of the second's other and own."""
    own, other, second_other, second_own = scores
    second = ImageScores(image=images[1], caption=second_other, negatives=[second_own])
    return scored(id_, images[0], tags, own, other, negative_images=(second,), paired=True)


def outcome(id_: str, image: str | None, won: bool, tags: dict[str, str], **more: object) -> ItemScores:
    """Right or wrong as a score of 1 against 0, so that the same code measures it. A wrong outcome may have been a tie,
    so ties are unknown, and so is everything that needs a score."""
    return scored(id_, image, tags, float(won), float(not won), **more)


def made(sheet: ScoreTable, name: str, splits: Sequence[str], keys: Sequence[str]) -> list[Item]:
    """The item of each row, by the benchmark's own reader; other texts go to the problems."""
    items = []
    kind, cases = by_fields.reader(name)
    for where, row, split, key in zip(sheet.places, sheet.rows, splits, keys, strict=True):
        try:
            (case,) = cases(split, key, kind.model_validate({**row, "id": int(key) if key.isdigit() else key}))
            items.append(case.item(name, split))
        except ValidationError as error:
            explain(error, where, sheet.problems)
        except (KeyError, ValueError):
            pass  # a split that the benchmark does not have, which was reported already
    return items


def image_of(item: Item) -> str | None:
    return None if item.image is None else item.image.path


def check_doubled(problems: Problems, what: str, ids: Iterable[str]) -> None:
    doubled = [id_ for id_, count in Counter(ids).items() if count > 1]
    problems.add_some(f"{what} doubled (two models in one file?)", doubled)


def check_ids(problems: Problems, ids: Sequence[str], wanted: Sequence[str], what: str) -> None:
    """Every id of `wanted` once and no other; the three ways to be wrong are named and counted."""
    there, known = dict.fromkeys(ids), set(wanted)
    check_doubled(problems, what, ids)
    problems.add_some(f"{what} unknown to the benchmark", [id_ for id_ in there if id_ not in known])
    problems.add_some(f"of {len(wanted):,} {what} missing", [id_ for id_ in wanted if id_ not in there])


def check_counts(problems: Problems, splits: Iterable[str], published: Mapping[str, int | None], what: str) -> None:
    """Check that each split has as many items as the benchmark."""
    counts = Counter(splits)
    for split, count in published.items():
        if count is not None and counts[split] != count:
            problems.add("", f"{split}: {counts[split]:,} of {count:,} {what}")


def check_finite(problems: Problems, ids: Sequence[str], scores: Sequence[float]) -> None:
    bad = [id_ for id_, score in zip(ids, scores, strict=True) if not math.isfinite(score)]
    problems.add_some("scores that are not finite numbers", bad)


def check_single(problems: Problems, column: str, rows: Iterable[Mapping[str, object]]) -> None:
    """A column that must say the same in every row, such as the model."""
    counts = Counter(str(row[column]) for row in rows if row.get(column) is not None)
    if len(counts) > 1:
        shown = ", ".join(f"{value!r} in {count:,} rows" for value, count in counts.most_common(5))
        problems.add("", f"{column}: {len(counts)} different ones are mixed in this file ({shown}); split it")
