"""The output of a run: a progress bar, a line of JSON per step, and at the end a table. Mirrors repeat the rows to
TensorBoard (OUT/tensorboard) or Weights & Biases (OUT/wandb)."""

from __future__ import annotations

import csv
import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from equipoise.core.errors import UserError, did_you_mean, first_line
from equipoise.core.files import atomic_write, sha256_json
from equipoise.core.progress import Bar, is_quiet, showing

if TYPE_CHECKING:
    from equipoise.evaluation.record import Number

LOG = "log.jsonl"


class Mirror(Protocol):
    def row(self, record: Mapping[str, object]) -> None: ...
    def close(self) -> None: ...


def read_log(out: Path) -> list[dict[str, Any]]:
    """The records of a run so far, without a last line cut short by a kill."""
    lines = (out / LOG).read_text(encoding="utf-8").split("\n") if (out / LOG).exists() else []
    return [json.loads(line) for line in lines[:-1] if line]


def in_words(name: str, value: float) -> str:
    """Our metrics in percent; a user's own metric as it is."""
    from equipoise.evaluation.metrics import SHARES  # only a run that is evaluated waits for them

    return f"{100 * value:.1f} %" if name in SHARES else f"{value:.4f}"


class RunLog:
    """The log of one run. Records after `step`, of steps that a kill lost, are dropped. Each new one also goes to the
    `mirrors`."""

    def __init__(
        self, out: Path, step: int, steps: int, show: bool = True, write: bool = True, mirrors: Sequence[Mirror] = ()
    ) -> None:
        self.out, self._mirrors = out, mirrors
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
            console=Console(stderr=True, force_jupyter=False),
            disable=not show or is_quiet(),
        )
        self._task = self._progress.add_task("", total=steps, completed=step)
        self._bar = Bar("training", "steps", steps, step)
        self._shown = showing([self._bar])
        self._last = time.monotonic()

    def __enter__(self) -> RunLog:
        self._progress.start()
        self._shown.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._shown.__exit__(None, None, None)
        self._progress.stop()
        self._handle.close()
        for mirror in self._mirrors:
            mirror.close()

    def steps(self, records: list[dict[str, Any]], images: int) -> None:
        """Write records of the steps since the last call, which used `images` images."""
        now = time.monotonic()
        rate = images / max(now - self._last, 1e-9)
        self._last = now
        for record in records:
            self._write(record | {"images_per_s": round(rate, 1)})
        self._handle.flush()
        last = records[-1]
        self._bar.done = last["step"]
        text = f"loss {last['loss']:.3f}  {rate:,.0f} images/s"  # the parts of the loss are in the log
        self._progress.update(self._task, completed=last["step"], description=text)

    def _write(self, record: dict[str, object]) -> None:
        self._handle.write(json.dumps(record) + "\n")
        for mirror in self._mirrors:
            mirror.row(record)

    def evaluation(self, step: int, judged: Mapping[str, float | Number]) -> dict[str, float]:
        """Write the measured values, for a `Number` also its interval and n; returns the plain values."""
        from equipoise.evaluation.record import Number

        metrics = {name: value.value if isinstance(value, Number) else value for name, value in judged.items()}
        numbers = {name: value for name, value in judged.items() if isinstance(value, Number)}
        intervals = {name: list(value.interval) for name, value in numbers.items() if value.interval is not None}
        details = {"intervals": intervals, "n": {name: value.n for name, value in numbers.items()}} if numbers else {}
        self._write({"step": step, "metrics": metrics} | details)
        self._handle.flush()
        if not self._progress.disable:
            shown = "  ".join(f"{name} {in_words(name, value)}" for name, value in metrics.items())
            self._progress.console.print(f"step {step}{'' if step else ' (base)'}: {shown}")
        return metrics

    def stop(self) -> None:
        self._progress.stop()

    def pause(self) -> None:
        """Leave the time since the last step (an evaluation, a checkpoint) out of the rate."""
        self._last = time.monotonic()


def write_summary(out: Path) -> None:
    """Write loss.csv of the whole run; report/curves.py draws it."""
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


def check_loggers(names: Sequence[str]) -> None:
    """Refuse an unknown logger, and one whose package is not installed."""
    for name in names:
        if name not in LOGGERS:
            raise UserError(f"--log {name}: expected {' or '.join(LOGGERS)}.{did_you_mean(name, LOGGERS)}")
        if (spec := find_spec(name)) is None or spec.origin is None:  # a folder ./wandb of an earlier run is no package
            raise UserError(f"--log {name}: the package {name} is not installed: pip install 'equipoise[{name}]'")


def open_loggers(names: Sequence[str], out: Path, step: int, identity: Mapping[str, object]) -> list[Mirror]:
    """The loggers of a run that goes on after `step`."""
    return [LOGGERS[name](out, step, identity) for name in dict.fromkeys(names)]


def flat(record: Mapping[str, Any]) -> dict[str, float]:
    """{"loss": 1, "parts": {"itc": 2}} -> {"loss": 1, "parts/itc": 2}; an interval becomes _low and _high."""
    result: dict[str, float] = {}
    for name, value in record.items():
        if isinstance(value, Mapping):
            result |= {f"{name}/{part}": number for part, number in flat(value).items()}
        elif isinstance(value, list):
            result |= {f"{name}_low": value[0], f"{name}_high": value[1]}
        elif name != "step":
            result[name] = value
    return result


class _TensorBoard:
    def __init__(self, out: Path, step: int, identity: Mapping[str, object]) -> None:
        from torch.utils.tensorboard import SummaryWriter

        purged = step + 1 if step else None  # steps that a kill lost are written again
        self._writer = SummaryWriter(str(out / "tensorboard"), purge_step=purged)

    def row(self, record: Mapping[str, object]) -> None:
        for name, value in flat(record).items():
            self._writer.add_scalar(name, value, record["step"])

    def close(self) -> None:
        self._writer.close()


class _Wandb:
    def __init__(self, out: Path, step: int, identity: Mapping[str, object]) -> None:
        import wandb

        same = sha256_json([str(out.resolve()), identity])[:16]  # a resumed run goes on in its own curve
        try:
            self._run = wandb.init(
                project="equipoise", dir=str(out), name=out.name, id=same, resume="allow", config=dict(identity)
            )
        except wandb.errors.Error as error:
            raise UserError(
                f"--log wandb: {first_line(error)}. Log in with `wandb login`, or work offline: WANDB_MODE=offline"
            ) from error

    def row(self, record: Mapping[str, Any]) -> None:
        self._run.log(flat(record), step=record["step"])

    def close(self) -> None:
        self._run.finish()


LOGGERS: dict[str, Callable[[Path, int, Mapping[str, object]], Mirror]] = {"tensorboard": _TensorBoard, "wandb": _Wandb}
