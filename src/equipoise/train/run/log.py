"""The output of a run: a progress bar, a line of JSON per step, and at the end a table and a plot."""

from __future__ import annotations

import csv
import json
import math
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import groupby
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from equipoise.core import status
from equipoise.core.files import atomic_write
from equipoise.core.progress import is_quiet
from equipoise.evaluation.metrics import SHARES

LOG = "log.jsonl"


def read_log(out: Path) -> list[dict[str, Any]]:
    """The records of a run so far, without a last line cut short by a kill."""
    lines = (out / LOG).read_text(encoding="utf-8").split("\n") if (out / LOG).exists() else []
    return [json.loads(line) for line in lines[:-1] if line]


def in_words(name: str, value: float) -> str:
    """Our metrics in percent; a user's own metric as it is."""
    return f"{100 * value:.1f} %" if name in SHARES else f"{value:.4f}"


class RunLog:
    """The log of one run. Records after `step`, of steps that a kill lost, are dropped."""

    def __init__(self, out: Path, step: int, steps: int, show: bool = True, write: bool = True) -> None:
        self.out = out
        if write:
            kept = [record for record in read_log(out) if record["step"] <= step] if step else []
            with atomic_write(out / LOG) as handle:
                handle.writelines(json.dumps(record) + "\n" for record in kept)
        self._handle = (out / LOG if write else Path(os.devnull)).open("a", encoding="utf-8")
        self._progress = Progress(
            TextColumn("step"),
            MofNCompleteColumn(),
            BarColumn(bar_width=20),
            TextColumn("{task.description}"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            disable=not show or is_quiet(),
        )
        self._task = self._progress.add_task("", total=steps, completed=step)
        self._bar = status.Bar("training", "steps", steps, step)
        self._shown = status.showing([self._bar])
        self._last = time.monotonic()

    def __enter__(self) -> RunLog:
        self._progress.start()
        self._shown.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._shown.__exit__(None, None, None)
        self._progress.stop()
        self._handle.close()

    def steps(self, records: list[dict[str, Any]], images: int) -> None:
        """Write records of the steps since the last call, which used `images` images."""
        now = time.monotonic()
        rate = images / max(now - self._last, 1e-9)
        self._last = now
        for record in records:
            self._handle.write(json.dumps(record | {"images_per_s": round(rate, 1)}) + "\n")
        self._handle.flush()
        last = records[-1]
        self._bar.done = last["step"]
        text = f"loss {last['loss']:.3f}  {rate:,.0f} images/s"  # the parts of the loss are in the log
        self._progress.update(self._task, completed=last["step"], description=text)

    def evaluation(self, step: int, metrics: dict[str, float]) -> None:
        self._handle.write(json.dumps({"step": step, "metrics": metrics}) + "\n")
        self._handle.flush()
        if not self._progress.disable:
            shown = "  ".join(f"{name} {in_words(name, value)}" for name, value in metrics.items())
            self._progress.console.print(f"step {step}{'' if step else ' (base)'}: {shown}")

    def stop(self) -> None:
        self._progress.stop()

    def pause(self) -> None:
        """Leave the time since the last step (an evaluation, a checkpoint) out of the rate."""
        self._last = time.monotonic()


def write_summary(out: Path) -> None:
    """loss.csv and loss.svg of the whole run."""
    records = [record for record in read_log(out) if "loss" in record]
    if not records:
        return
    parts = list(dict.fromkeys(name for record in records for name in record["parts"]))
    with atomic_write(out / "loss.csv") as handle:
        writer = csv.writer(handle, lineterminator="\n")
        writer.writerow(["step", "epoch", "loss", *parts, "learning_rate", "scale"])
        for record in records:
            values = [record["parts"].get(part, "") for part in parts]
            writer.writerow([record["step"], record["epoch"], record["loss"], *values, record["lr"], record["scale"]])
    lines = {"loss": [(record["step"], record["loss"]) for record in records]}
    for part in parts:
        lines[part] = [(record["step"], record["parts"].get(part, float("nan"))) for record in records]
    with atomic_write(out / "loss.svg") as handle:
        handle.write(line_chart(lines, "step", "loss (parts unweighted)"))


Point = tuple[float, float]

_WIDTH, _HEIGHT = 800, 450
_LEFT, _TOP, _BOTTOM = 70, 20, 55
_COLOURS = ("#000000", "#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b", "#e377c2")
_TEXT = '<text x="{:.1f}" y="{:.1f}" {}>{}</text>'
_LINE = '<line x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}" stroke="{}" stroke-width="{}"/>'


def line_chart(lines: Mapping[str, Sequence[Point]], x_label: str, y_label: str) -> str:
    """An SVG line chart: one line per name, the first in black; a line breaks where its value is not finite."""
    right = _WIDTH - 50 - 8 * max(map(len, lines))  # the names are to the right
    bottom = _HEIGHT - _BOTTOM
    known = [(x, y) for points in lines.values() for x, y in points if math.isfinite(y)] or [(0.0, 0.0)]
    x_ticks, y_ticks = _ticks([x for x, _ in known], least=1), _ticks([y for _, y in known])

    def place(point: Point) -> Point:
        across = (point[0] - x_ticks[0]) / (x_ticks[-1] - x_ticks[0])
        up = (point[1] - y_ticks[0]) / (y_ticks[-1] - y_ticks[0])
        return _LEFT + across * (right - _LEFT), bottom - up * (bottom - _TOP)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" height="{_HEIGHT}" '
        'font-family="sans-serif" font-size="13">',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>',
        _TEXT.format((_LEFT + right) / 2, _HEIGHT - 12, 'text-anchor="middle"', escape(x_label)),
        _TEXT.format(-(_TOP + bottom) / 2, 18, 'text-anchor="middle" transform="rotate(-90)"', escape(y_label)),
    ]
    for tick in x_ticks:
        x, _ = place((tick, y_ticks[0]))
        parts.append(_LINE.format(x, _TOP, x, bottom, "#dddddd", 1))
        parts.append(_TEXT.format(x, bottom + 18, 'text-anchor="middle"', f"{tick:.6g}"))
    for tick in y_ticks:
        _, y = place((x_ticks[0], tick))
        parts.append(_LINE.format(_LEFT, y, right, y, "#dddddd", 1))
        parts.append(_TEXT.format(_LEFT - 8, y + 4, 'text-anchor="end"', f"{tick:.6g}"))
    for index, (name, points) in enumerate(lines.items()):
        colour, width = _COLOURS[index % len(_COLOURS)], 1 if index else 2
        for finite, run in groupby(points, key=lambda point: math.isfinite(point[1])):
            if finite:
                drawn = " ".join(f"{x:.1f},{y:.1f}" for x, y in _visible(map(place, run)))
                style = f'fill="none" stroke="{colour}" stroke-width="{width}" stroke-linecap="round"'
                parts.append(f'<polyline points="{drawn}" {style}/>')
        row = _TOP + 10 + 20 * index
        parts.append(_LINE.format(right + 12, row, right + 32, row, colour, width))
        parts.append(_TEXT.format(right + 38, row + 4, "", escape(name)))
    return "\n".join([*parts, "</svg>", ""])


def _visible(points: Iterable[Point]) -> Iterable[Point]:
    """The lowest and highest point per pixel: a long run gives a small file and keeps its peaks."""
    for _, column in groupby(points, key=lambda point: int(point[0])):
        by_height = sorted(column, key=lambda point: point[1])
        yield from sorted((by_height[0], by_height[-1]))  # a single point comes twice and is drawn as a dot


def _ticks(values: Sequence[float], least: float = 0.0) -> list[float]:
    """About ten round numbers that span the values, at least `least` apart."""
    low, high = min(values), max(values)
    if high - low < 1e-9 * max(abs(low), abs(high), 1.0):
        low, high = low - 0.5, high + 0.5
    rough = (high - low) / 8
    power = 10.0 ** math.floor(math.log10(rough))
    step = max(least, next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * 0.999))
    return [round(index * step, 12) for index in range(math.floor(low / step), math.ceil(high / step) + 1)]
