"""Tables with bars, as a notebook shows them. Every text is escaped."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from equipoise.evaluation.metrics import METRICS, SHARES
from equipoise.evaluation.record import Interval, Numbers
from equipoise.report.tables import Line, percent

HEADLINE = (*SHARES, "accuracy", "right_every_time", "order_flips", "wording_flips")
_BAR = "#7aa6d8"


class HtmlTable(str):
    """A table that a notebook shows without `print`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self)}</pre>"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], title: str = "") -> str:
    """An HTML table; cells are HTML already."""
    head = "".join(f'<th style="text-align:left">{html.escape(heading)}</th>' for heading in heads)
    body = "".join(f"<tr>{''.join(row)}</tr>" for row in rows)
    above = f"<p>{html.escape(title)}</p>" if title else ""
    return f"{above}<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def cell(text: object) -> str:
    return f'<td style="text-align:left">{html.escape(str(text))}</td>'


def bar_cell(text: str, low: float, high: float) -> str:
    """A text above a bar from `low` to `high`, in percent of the width."""
    low, high = (min(100.0, max(0.0, place)) for place in (low, high))
    stops = f"transparent {low:.1f}%,{_BAR} {low:.1f}%,{_BAR} {high:.1f}%,transparent {high:.1f}%"
    style = "text-align:left;min-width:9em;padding-bottom:7px;background:"
    style += f"linear-gradient(90deg,{stops}) 0 100%/100% 4px no-repeat"
    return f'<td style="{style}">{html.escape(text)}</td>'


def number_rows(lines: Sequence[Line]) -> tuple[list[str], list[list[str]]]:
    """The heads and rows of a table of numbers in percent."""
    names = [name for name in HEADLINE if any(line.numbers[name] is not None for line in lines)]
    heads = ["", "n", *(METRICS[name].title for name in names)]
    return heads, [[cell(line.label), cell(f"{line.numbers.n:,}"), *_cells(line.numbers, names)] for line in lines]


def _cells(numbers: Numbers, names: Iterable[str]) -> list[str]:
    return [bar_cell(percent(numbers, name), 0, 100 * (numbers[name] or 0)) for name in names]


def change_cells(rows: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """Rows of `report.comparison.change_rows`; each bar is an interval on one scale, with zero in the middle."""
    widest = max((abs(row[end]) for row in rows for end in ("low", "high")), default=1) or 1
    shown = []
    for row in rows:
        low, high = (50 + 50 * row[end] / widest for end in ("low", "high"))
        words = f"{row['difference']:+.1f} [{row['low']:+.1f}, {row['high']:+.1f}]"
        p = row["p"] if row["p_corrected"] is None else row["p_corrected"]
        title = METRICS[row["metric"]].title if row["metric"] in METRICS else row["metric"]
        about = map(cell, (row["benchmark"], row["after"], title, f"{row['n']:,}"))
        verdict = map(cell, (f"{p:.4f}", "yes" if row["significant"] else "no"))
        shown.append([*about, bar_cell(words, low, high), *verdict])
    return shown


CHANGE_HEADS = ("benchmark", "model", "metric", "n", "change in points (0 in the middle)", "p", "significant")


def share_cell(share: float, interval: Interval | tuple[float, float] | None = None) -> str:
    words = f"{100 * share:.1f} %"
    if interval is not None:
        low, high = interval
        words += f" [{100 * low:.1f}, {100 * high:.1f}]"
    return bar_cell(words, 0, 100 * share)
