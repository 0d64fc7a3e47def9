"""What every layout gives, and the complaints that all share: unknown, missing or doubled ids, mixed models."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from equipoise.errors import Problems
from equipoise.evaluation.record import PaperNumbers
from equipoise.evaluation.scores import ItemScores
from equipoise.items import Item

Rows = Sequence[ItemScores]
NAMED = 5  # ids of one kind in a message; all are counted


def _as_they_are(rows: Rows, items: Sequence[Item]) -> tuple[Rows, Sequence[Item]]:
    return rows, items


@dataclass(frozen=True)
class Foreign:
    """What a published file says, as scores of items."""

    layout: str  # in words: "Winoground's labels"
    rows: Rows
    outcomes_only: bool = False  # right or wrong was published, no score: ties and mean scores are unknown
    notes: tuple[str, ...] = ()
    paper: Mapping[str, PaperNumbers] = field(default_factory=dict)  # the paper's metrics that the rows cannot say
    fit: Callable[[Rows, Sequence[Item]], tuple[Rows, Sequence[Item]]] = _as_they_are  # to the items: the same ids


def name_some(problems: Problems, what: str, ids: Sequence[str]) -> None:
    """One problem for all ids of a kind: how many, and the first few."""
    if ids:
        more = ", ..." if len(ids) > NAMED else ""
        problems.add("", f"{len(ids):,} {what}: {', '.join(map(repr, ids[:NAMED]))}{more}")


def check_ids(problems: Problems, found: Iterable[str], wanted: Sequence[str], what: str) -> None:
    """Every id of `wanted` once and no other; the three ways to be wrong are named and counted."""
    counts, known = Counter(found), set(wanted)
    doubled = [id_ for id_, count in counts.items() if count > 1]
    name_some(problems, f"{what} doubled (two models in one file?)", doubled)
    name_some(problems, f"{what} unknown to the benchmark", [id_ for id_ in counts if id_ not in known])
    missing = [id_ for id_ in wanted if id_ not in counts]
    name_some(problems, f"of {len(wanted):,} {what} missing", missing)


def check_finite(problems: Problems, scores: Iterable[tuple[str, float]]) -> None:
    name_some(problems, "scores that are not finite numbers", [id_ for id_, one in scores if not math.isfinite(one)])


def check_single(problems: Problems, column: str, values: Iterable[str | None]) -> None:
    """A column that must say the same in every row, such as the model."""
    counts = Counter(value for value in values if value is not None)
    if len(counts) > 1:
        shown = ", ".join(f"{value!r} in {count:,} rows" for value, count in counts.most_common(NAMED))
        problems.add("", f"{column}: {len(counts)} different ones are mixed in this file ({shown}); split it")
