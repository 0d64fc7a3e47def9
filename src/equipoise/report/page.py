"""One self-contained HTML page for a set of runs: the table, what changed, examples, provenance.

No scripts, no fonts, no requests: the page can be mailed, archived and opened in ten years.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from equipoise.evaluation.record import METRICS, SHARES, Metric, Numbers
from equipoise.files import atomic_write
from equipoise.report.tables import percent


@dataclass(frozen=True)
class Row:
    """One model: a label, a sentence on what it is, and its numbers by column (a benchmark or an average)."""

    label: str
    about: str
    numbers: Mapping[str, Numbers]


@dataclass(frozen=True)
class Example:
    """One item with what each model made of it."""

    image: bytes  # PNG
    caption: str
    positive: str
    negative: str
    scores: Mapping[str, tuple[float, float, float]]  # model label -> caption, positive, negative


@dataclass(frozen=True)
class Page:
    title: str
    lead: str
    columns: Mapping[str, str]  # column key -> heading
    rows: Sequence[Row]
    findings: Sequence[str]
    tables: Sequence[tuple[str, str, Sequence[Row], Mapping[str, str]]] = ()  # heading, note, rows, columns
    examples: Sequence[Example] = ()
    notes: Sequence[str] = ()
    provenance: Mapping[str, str] = field(default_factory=dict)


def write_page(path: str | Path, page: Page) -> None:
    environment = Environment(
        loader=PackageLoader("equipoise.report"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    environment.filters |= {"data_uri": _data_uri, "points": _points}
    environment.globals |= {
        "percent": percent,
        "metrics": {name: METRICS[name] for name in SHARES},
        "verdict": verdict,
        "share": _share,
        "spread": _spread,
    }
    text = environment.get_template("page.html").render(page=page)
    with atomic_write(path) as handle:
        handle.write(text)


def verdict(scores: tuple[float, float, float]) -> str:
    """What a model made of caption, positive and negative; the words of the metrics."""
    caption, positive, negative = scores
    if negative in (caption, positive):
        return "tie"
    above = [caption > negative, positive > negative]
    return "right" if all(above) else "brittle" if any(above) else "wrong"


def _share(numbers: Numbers, name: Metric) -> str:
    return percent(numbers, name).partition(" ")[0]


def _spread(numbers: Numbers, name: Metric) -> str:
    return percent(numbers, name).partition(" ")[2]


def _data_uri(image: bytes) -> str:
    return "data:image/png;base64," + base64.b64encode(image).decode()


def _points(value: float) -> str:
    return f"{100 * value:+.1f}"
