"""Looks after a run: writes its log, counts unreadable images, and stops it when the loss is lost."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import torch
from torch import Tensor

from equipoise.core.errors import UserError
from equipoise.train.data.batches import HARD_IMAGE, Batch
from equipoise.train.run.check import refuse_skipped
from equipoise.train.run.checkpoints import Checkpoints
from equipoise.train.run.log import RunLog

FIRST = 20  # steps; divergence is measured against their median loss
LOST = 10.0  # so many times that, plus as much again, is no noise of a batch


SKIPPED = "skipped_images.txt"


def read_skipped(out: Path) -> list[str]:
    """What was wrong with each item that a run left out so far, each once."""
    path = out / SKIPPED
    return list(dict.fromkeys(path.read_text(encoding="utf-8").splitlines())) if path.exists() else []


def left_out(lines: list[str]) -> list[str]:
    """Those of items that were skipped; an item whose hard image cannot be read is trained without it."""
    return [line for line in lines if f"{HARD_IMAGE}: " not in line]


@dataclass
class _Pending:
    step: int
    epoch: int
    ids: list[str]
    values: dict[str, Tensor]
    rate: float


class Watch:
    """Reads the numbers of `every` steps at once: asking a GPU for a number makes it wait."""

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
            self.skipped = read_skipped(self.checkpoints.out)  # of all processes
            refuse_skipped(left_out(self.skipped), self.items, self.max_skipped)
        if len(self._pending) >= self.every:
            self.flush()

    def flush(self) -> None:
        """Write what is known of the steps so far; raises where the loss is not a number or diverges."""
        if not self._pending:
            return
        pending, self._pending = self._pending, []
        flat = torch.stack([value.float() for one in pending for value in one.values.values()]).tolist()
        numbers = iter(flat)
        records: list[dict[str, Any]] = []
        for one in pending:
            values = {name: next(numbers) for name in one.values}
            self._judge(one, values)
            parts = {name.removeprefix("parts/"): v for name, v in values.items() if name.startswith("parts/")}
            plain = {name: v for name, v in values.items() if not name.startswith("parts/")}
            records.append({"step": one.step, "epoch": one.epoch, **plain, "parts": parts, "lr": one.rate})
        self.log.steps(records, sum(len(one.ids) for one in pending))

    def _judge(self, one: _Pending, values: dict[str, float]) -> None:
        loss = values["loss"]
        if all(map(math.isfinite, values.values())):
            if len(self._first) < FIRST:
                self._first.append(abs(loss))
                return
            usual = median(self._first)
            if loss <= LOST * (usual + 1):
                return
            what = f"the loss is {loss:.4g}, where it began at {usual:.4g}: it diverges"
        else:
            what = "not a number: " + ", ".join(f"{name} {v}" for name, v in values.items() if not math.isfinite(v))
        last = self.checkpoints.pointed("latest")
        good = f"the last good checkpoint is {last}" if last else "no checkpoint was written before"
        shown = ", ".join(one.ids[:10]) + (f" and {len(one.ids) - 10} more" if len(one.ids) > 10 else "")
        raise UserError(f"step {one.step}: {what}; {good}. Try a lower learning rate. Items of the batch: {shown}")
