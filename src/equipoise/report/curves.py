"""The curves of a training run, from its log.jsonl: losses, thresholds, watched metrics, rate, gradient norm, speed."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

from markupsafe import Markup

from equipoise.core.errors import printable
from equipoise.core.files import read_text
from equipoise.core.run_folder import claim_of, write_own
from equipoise.evaluation.metrics import METRICS
from equipoise.report.html import (
    XY,
    at,
    axis,
    el,
    figure,
    key,
    line,
    model_mark,
    page_part,
    table,
    templates,
    ticks,
    visible,
)
from equipoise.train.run.log import read_log

PAGE = "curves.html"
MARK = '<meta name="generator" content="equipoise train">'
HEIGHT, COLUMNS = 220.0, 600  # pixels; columns of which each keeps its lowest and highest point
DASHES = (None, "8 3", "2 2", "9 3 2 3")
THRESHOLD = "threshold_"
LogRow = Mapping[str, Any]


@dataclass(frozen=True)
class Curve:
    name: str
    points: Sequence[XY]  # step, value
    spread: Mapping[float, XY] = field(default_factory=dict)  # step -> both ends of the interval


def write_curves(out: Path) -> Path | None:
    """Write the page of a run next to its log and return its path; None if nothing was logged."""
    rows = read_log(out)
    if not any("loss" in row for row in rows):
        return None
    recipe = (claim_of(out / "run.json") or {}).get("run", {}).get("recipe", "training")
    page = templates("equipoise.report").get_template("curves.html")
    said, drawn = findings(out, rows), curves(out, rows)
    text = page.render(recipe=printable(str(recipe)), said=said, figures=drawn, style=page_part("report.css"))
    write_own(out / PAGE, text, MARK)
    return out / PAGE


def curves(out: Path, rows: Sequence[LogRow]) -> Markup:
    """The figures of a run; `rows` are those of `read_log(out)`."""
    steps = [row for row in rows if "loss" in row]
    judged = [row for row in rows if "metrics" in row]
    last = max((row["step"] for row in rows), default=1) or 1
    marks = _marks(out, judged)
    names = list(dict.fromkeys(name for row in steps for name in row["parts"]))
    parts = {name: _points(steps, [row["parts"].get(name) for row in steps]) for name in names}
    losses = [Curve("loss", _points(steps, [row["loss"] for row in steps]))]
    losses += [Curve(name, points) for name, points in parts.items() if not name.startswith(THRESHOLD)]
    thresholds = [Curve(name.removeprefix(THRESHOLD), parts[name]) for name in names if name.startswith(THRESHOLD)]
    single = (
        ("Learning rate", "What the optimizer used at each step.", "lr"),
        ("Gradient norm", "Of all trained weights, before clipping.", "gradient_norm"),
        ("Speed", "Images per second, without evaluations and checkpoints.", "images_per_s"),
    )
    drawn = [
        _watched(judged, last, marks),
        _chart("Loss", "The loss and its parts, which are not weighted.", losses, last, marks),
        _chart("Thresholds", "The margins that the ranking loss asks for, in logits.", thresholds, last, marks),
        *(
            _chart(title, how, [Curve(title, _points(steps, [row.get(of) for row in steps]))], last, marks)
            for title, how, of in single
        ),
    ]
    return el("div", *(drawing for drawing in drawn if drawing is not None), class_="figures")


def _points(rows: Sequence[LogRow], values: Sequence[float | None]) -> list[XY]:
    return [(row["step"], math.nan if value is None else value) for row, value in zip(rows, values, strict=True)]


def chosen(out: Path) -> int | None:
    """The step of the best checkpoint."""
    path = out / "best"
    number = read_text(path).strip().removeprefix("step-") if path.is_file() else ""
    return int(number) if number.isdecimal() else None


def turn(judged: Sequence[LogRow]) -> tuple[LogRow, LogRow] | None:
    """The evaluation with the highest Augmented accuracy, and the first after it with a higher Original and a lower
    Augmented accuracy: from there on the model learns that any change of words is wrong."""
    known = [row for row in judged if {"original", "augmented"} <= row["metrics"].keys()]
    if not known:
        return None
    peak = max(known, key=lambda row: row["metrics"]["augmented"])
    top = peak["metrics"]
    for row in known:
        now = row["metrics"]
        if row["step"] > peak["step"] and now["original"] > top["original"] and now["augmented"] < top["augmented"]:
            return peak, row
    return None


def findings(out: Path, rows: Sequence[LogRow]) -> list[str]:
    """The chosen checkpoint, and where Original rises while Augmented falls, as sentences."""
    judged = [row for row in rows if "metrics" in row]
    said = []
    best = chosen(out)
    if (row := next((row for row in judged if row["step"] == best and best), None)) is not None:
        shown = ", ".join(f"{_title(name)} {_value(row, name)}" for name in row["metrics"])
        said.append(f"Chosen checkpoint: step {best:,} ({shown}).")
    if (found := turn(judged)) is not None:
        peak, row = found
        moved = " and ".join(
            f"{_title(name)} {verb} from {_value(peak, name)} to {_value(row, name)}"
            for name, verb in (("original", "rises"), ("augmented", "falls"))
        )
        ends = [row.get("intervals", {}).get("augmented") for row in found]
        unsure = " The intervals of Augmented overlap: this may be chance." if _overlap(*ends) else ""
        said.append(f"From step {peak['step']:,} to step {row['step']:,} {moved}.{unsure}")
    return said


def _overlap(first: Sequence[float] | None, second: Sequence[float] | None) -> bool:
    return first is not None and second is not None and max(first[0], second[0]) <= min(first[1], second[1])


def _title(name: str) -> str:
    return METRICS[name].title if name in METRICS else printable(name)


def _value(row: LogRow, name: str) -> str:
    """Our metrics in percent with interval and n; a user's own metric as it is."""
    value, ends, n = row["metrics"][name], row.get("intervals", {}).get(name), row.get("n", {}).get(name)
    if name not in METRICS:
        return f"{value:.4g}"
    spread = "" if ends is None else f" [{100 * ends[0]:.1f}, {100 * ends[1]:.1f}]"
    return f"{100 * value:.1f}%{spread}" + ("" if n is None else f" of {n:,}")


