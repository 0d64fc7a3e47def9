"""Options of a run that do not change what is trained: hardware, saving and evaluation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from equipoise.embedding.cache import EmbeddingCache
from equipoise.evaluation.record import Number
from equipoise.train.model import Trainable
from equipoise.train.run.loggers import check_loggers


@dataclass(frozen=True)
class Hardware:
    """Changes only rounding."""

    device: str = "auto"
    workers: int | None = None  # processes that decode images; None: chosen
    chunk: int | None = None  # samples a tower sees at once (GradCache): less memory, the same gradients
    compiled: bool | None = None  # None: on a GPU


@dataclass(frozen=True)
class Saving:
    every: int | None = None  # steps between checkpoints; None: an epoch, at most 1,000
    keep: int = 2  # the latest; the best stays too
    exit_within: float | None = None  # seconds from Ctrl-C or SIGTERM to the end; None: the step is finished first
    cache: EmbeddingCache | None = None  # for the output of a frozen vision tower, also of later runs
    log: Sequence[str] = ()  # where the log is mirrored to: "tensorboard", "wandb"

    def __post_init__(self) -> None:
        check_loggers(self.log)


@dataclass(frozen=True)
class Evaluation:
    judge: Callable[[Trainable], Mapping[str, float | Number]]  # the current model -> named numbers
    every: int | None = None  # steps; None: an epoch. Always at the end
    best: str | None = None  # the metric that chooses the best checkpoint
    identity: Mapping[str, Any] | None = None  # what the numbers depend on: resuming with another one is refused
