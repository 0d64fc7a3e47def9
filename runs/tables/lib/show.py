"""Tables in Markdown: ours with n and interval, and the published row under it, marked as published."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from equipoise.evaluation.record import Change, Interval, Metric, Numbers
from equipoise.standard.record import Number
from lib.jobs import Job
from lib.published import DEFECTS
from lib.study import Study

GONE = "–"  # the paper has this column, this form has nothing that stands for it


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def share(value: float | None, interval: Interval | None) -> str:
    """A share in percent with its interval."""
    if value is None:
        return GONE
    return f"{100 * value:.1f}" + (
        "" if interval is None else f" [{100 * interval.low:.1f}, {100 * interval.high:.1f}]"
    )


def cell(numbers: Numbers | None, metric: Metric = "original") -> str:
    return GONE if numbers is None else share(numbers[metric], numbers.intervals.get(metric))


def number(found: Number | None, percent: bool = True, digits: int = 3) -> str:
    if found is None or found.value is None:
        return GONE
    if percent:
        return share(found.value, found.interval)
    shown = f"{found.value:.{digits}f}"
    return (
        shown
        if found.interval is None
        else f"{shown} [{found.interval.low:.{digits}f}, {found.interval.high:.{digits}f}]"
    )


def change(found: Change | None) -> str:
    """A paired difference in points; ~ says that the interval holds zero, so that nobody takes a tie for a win."""
    if found is None:
        return GONE
    low, high = found.interval
    return f"{100 * found.difference:+.1f} [{100 * low:+.1f}, {100 * high:+.1f}]{'' if found.clear else ' ~'}"


@dataclass(frozen=True)
class Cell:
    """A column of a table: its title, what stands for it, and which share."""

    title: str
    column: str
    metric: Metric = "original"


def grid(
    study: Study, jobs: Sequence[Job], cells: Sequence[Cell], printed: Mapping[str, Sequence[float | None]]
) -> str:
    """A row for every model and under it the paper's own; n stands in the heading."""
    found = {job.name: [study.numbers(job, cell.column) for cell in cells] for job in jobs}
    first = found[jobs[0].name]
    counts = [GONE if one is None else f"n = {one.n:,}" for one in first]
    rows = []
    for job in jobs:
        shown = zip(found[job.name], cells, strict=True)
        rows.append([job.label, *(cell(one, where.metric) for one, where in shown)])
        rows += published(job.label, printed.get(job.name))
    heads = [f"{cell.title} ({count})" for cell, count in zip(cells, counts, strict=True)]
    return table(["model", *heads], rows)


def section(study: Study, name: str, title: str, *parts: str) -> str:
    """A table with its heading, the command that makes it, and what is wrong with the published numbers."""
    real = " --real --data DIR" if study.form.name == "real" else ""
    said = [f"## {title}", f"    python runs/tables/{name}.py{real}", *parts, defects(name)]
    return "\n\n".join(part for part in said if part)


def published(label: str, row: Sequence[float | None] | None, digits: int = 1) -> list[list[str]]:
    """A row of the paper's own numbers, or none."""
    if row is None:
        return []
    return [[f"*{label}, published*", *(GONE if value is None else f"*{value:.{digits}f}*" for value in row)]]


def defects(name: str) -> str:
    """What is known to be wrong with the published numbers of a table."""
    known = DEFECTS.get(name, ())
    return "" if not known else "Known defects of the published numbers: " + "; ".join(known) + "."
