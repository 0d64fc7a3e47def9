"""The leaderboard as one self-contained HTML page, with the report's looks and its rule: it asks nobody."""

from __future__ import annotations

import base64
import hashlib
from importlib import resources
from pathlib import Path

from markupsafe import Markup

from equipoise.board.record import Board, Reported, TestSet
from equipoise.board.tables import points, share, spread
from equipoise.errors import printable
from equipoise.report.page import page_part, templates
from equipoise.report.svg import at, line, strip
from equipoise.run_folder import write_own

MARK = '<meta name="generator" content="equipoise board">'  # by which an earlier page of ours is known
MANY = 25  # rows of a table that are shown at first


def write_board(path: str | Path, board: Board) -> None:
    """Write the page."""
    environment = templates("equipoise.board")
    environment.globals |= {
        "share": share,
        "points": points,
        "spread": spread,
        "printable": printable,
        "scale": scale,
        "measured_strip": measured_strip,
        "reported_strip": reported_strip,
        "inside": inside,
    }
    script, style = _part("board.js"), page_part("report.css") + _part("board.css")
    text = environment.get_template("board.html").render(
        board=board,
        many=MANY,
        matrix=matrix([one for one in board.elsewhere if one.split is None]),
        splits=matrix([one for one in board.elsewhere if one.split is not None]),
        script=script,
        style=style,
        digest=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )
    write_own(path, text, MARK)


def _part(name: str) -> str:
    return resources.files("equipoise.board").joinpath("templates", name).read_text(encoding="utf-8")


# ---------------------------------------------------------------------------- the strips


def scale(test: TestSet) -> tuple[float, float]:
    """The ends of the strips in percent: the tens around everything that is drawn."""
    drawn = [
        100 * value
        for row in test.rows
        if (one := row.numbers.get(test.first))
        for value in (one.value, *(one.interval or ()))
    ]
    drawn += [100 * value for row in test.reported if (value := _same(test, row.numbers)) is not None]
    low, high = 10.0 * (min(drawn, default=0) // 10), 10.0 * (max(drawn, default=100) // 10 + 1)
    return low, min(100.0, high) if high > low else low + 10


def measured_strip(test: TestSet, number: int) -> Markup:
    """The interval of a row's first number."""
    one = test.rows[number].numbers.get(test.first)
    if one is None:
        return Markup("")
    ends = one.interval or (one.value, one.value)
    marks = [line((_x(test, ends[0]), _x(test, ends[1])), (9, 9), "spread m0")]
    marks.append(at(_x(test, one.value), 9, "circle", "m0"))
    return strip(18, *_guides(test), *marks, label=f"{share(one.value)} {spread(one)}")


def reported_strip(test: TestSet, number: int) -> Markup:
    """A hollow mark, where the reported number is of the column that is drawn."""
    value = _same(test, test.reported[number].numbers)
    if value is None:
        return Markup("")
    return strip(18, *_guides(test), at(_x(test, value), 9, "diamond", "hollow"), label=f"reported {share(value)}")


def _same(test: TestSet, numbers: dict[str, float]) -> float | None:
    """The reported number of the first column; the rule stands in brackets behind its name."""
    name = test.first_label
    return next((value for what, value in numbers.items() if what == name or what.startswith(f"{name} (")), None)


def _x(test: TestSet, value: float) -> float:
    low, high = scale(test)
    return 100 * (100 * value - low) / (high - low)


def _guides(test: TestSet) -> list[Markup]:
    low, high = scale(test)
    steps = range(int(low), int(high) + 1, 10)
    return [line((_x(test, step / 100),) * 2, (0, 18), "grid") for step in steps]


# ---------------------------------------------------------------------------- reported numbers


def inside(interval: tuple[float, float] | None, reported: float) -> str:
    """Whether a reported number lies in our interval, in words; "" where there is none."""
    if interval is None:
        return ""
    low, high = interval
    return "inside" if low <= reported <= high else "outside"


Matrix = tuple[list[tuple[str, str]], list[tuple[str, list[float | None]]]]


def matrix(numbers: list[Reported]) -> Matrix:
    """Columns (benchmark, and what of it), and for each model a value or None in each."""
    columns: dict[tuple[str, str], None] = {}
    models: dict[str, dict[tuple[str, str], float]] = {}
    for one in numbers:
        what = (one.split or "") if one.metric == "score" else one.what
        columns[one.benchmark, what] = None
        models.setdefault(one.model, {})[one.benchmark, what] = one.value
    return list(columns), [(model, [given.get(name) for name in columns]) for model, given in models.items()]
