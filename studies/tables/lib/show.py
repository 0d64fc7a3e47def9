"""Tables in Markdown: ours with n and interval, and the published row under it, marked as published."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from equipoise.evaluation.record import Change, Interval, Number, Numbers
from equipoise.report.tables import in_percent
from studies.harness import ranged, table
from studies.tables.lib.jobs import Job
from studies.tables.lib.published import Rows
from studies.tables.lib.study import Study

GONE = "–"  # the paper has this column, this form has nothing that stands for it


def share(value: float | None, interval: Interval | None) -> str:
    """A share in percent with its interval."""
    return GONE if value is None else in_percent(value, interval)


def cell(numbers: Numbers | None, metric: str = "original") -> str:
    return GONE if numbers is None else share(numbers[metric], numbers.interval(metric))


def number(figure: Number | None, percent: bool = True, digits: int = 3) -> str:
    if figure is None or figure.value is None:
        return GONE
    if percent:
        return share(figure.value, figure.interval)
    form = f".{digits}f"
    return f"{figure.value:{form}}" if figure.interval is None else ranged(figure.value, figure.interval, form, 1)


def change(measured: Change | None) -> str:
    """A paired difference in points; ~ says that the interval holds zero, so that nobody takes a tie for a win."""
    if measured is None:
        return GONE
    return ranged(measured.difference, measured.interval, "+.1f") + " ~" * (not measured.clear)


@dataclass(frozen=True)
class Cell:
    """A column of a table: its title, what stands for it, and which share; or the mean of several, without interval."""

    title: str
    column: str = ""
    metric: str = "original"
    mean_of: tuple[str, ...] = ()


def grid(study: Study, jobs: Sequence[Job], cells: Sequence[Cell], printed: Rows, *, seen: bool = False) -> str:
    """A row for every model and under it the paper's own; n stands in the heading.

    `seen` adds which of the two benchmarks has the kind of hard negative that a model was finetuned on.
    """
    able = [job for job in jobs if study.form.can(job)]
    by_job = {job: [study.numbers(job, cell.column) if cell.column else None for cell in cells] for job in able}
    heads = []
    for place, one in enumerate(cells):
        n = next((numbers.n for numbers in (by_job[job][place] for job in able) if numbers), None)
        heads.append(one.title if one.mean_of else f"{one.title} ({GONE if n is None else f'n = {n:,}'})")

    def shown(job: Job) -> list[str]:
        pairs = zip(by_job[job], cells, strict=True)
        values = [mean(study, job, one) if one.mean_of else cell(numbers, one.metric) for numbers, one in pairs]
        return [*([job.seen or GONE] if seen else []), *values]

    rows = {name: [None, *row] for name, row in printed.items()} if seen else printed
    return listing(study, jobs, ["finetuned on", *heads] if seen else heads, shown, rows)


def mean(study: Study, job: Job, cell: Cell) -> str:
    values = [numbers[cell.metric] for column in cell.mean_of if (numbers := study.numbers(job, column))]
    known = [value for value in values if value is not None]
    return share(sum(known) / len(known), None) if len(known) == len(cell.mean_of) else GONE


def listing(
    study: Study,
    jobs: Sequence[Job],
    heads: Sequence[str],
    shown: Callable[[Job], Sequence[str]],
    printed: Mapping[str, Sequence[float | None]],
    digits: int = 1,
) -> str:
    """A row for each model that the form has, the paper's under it, and at the end what only the paper has."""
    printed = {name: [*row, *[None] * (len(heads) - len(row))] for name, row in printed.items()}
    rows: list[list[str]] = []
    for job in jobs:
        rows += [[study.form.label(job), *shown(job)]] if study.form.can(job) else []
        rows += published(job.label, printed[job.name], digits) if job.name in printed else []
    names = {job.name for job in jobs}
    for name, row in printed.items():
        rows += [] if name in names else published(name, row, digits)
    return table(["model", *heads], rows)


def published(label: str, row: Sequence[float | None], digits: int = 1) -> list[list[str]]:
    """A row of the paper's own numbers."""
    return [[f"*{label}, published*", *(GONE if value is None else f"*{value:.{digits}f}*" for value in row)]]
