"""Mirrors the rows of a run's log to TensorBoard (OUT/tensorboard) or Weights & Biases (OUT/wandb)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from equipoise.core.errors import UserError, did_you_mean, first_line
from equipoise.core.files import sha256_json
from equipoise.train.run.log import Mirror


def check_loggers(names: Sequence[str]) -> None:
    """Refuse an unknown logger, and one whose package is not installed."""
    for name in names:
        if name not in LOGGERS:
            raise UserError(f"--log {name}: expected {' or '.join(LOGGERS)}.{did_you_mean(name, LOGGERS)}")
        if (
            found := find_spec(name)
        ) is None or found.origin is None:  # a folder ./wandb of an earlier run is no package
            raise UserError(f"--log {name}: the package {name} is not installed: pip install 'equipoise[{name}]'")


def open_loggers(names: Sequence[str], out: Path, step: int, identity: Mapping[str, object]) -> list[Mirror]:
    """The loggers of a run that goes on after `step`."""
    return [LOGGERS[name](out, step, identity) for name in dict.fromkeys(names)]


def flat(record: Mapping[str, Any]) -> dict[str, float]:
    """{"loss": 1, "parts": {"itc": 2}} -> {"loss": 1, "parts/itc": 2}; an interval becomes _low and _high."""
    found: dict[str, float] = {}
    for name, value in record.items():
        if isinstance(value, Mapping):
            found |= {f"{name}/{part}": number for part, number in flat(value).items()}
        elif isinstance(value, list):
            found |= {f"{name}_low": value[0], f"{name}_high": value[1]}
        elif name != "step":
            found[name] = value
    return found


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