def _marks(out: Path, judged: Sequence[LogRow]) -> list[tuple[int, str]]:
    """Steps that every figure marks."""
    marks = [] if (best := chosen(out)) is None else [(best, "chosen")]
    turned = turn(judged)
    return marks if turned is None else [*marks, (turned[1]["step"], "Original ↑ Augmented ↓")]


def _watched(judged: Sequence[LogRow], last: int, marks: Sequence[tuple[int, str]]) -> Markup | None:
    names = [name for name in dict.fromkeys(name for row in judged for name in row["metrics"]) if name in METRICS]
    lines = []
    for name in names:
        there = [row for row in judged if name in row["metrics"]]
        ends = {row["step"]: row.get("intervals", {}).get(name) for row in there}
        spread = {step: (100 * low, 100 * high) for step, (low, high) in ((s, e) for s, e in ends.items() if e)}
        lines.append(Curve(_title(name), [(row["step"], 100 * row["metrics"][name]) for row in there], spread))
    data = [[f"{row['step']:,}", *(_value(row, name) if name in row["metrics"] else "-" for name in names)]
            for row in judged]  # fmt: skip
    words = "Percent of the watched items, with 95% intervals. Step 0 is the base model. The best checkpoint is chosen "
    words += "by Augmented accuracy, because Original also rises when a model rejects every change."
    return _chart("Watched metrics", words, lines, last, marks, table(["step", *map(_title, names)], data), dots=True)


