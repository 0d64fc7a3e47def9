"""The table of a model that answers: a row for each metric, because few of them fit side by side."""

from __future__ import annotations

from equipoise.evaluation.metrics import shown
from equipoise.report import Format
from equipoise.report.tables import Line, grid, percent, render


def answers_table(line: Line, form: Format, caption: str = "") -> str:
    """Each metric with its interval, n and chance."""
    if form in ("json", "csv"):
        return render([line], form)
    rows = []
    for row in shown([line.numbers.metrics], "answers"):
        chance = line.numbers.metrics[row.name].chance
        by_chance = "-" if chance is None else f"{100 * chance:.1f}"
        rows.append([row.title, percent(line.numbers, row.name), f"{line.numbers.count(row.name):,}", by_chance])
    return grid(form, (line.label, "percent", "n", "by chance"), rows, caption)
