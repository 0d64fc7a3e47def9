"""Results as tables: for the terminal, Markdown, LaTeX, CSV and JSON, with the papers' columns."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from equipoise.errors import printable
from equipoise.evaluation.record import (
    METRICS,
    Change,
    Comparison,
    Elsewhere,
    ItemNumbers,
    MacroNumbers,
    MeanScores,
    Metric,
    Metrics,
    Numbers,
    PaperNumbers,
    RunRecord,
    Summary,
)
from equipoise.report import Format

HEADER = ("", "n", "Orig.", "Aug. (drop)", "Brittleness", "ties")
SCORES = {"caption": "s(c)", "positive": "s(p)", "negative": "s(n)"}  # mean scores; Kamath et al. 2024, Tables 2 and 9

_WIDEST = 1000  # a table is as wide as its cells: a number cut off by a narrow terminal would be lost


@dataclass(frozen=True)
class Line:
    """One line of a table: what it is called, its numbers, and for programs what they belong to."""

    label: str
    numbers: Numbers
    benchmark: str | None = None
    model: str | None = None
    average: str | None = None
    averages: Mapping[str, Any] | None = None  # every rule's numbers
    chance: Mapping[str, float] | None = None
    skipped: int | None = None
    paper: Mapping[str, PaperNumbers] | None = None
    outcomes_only: bool | None = None  # True: no score was published

    def to_json(self) -> dict[str, Any]:
        """Everything that is known; metrics that were not measured are null."""
        about = {name: value for name, value in vars(self).items() if name != "numbers" and value is not None}
        return about | {"label": self.label.strip()} | self.numbers.model_dump(mode="json")


def result_rows(record: RunRecord, rule: str | None = None) -> list[Line]:
    """The lines of one result: its headline (averaged as its paper does, or by the rule named), then each split."""
    metrics, name, spec = record.metrics, record.benchmark.name, record.model.spec
    numbers = metrics.by_rule(rule)
    lines = [
        Line(
            label=name,
            numbers=numbers,  # of one average alone, never a mixture of two
            benchmark=name,
            model=spec,
            average=average_words(numbers),
            averages={rule: one.model_dump(mode="json") for rule, one in metrics.averages.items()} or None,
            chance=record.benchmark.chance,
            skipped=record.n.skipped,
            paper=metrics.paper,
        )
    ]
    parts = metrics.by.get("split", {})
    if len(parts) > 1:
        lines += [Line(f"  {part}", parts[part], name, spec, "mean over items") for part in parts]
    return lines


def average_words(numbers: Numbers) -> str:
    """How numbers are averaged, the rule's name first."""
    if not isinstance(numbers, MacroNumbers):
        return "mean over items"
    rule = f"{numbers.rule}: " if numbers.rule else ""
    return f"{rule}mean of {numbers.groups} {'/'.join(numbers.over)} groups"


def metrics_rows(summary: Summary, benchmark: str | None = None, rule: str | None = None) -> list[Line]:
    """The lines of `equipoise metrics`: a benchmark's headline and its other averages, overall, every tag and value."""
    lines: list[Line] = []
    if isinstance(summary, Metrics):
        shown = summary.by_rule(rule)
        lines += [Line(benchmark or "headline", shown, benchmark, average=average_words(shown), paper=summary.paper)]
        lines += [
            Line(f"average={name}", one, benchmark, average=average_words(one))
            for name, one in summary.averages.items()
        ]
    lines.append(Line("overall", summary.overall))
    for tag, values in summary.by.items():
        lines += [Line(f"{tag}={value}", numbers) for value, numbers in values.items()]
    if isinstance(summary, Elsewhere) and summary.outcomes_only:
        lines = [replace(line, label=f"{line.label} (outcomes only)", outcomes_only=True) for line in lines]
    return lines


def render(lines: Sequence[Line], form: Format = "text", caption: str = "") -> str:
    """The lines in one of FORMATS. Percentages with 95% intervals; a dash where nothing was measured."""
    if form == "json":
        return json.dumps([line.to_json() for line in lines], indent=2)  # in ASCII: no code of a terminal survives
    if form == "csv":
        return _csv(lines)
    scored = any(_mean_scores(line.numbers).caption is not None for line in lines)
    header = (*HEADER, *SCORES.values()) if scored else HEADER
    cells = [_cells(line)[: len(header)] for line in lines]
    if form == "md":
        written = ["| " + " | ".join(header) + " |", "|" + " --- |" * len(header)]
        written += ["| " + " | ".join(_markdown(cell) for cell in row) + " |" for row in cells]
        return "\n".join([*written, "", *map(_markdown, caption.splitlines())] if caption else written)
    if form == "latex":
        return _latex(header, cells, caption)
    table = Table(caption=Text(printable(caption, lines=True)) if caption else None, caption_justify="left")
    for index, name in enumerate(header):
        table.add_column(name, justify="left" if index == 0 else "right", no_wrap=True)
    for row in cells:
        # as Text: a tag like "[bold]" is somebody's word, not markup
        table.add_row(*(Text(printable(cell)) for cell in row))
    return _plain(table, width=_WIDEST)


