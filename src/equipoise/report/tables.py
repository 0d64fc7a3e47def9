"""Results as tables: for the terminal, Markdown, LaTeX, CSV and JSON, with the papers' columns."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

from rich.console import Console
from rich.table import Table
from rich.text import Text

Format = Literal["text", "md", "latex", "csv", "json"]
FORMATS: tuple[str, ...] = get_args(Format)
HEADER = ("", "n", "Orig.", "Aug. (drop)", "Brittleness", "ties")


def result_rows(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The rows of one result: its headline (averaged as its paper does), then each split."""
    metrics, name = record["metrics"], record["benchmark"]["name"]
    average = metrics.get("macro")
    how = f"mean of {average['groups']} {'/'.join(average['over'])} groups" if average else "mean over items"
    whose = {"benchmark": name, "model": record["model"].get("spec")}
    rows = [
        {
            "label": name,
            **whose,
            "average": how,
            "chance": record["benchmark"]["chance"],
            "skipped": record["n"]["skipped"],
            **(average or metrics["overall"]),  # never a mixture of the two
            "paper": metrics["paper"],
        }
    ]
    parts = metrics["by"].get("split", {})
    if len(parts) > 1:
        rows += [{"label": f"  {part}", **whose, "average": "mean over items", **parts[part]} for part in parts]
    return rows


def metrics_rows(summary: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The rows of `equipoise metrics`: overall, then every tag and value."""
    rows = [{"label": "overall", **summary["overall"]}]
    for tag, values in summary["by"].items():
        rows += [{"label": f"{tag}={value}", **numbers} for value, numbers in values.items()]
    return rows


def render(rows: Sequence[Mapping[str, Any]], form: Format = "text", caption: str = "") -> str:
    """The rows in one of FORMATS. Percentages with 95% intervals; a dash where nothing was measured."""
    if form == "json":
        named = [{**row, "label": str(row["label"]).strip()} for row in rows]
        return json.dumps(named, indent=2, ensure_ascii=False)
    if form == "csv":
        return _csv(rows)
    cells = [_cells(row) for row in rows]
    if form == "md":
        lines = ["| " + " | ".join(HEADER) + " |", "|" + " --- |" * len(HEADER)]
        lines += ["| " + " | ".join(_markdown(cell) for cell in row) + " |" for row in cells]
        return "\n".join(lines + ([f"\n{caption}"] if caption else []))
    if form == "latex":
        return _latex(cells, caption)
    table = Table(caption=Text(caption) if caption else None, caption_justify="left")
    for index, name in enumerate(HEADER):
        table.add_column(name, justify="left" if index == 0 else "right", no_wrap=True)
    for row in cells:
        table.add_row(*map(Text, row))  # as Text: a tag like "[bold]" is somebody's word, not markup
    return _plain(table)


def _cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    augmented = percent(row, "augmented")
    if row.get("drop") is not None:
        augmented += f" ({_signed(-row['drop'])})"
    return (
        str(row["label"]),
        f"{row['n']:,}",
        percent(row, "original"),
        augmented,
        percent(row, "brittleness"),
        f"{row['ties']:,g}",
    )


def percent(row: Mapping[str, Any], name: str) -> str:
    """'61.6 [60.9, 62.3]' of a fraction and its interval."""
    value = row.get(name)
    if value is None:
        return "-"
    interval = (row.get("intervals") or {}).get(name)
    return f"{100 * value:.1f}" + (f" [{100 * interval[0]:.1f}, {100 * interval[1]:.1f}]" if interval else "")


def _signed(fraction: float) -> str:
    """'-14.8' points; what rounds to nothing has no sign of its own ('+0.0', never '-0.0')."""
    return f"{round(100 * fraction, 1) + 0.0:+.1f}"


def _csv(rows: Sequence[Mapping[str, Any]]) -> str:
    names = ("original", "augmented", "brittleness", "drop")
    fields = [name for name in ("benchmark", "label", "n", "skipped", "ties") if any(name in row for row in rows)]
    fields += [f"{name}{part}" for name in names for part in ("", "_low", "_high")]
    output = io.StringIO()
    writer = csv.DictWriter(output, fields, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for row in rows:
        record = {**row, "label": str(row["label"]).strip()}
        for name in names:
            low, high = (row.get("intervals") or {}).get(name, (None, None))
            record |= {f"{name}_low": low, f"{name}_high": high}
        writer.writerow(record)
    return output.getvalue().rstrip("\n")


_LATEX = str.maketrans(
    {character: f"\\{character}" for character in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
)


def _markdown(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _latex(cells: Sequence[Sequence[str]], caption: str) -> str:
    lines = [r"\begin{tabular}{l" + "r" * (len(HEADER) - 1) + "}", r"\toprule"]
    lines.append(" & ".join(HEADER) + r" \\")
    lines.append(r"\midrule")
    lines += [" & ".join(cell.strip().translate(_LATEX) for cell in row) + r" \\" for row in cells]
    lines += [r"\bottomrule", r"\end{tabular}"]
    return "\n".join(([f"% {caption}"] if caption else []) + lines)


def render_differences(found: Sequence[Mapping[str, Any]]) -> str:
    """Paired differences for the terminal: points, interval, and whether the interval leaves zero out."""
    table = Table(
        caption="after minus before, in points [95% interval, paired over images]; ~ the interval holds zero",
        caption_justify="left",
    )
    for index, name in enumerate(("benchmark", "before", "after", "n", "Orig.", "Aug.", "drop", "Brittleness")):
        table.add_column(name, justify="left" if index < 3 else "right", overflow="fold")
    for row in found:
        names = ("original", "augmented", "drop", "brittleness")
        cells = [_points(row[name]) if name in row else "-" for name in names]
        table.add_row(*map(Text, (row["benchmark"], row["before"], row["after"], f"{row['n']:,}", *cells)))
    return _plain(table)


def _points(number: Mapping[str, Any]) -> str:
    low, high = map(_signed, number["interval"])
    return f"{_signed(number['difference'])} [{low}, {high}]{' ' if number['clear'] else '~'}"


def _plain(table: Table) -> str:
    output = io.StringIO()
    Console(file=output, width=max(120, Console().width), highlight=False).print(table)
    return output.getvalue().rstrip()
