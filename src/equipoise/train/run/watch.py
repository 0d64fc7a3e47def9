"""Write a run's log, count unreadable images, and stop the run if the loss diverges."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import torch
from torch import Tensor

from equipoise.core.errors import UserError
from equipoise.train.data.batches import HARD_IMAGE, Batch
from equipoise.train.run.check import refuse_skipped
from equipoise.train.run.checkpoints import Checkpoints
from equipoise.train.run.log import RunLog

FIRST = 20  # steps whose median loss is the reference for divergence
LOST = 10.0  # times (that loss + 1): more is divergence
SKIPPED = "skipped_images.txt"


def read_skipped(out: Path) -> list[str]:
    """The problems of the items that a run has skipped so far."""
    path = out / SKIPPED
    return list(dict.fromkeys(path.read_text(encoding="utf-8").splitlines())) if path.exists() else []


def left_out(lines: list[str]) -> list[str]:
    """The lines of skipped items; an item whose hard image cannot be read is trained without it."""
    return [line for line in lines if f"{HARD_IMAGE}: " not in line]


@dataclass
class _Pending:
    step: int
    epoch: int
    ids: list[str]
    values: dict[str, Tensor]
    rate: float


class Watch:
    """Reads the numbers of `every` steps at once, because each read makes a GPU wait."""

    def __init__(self, checkpoints: Checkpoints, log: RunLog, every: int, items: int, max_skipped: float) -> None:
        self.checkpoints, self.log, self.every = checkpoints, log, every
        self.items, self.max_skipped = items, max_skipped
        self.skipped_path = checkpoints.out / SKIPPED
        self.skipped = read_skipped(checkpoints.out)
        self._pending: list[_Pending] = []
        self._first: list[float] = []

    def step(self, step: int, epoch: int, batch: Batch, values: dict[str, Tensor], rate: float) -> None:
        self._pending.append(_Pending(step, epoch, batch.ids, values, rate))
        lines = dict.fromkeys(" ".join(line.split()) for line in batch.skipped)
        if new := [line for line in lines if line not in self.skipped]:
            with self.skipped_path.open("a", encoding="utf-8") as handle:
                handle.writelines(line + "\n" for line in new)
            self.skipped = read_skipped(self.checkpoints.out)  # from all processes
            refuse_skipped(left_out(self.skipped), self.items, self.max_skipped)
        if len(self._pending) >= self.every:
            self.flush()

    def flush(self) -> None:
        """Write the steps so far to the log; raise if the loss is not finite or diverges."""
        if not self._pending:
            return
        pending, self._pending = self._pending, []
        flat = torch.stack([value.float() for row in pending for value in row.values.values()]).tolist()
        numbers = iter(flat)
        records: list[dict[str, object]] = []
        for row in pending:
            values = {name: next(numbers) for name in row.values}
            self._judge(row, values)
            parts = {name.removeprefix("parts/"): v for name, v in values.items() if name.startswith("parts/")}
            plain = {name: v for name, v in values.items() if not name.startswith("parts/")}
            records.append({"step": row.step, "epoch": row.epoch, **plain, "parts": parts, "lr": row.rate})
        self.log.steps(records, sum(len(row.ids) for row in pending))

    def _judge(self, row: _Pending, values: dict[str, float]) -> None:
        loss = values["loss"]
        if all(map(math.isfinite, values.values())):
            if len(self._first) < FIRST:
                self._first.append(abs(loss))
                return
            usual = median(self._first)
            if loss <= LOST * (usual + 1):
                return
            what = f"the loss diverges: it is {loss:.4g} and began at {usual:.4g}"
        else:
            what = "not a number: " + ", ".join(f"{name} {v}" for name, v in values.items() if not math.isfinite(v))
        last = self.checkpoints.pointed("latest")
        good = f"the last good checkpoint is {last}" if last else "no checkpoint was written before"
        shown = ", ".join(row.ids[:10]) + (f" and {len(row.ids) - 10} more" if len(row.ids) > 10 else "")
        raise UserError(f"step {row.step}: {what}; {good}. Try a lower learning rate. Items of the batch: {shown}")