def _cells(line: Line) -> tuple[str, ...]:
    numbers = line.numbers
    augmented = percent(numbers, "augmented")
    if numbers.drop is not None:
        augmented += f" ({_signed(-numbers.drop)})"
    return (
        line.label,
        f"{numbers.n:,}",
        percent(numbers, "original"),
        augmented,
        percent(numbers, "brittleness"),
        "-" if numbers.ties is None else f"{numbers.ties:,g}",
        *(_score(getattr(_mean_scores(numbers), part)) for part in SCORES),
    )


def _mean_scores(numbers: Numbers) -> MeanScores:
    """What the model gave caption, positives and negatives on average; of several runs it is not known."""
    found = numbers.mean_scores if isinstance(numbers, ItemNumbers | MacroNumbers) else None
    return found or MeanScores(caption=None, positive=None, negative=None)


def _score(value: float | None) -> str:
    """Three digits, as the paper prints cosines; other people's scores have other scales."""
    return "-" if value is None else f"{value:.3f}" if abs(value) < 1000 else f"{value:.3g}"


def percent(numbers: Numbers, name: Metric) -> str:
    """'61.6 [60.9, 62.3]' of a fraction and its interval."""
    value, interval = numbers[name], numbers.intervals.get(name)
    if value is None:
        return "-"
    return f"{100 * value:.1f}" + (f" [{100 * interval.low:.1f}, {100 * interval.high:.1f}]" if interval else "")


def _signed(fraction: float) -> str:
    """'-14.8' points; what rounds to nothing has no sign of its own ('+0.0', never '-0.0')."""
    return f"{round(100 * fraction, 1) + 0.0:+.1f}"


def _csv(lines: Sequence[Line]) -> str:
    rows = [line.to_json() for line in lines]
    about = ("benchmark", "label", "average", "n", "skipped", "ties")
    fields = [name for name in about if any(name in row for row in rows)]
    fields += [f"{name}{part}" for name in METRICS for part in ("", "_low", "_high")]
    fields += [f"mean_score_{part}" for part in SCORES]
    output = io.StringIO()
    writer = csv.DictWriter(output, fields, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for line, row in zip(lines, rows, strict=True):
        for name, interval in line.numbers.intervals.items():
            row |= {f"{name}_low": interval.low, f"{name}_high": interval.high}
        row |= {f"mean_score_{part}": getattr(_mean_scores(line.numbers), part) for part in SCORES}
        writer.writerow({name: _cell(value) for name, value in row.items()})
    return output.getvalue().rstrip("\n")


_LATEX = str.maketrans(
    {character: f"\\{character}" for character in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
)


_HTML = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def _markdown(text: str) -> str:
    """No HTML, no links (javascript: among them), no new cell: a tag is somebody's word."""
    safe = printable(" ".join(text.split())).translate(_HTML).replace("](", "]\\(")
    return safe.replace("\\|", "\\&#124;").replace("|", "\\|")  # after a backslash \| would be a backslash and a cell


def _cell(value: Any) -> Any:
    """A text that a spreadsheet would take for a formula gets the apostrophe that makes it text."""
    if not isinstance(value, str):
        return value
    return printable(f"'{value}" if value.startswith(("=", "+", "-", "@", "\t", "\r")) else value)


def _latex(header: Sequence[str], cells: Sequence[Sequence[str]], caption: str) -> str:
    lines = [r"\begin{tabular}{l" + "r" * (len(header) - 1) + "}", r"\toprule"]
    lines.append(" & ".join(header) + r" \\")
    lines.append(r"\midrule")
    lines += [" & ".join(printable(cell.strip()).translate(_LATEX) for cell in row) + r" \\" for row in cells]
    lines += [r"\bottomrule", r"\end{tabular}"]
    return "\n".join([f"% {printable(line)}" for line in caption.splitlines()] + lines)


def render_differences(found: Sequence[Comparison]) -> str:
    """Paired differences for the terminal: points, interval, and whether the interval leaves zero out."""
    table = Table(
        caption="after minus before, in points [95% interval, paired over images]; ~ the interval holds zero",
        caption_justify="left",
    )
    shown: dict[Metric, str] = {"original": "Orig.", "augmented": "Aug.", "drop": "drop", "brittleness": "Brittleness"}
    for index, name in enumerate(("benchmark", "before", "after", "n", *shown.values())):
        table.add_column(name, justify="left" if index < 3 else "right", overflow="fold")
    for one in found:
        cells = [_points(change) if (change := one[metric]) else "-" for metric in shown]
        shown_cells = (f"{one.benchmark} ({one.average})", one.before, one.after, f"{one.n:,}", *cells)
        table.add_row(*(Text(printable(cell)) for cell in shown_cells))
    notes = dict.fromkeys(printable(f"note: {note}") for one in found for note in one.notes)
    return "\n".join([_plain(table), *notes])


def _points(change: Change) -> str:
    low, high = map(_signed, change.interval)
    return f"{_signed(change.difference)} [{low}, {high}]{' ' if change.clear else '~'}"


def _plain(table: Table, width: int = 0) -> str:
    output = io.StringIO()
    Console(file=output, width=width or max(120, Console().width), highlight=False).print(table)
    return output.getvalue().rstrip()
