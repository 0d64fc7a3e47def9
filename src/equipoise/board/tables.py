"""A leaderboard as Markdown, LaTeX, CSV, JSON and for the terminal. The numbers are those of the page."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from equipoise.board.record import Beside, Board, Measured, Row, TestSet
from equipoise.report import Format
from equipoise.report.tables import grid, safe_cell

FIELDS = (
    "benchmark", "kind", "model", "metric", "average", "split", "n", "value", "low", "high", "letters", "reported",
    "difference", "source", "why",
)  # fmt: skip


def render_board(board: Board, form: Format = "text") -> str:
    """The leaderboard in one of FORMATS."""
    if form == "json":
        return board.model_dump_json(indent=2)
    if form == "csv":
        return _csv(board)
    parts = []
    for test in board.tests:
        header = ["", "n", *(column.label for column in test.columns)]
        if theirs := test.reported_columns:
            header += [name for what in theirs for name in (f"reported: {what}", "measured - reported")]
        cells = [_measured_cells(test, row) for row in test.rows]
        cells += [
            [f"{row.model} (reported)", "-", *["-"] * len(test.columns), *_their_cells(row.numbers, theirs)]
            for row in test.reported
        ]
        parts.append(_headed(form, test.title, grid(form, header, cells, caption(test, board.correction))))
        if splits := [(row, one) for row in test.rows for one in row.beside if one.reported.split]:
            rows = [[row.model, one.reported.what, share(one.reported.value), *_pair(one)] for row, one in splits]
            title = f"{test.title}: splits as reported"
            parts.append(
                _headed(form, title, grid(form, ["", "", "reported", "measured", "measured - reported"], rows, ""))
            )
    if board.elsewhere:
        whole = [one for one in board.elsewhere if one.split is None] or board.elsewhere
        columns = list(dict.fromkeys(f"{one.benchmark}: {one.what}" for one in whole))
        models: dict[str, dict[str, float]] = {}
        for one in whole:
            models.setdefault(one.model, {})[f"{one.benchmark}: {one.what}"] = one.value
        rows = [
            [model, *(share(given[column]) if column in given else "-" for column in columns)]
            for model, given in models.items()
        ]
        title = "Reported by others, not measured here"
        parts.append(_headed(form, title, grid(form, ["", *columns], rows, "; ".join(board.sources))))
    return "\n\n".join(parts)


def caption(test: TestSet, correction: str) -> str:
    """What a reader of a table must know."""
    lines = [
        f"percent [95% interval, images resampled]; {test.average}; models that share a letter cannot be told apart "
        f"(every pair tested, corrected by {correction} within a column), a is the best; letters "
        "hold for this list of models"
    ]
    if test.reported:
        lines.append("(reported): by others, without the items behind it: no interval, not in any group")
    return "\n".join([*lines, *test.notes])


def share(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f}"


def points(value: float | None) -> str:
    """'-1.4'; what rounds to nothing has no sign of its own."""
    return "-" if value is None else f"{round(100 * value, 1) + 0.0:+.1f}"


def spread(one: Measured | Beside) -> str:
    interval = one.interval
    return "" if interval is None else f"[{100 * interval.low:.1f}, {100 * interval.high:.1f}]"


def _headed(form: Format, title: str, table: str) -> str:
    if form == "latex":
        return table
    return f"## {' '.join(title.split())}\n\n{table}" if form == "md" else f"{' '.join(title.split())}\n{table}"


def _measured_cells(test: TestSet, row: Row) -> list[str]:
    cells = [row.model, f"{row.n:,}", *(_cell(row.numbers.get(column.name)) for column in test.columns)]
    return cells + _beside_cells(row, test.reported_columns)


def _cell(one: Measured | None) -> str:
    return "-" if one is None else " ".join(part for part in (share(one.value), spread(one), one.letters) if part)


def _beside_cells(row: Row, columns: Sequence[str]) -> list[str]:
    cells = []
    for what in columns:
        one = row.said(what)
        cells += ["-", "-"] if one is None else [share(one.reported.value), points(one.difference)]
    return cells


def _their_cells(numbers: dict[str, float], columns: Sequence[str]) -> list[str]:
    return [cell for what in columns for cell in (share(numbers.get(what)), "-")]


def _pair(one: Beside) -> list[str]:
    measured = " ".join(part for part in (share(one.measured), spread(one)) if part)
    return [measured, points(one.difference)]


def _csv(board: Board) -> str:
    """One line a number."""
    output = io.StringIO()
    writer = csv.DictWriter(output, FIELDS, lineterminator="\n")
    writer.writeheader()

    def write(**fields: object) -> None:
        writer.writerow({name: safe_cell(value) for name, value in fields.items() if value is not None})

    for test in board.tests:
        for row in test.rows:
            about = {"benchmark": test.title, "model": row.model}
            for column in test.columns:
                if (one := row.numbers.get(column.name)) is not None:
                    low, high = one.interval or (None, None)
                    write(
                        **about, kind="measured", metric=column.name, average=test.average, n=row.n, value=one.value,
                        low=low, high=high, letters=one.letters,
                    )  # fmt: skip
            for both in row.beside:
                low, high = both.interval or (None, None)
                write(
                    **about, kind="beside", metric=both.reported.metric, average=both.reported.average,
                    split=both.reported.split, value=both.measured, low=low, high=high, reported=both.reported.value,
                    difference=both.difference, source=both.reported.source, why=both.why or None,
                )  # fmt: skip
        for other in test.reported:
            for what, value in other.numbers.items():
                write(
                    benchmark=test.title, kind="reported", model=other.model, metric=what, reported=value,
                    source="; ".join(other.sources),
                )  # fmt: skip
    for number in board.elsewhere:
        write(
            benchmark=number.benchmark, kind="reported", model=number.model, metric=number.metric,
            average=number.average, split=number.split, reported=number.value, source=number.source,
        )  # fmt: skip
    return output.getvalue().rstrip("\n")
