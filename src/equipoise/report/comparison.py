"""A comparison for the terminal: differences, tests, groups that cannot be told apart, what flipped, gates."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from equipoise.comparing.flips import Flips
from equipoise.comparing.folders import Compared
from equipoise.comparing.gate import Passed
from equipoise.comparing.models import Placed
from equipoise.errors import printable
from equipoise.evaluation.record import METRICS, Comparison, Metric
from equipoise.report.tables import render_differences

_WIDEST = 1000
_CUT = 60  # characters of a text in a list


def render_compared(found: Compared, correction: str, gates: Sequence[Passed] = ()) -> str:
    """Everything that `compare` found, for people."""
    parts = [render_differences(found.differences), _tests(found.differences, correction)]
    parts += [_groups(name, placed, correction) for name, placed in found.groups.items() if placed]
    for one, flipped in zip(found.differences, found.flips, strict=True):
        parts.append(_flips(one, flipped))
    parts += [gate_line(gate) for gate in gates]
    return "\n".join(part for part in parts if part)


def _tests(found: Sequence[Comparison], correction: str) -> str:
    """One line a metric: p-values and what could have been found."""
    seeds = any(one.runs != (1, 1) for one in found)
    words = {"holm": "Holm", "fdr": "FDR"}[correction]
    header = ["benchmark", "after", "metric", "points", "p", f"p ({words})", "smallest detectable", "error: images"]
    header += ["seeds"] if seeds else []
    rows = []
    for one in found:
        for metric, name in METRICS.items():
            if (change := one[metric]) is None:
                continue
            cells = [one.benchmark, one.after, name, f"{100 * change.difference:+.2f}", _p(change.p)]
            cells += [_p(change.adjusted), *(_size(value) for value in (change.detectable, change.image_error))]
            rows.append(cells + ([_size(change.seed_error)] if seeds else []))
    caption = (
        f"p ({words}): corrected for all lines of this table; smallest detectable: the true difference in points that "
        "is found in 80 of 100 repetitions"
    )
    return _table(header, rows, 3, caption)


def _p(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}" if value > 0.0001 else "≤0.0001"


def _size(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.2f}"


def _groups(benchmark: str, placed: Mapping[Metric, Sequence[Placed]], correction: str) -> str:
    """The models from the best down by the first metric, each value with its letters."""
    metrics = list(placed)
    by_name = {metric: {one.model: one for one in placed[metric]} for metric in metrics}
    rows = []
    for one in placed[metrics[0]]:
        cells = [by_name[metric][one.model] for metric in metrics]
        rows.append([one.model, *(f"{100 * cell.value:.1f}  {cell.letters}" for cell in cells)])
    caption = (
        "Models that share a letter cannot be told apart (every pair tested, corrected by "
        f"{correction} within a metric); a is the best."
    )
    return _table([benchmark, *(METRICS[metric] for metric in metrics)], rows, len(metrics) + 1, caption)


def _flips(one: Comparison, flipped: Flips) -> str:
    if not (flipped.items or flipped.tags):
        return ""
    head = (
        f"{one.benchmark}, {one.after}: {flipped.gained:g} items became right (s(c) > every s(n)), {flipped.lost:g} "
        "became wrong"
    )
    lines = [printable(head)]
    if flipped.tags:
        cells = [
            [f"{tag.tag}={tag.value}", f"{tag.n:,}", f"{tag.gained:g}", f"{tag.lost:g}", f"{tag.net:+g}"]
            for tag in flipped.tags
        ]
        lines.append(_table(["tag", "n", "became right", "became wrong", "net"], cells, 1))
    if flipped.items:
        cells = []
        for item in flipped.items:
            texts = item.texts
            shown = [_cut(texts.caption), _cut(texts.negatives[0]) if texts.negatives else ""] if texts else ["", ""]
            way = "right" if item.change > 0 else "wrong"
            cells.append([_cut(item.id), way, f"{item.before:+.3f}", f"{item.after:+.3f}", *shown])
        lines.append(_table(["item", "became", "margin", "after", "caption", "negative"], cells, 2))
    return "\n".join(lines)


def _cut(text: str) -> str:
    return text if len(text) <= _CUT else text[: _CUT - 1] + "…"


def gate_line(gate: Passed) -> str:
    """One sentence on one gate."""
    words = {
        "worse": "FAILED: worse by more than allowed",
        "not shown": "passed: worse by more than allowed is not shown",
        "fine": "passed",
    }
    seen = "" if gate.visible is None else f"; a true loss of {gate.visible:.1f} points fails 80 times in 100"
    return printable(
        f"{gate.metric}:{gate.points:g} {words[gate.verdict]}: {gate.benchmark}, {gate.after}: loss "
        f"{gate.loss:+.2f} points [{gate.low:+.2f}, {gate.high:+.2f}]{seen}"
    )


def _table(header: Sequence[str], rows: Sequence[Sequence[str]], left: int, caption: str = "") -> str:
    table = Table()
    for index, name in enumerate(header):
        words = index < left or name in {"caption", "negative"}
        table.add_column(printable(name), justify="left" if words else "right", no_wrap=True)
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    output = io.StringIO()
    Console(file=output, width=_WIDEST, highlight=False).print(table)
    lines = [line.rstrip() for line in output.getvalue().rstrip().split("\n")]
    return "\n".join([*lines, caption] if caption else lines)  # under the table, where it need not wrap
