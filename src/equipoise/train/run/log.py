"""What a run tells while it runs: a bar, a line of JSON per step, and at the end a table and a plot."""

from __future__ import annotations

import csv
import json
import os
import time
from pathlib import Path
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from equipoise.core.files import atomic_write
from equipoise.core.progress import is_quiet
from equipoise.evaluation.metrics import SHARES
from equipoise.train.run.chart import line_chart

LOG = "log.jsonl"


def read_log(out: Path) -> list[dict[str, Any]]:
    """The records of a run so far; a last line cut short by a kill is left out."""
    path = out / LOG
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").split("\n")
    return [json.loads(line) for line in lines[:-1] if line]


def in_words(name: str, value: float) -> str:
    """One of our shares in percent, as everywhere; a number of somebody's own as it is."""
    return f"{100 * value:.1f} %" if name in SHARES else f"{value:.4f}"


class RunLog:
    """The log of one run, open for more. Records of steps after `step` (a kill lost them) are dropped."""

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
        self._last = time.monotonic()

    def __enter__(self) -> RunLog:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()
        self._handle.close()

    def steps(self, records: list[dict[str, Any]], images: int) -> None:
        """Records of the steps since the last call, which saw `images` images."""
        now = time.monotonic()
        rate = images / max(now - self._last, 1e-9)
        self._last = now
        for record in records:
            self._handle.write(json.dumps(record | {"images_per_s": round(rate, 1)}) + "\n")
        self._handle.flush()
        last = records[-1]
        text = f"loss {last['loss']:.3f}  {rate:,.0f} images/s"  # its parts are in the log: they do not fit a screen
        self._progress.update(self._task, completed=last["step"], description=text)

    def evaluation(self, step: int, metrics: dict[str, float]) -> None:
        self._handle.write(json.dumps({"step": step, "metrics": metrics}) + "\n")
        self._handle.flush()
        if not self._progress.disable:
            shown = "  ".join(f"{name} {in_words(name, value)}" for name, value in metrics.items())
            self._progress.console.print(f"step {step}{'' if step else ' (base)'}: {shown}")

    def stop(self) -> None:
        """Give the terminal back."""
        self._progress.stop()

    def pause(self) -> None:
        """The time since the last step (an evaluation, a checkpoint) is none of training's rate."""
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