def _chart(
    title: str,
    how: str,
    lines: Sequence[Curve],
    last: int,
    marks: Sequence[tuple[int, str]],
    data: Markup | None = None,
    dots: bool = False,
) -> Markup | None:
    """One figure; `dots` marks every point, for curves of few points. None without a finite value."""
    lines = [curve for curve in lines if any(math.isfinite(value) for _, value in curve.points)]
    values = [value for curve in lines for _, value in curve.points if math.isfinite(value)]
    if not values:
        return None
    up = ticks([*values, *(end for curve in lines for ends in curve.spread.values() for end in ends)], about=4)

    def across(step: float) -> float:
        return 100 * step / last

    def height(value: float) -> float:
        return HEIGHT * (up[-1] - value) / (up[-1] - up[0])

    drawn = []
    for tick in up:
        drawn.append(line((0, 100), (height(tick),) * 2, "grid"))
        drawn.append(el("text", f"{tick:g}", x=2, y=height(tick) + (13 if tick == up[-1] else -4)))
    for number, (marked, word) in enumerate(marks):
        x = across(marked)
        anchor, shift = ("end", -5) if x > 50 else ("start", 5)
        drawn.append(line((x, x), (0, HEIGHT), "chance"))
        drawn.append(el("text", word, x=f"{x:.2f}%", dx=shift, y=13 + 15 * number, text_anchor=anchor, class_="label"))
    paths, dotted, legend = [], [], []
    for number, curve in enumerate(lines):
        shape, colour = model_mark(number)
        dash = DASHES[number % len(DASHES)]
        paths.append(_path(curve.points, last, height, colour, dash))
        if dots:
            legend.append(key(shape, colour, curve.name))
            for step, value in curve.points:
                x = across(step) + 0.6 * number  # intervals of one step stand side by side
                if (ends := curve.spread.get(step)) is not None:
                    dotted.append(line((x, x), (height(ends[0]), height(ends[1])), f"spread {colour}"))
                dotted.append(at(x, height(value), shape, colour, f"step {step:,}: {curve.name} {value:.1f}"))
        elif len(lines) > 1:
            sample = el("path", d="M0 7H26", class_=f"curve {colour}", stroke_dasharray=dash)
            legend.append(el("span", el("svg", sample, width=26, height=14), printable(curve.name), class_="key"))
    size = {"viewBox": f"0 0 {COLUMNS} {HEIGHT:g}", "preserveAspectRatio": "none"}
    inner = el("svg", *paths, width="100%", height=HEIGHT, **size)
    label = f"{title} by step: {', '.join(curve.name for curve in lines)}"
    plot = el("svg", *drawn, inner, *dotted, class_="plane", width="100%", height=HEIGHT, role="img", aria_label=label)
    below = axis(sorted({round(last * quarter / 4) for quarter in range(5)}), 0, last)
    shown = [plot, below, el("p", "step →", class_="axis-name end")]
    shown += [el("p", *legend, class_="legend")] if legend else []
    return figure(title, how, Markup("").join(shown), _summary(lines) if data is None else data)


def _path(points: Sequence[XY], last: int, height: Callable[[float], float], colour: str, dash: str | None) -> Markup:
    """A curve, which breaks where its value is not finite."""
    placed = [(COLUMNS * step / last, value) for step, value in points]
    path = ""
    for finite, run in groupby(placed, key=lambda point: math.isfinite(point[1])):
        if finite:
            path += "M" + "L".join(f"{x:.1f} {height(value):.1f}" for x, value in visible(run))
    return el("path", d=path, class_=f"curve {colour}", stroke_dasharray=dash)


def _summary(lines: Sequence[Curve]) -> Markup:
    rows = []
    for curve in lines:
        values = [value for _, value in curve.points if math.isfinite(value)]
        numbers = values[0], min(values), max(values), values[-1]
        rows.append([printable(curve.name), *(f"{number:.4g}" for number in numbers)])
    return table(["", "first", "lowest", "highest", "last"], rows)
