"""How a run is done, next to what is trained: on which hardware, what is saved, what is measured on the way."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from equipoise.evaluation.embedding.cache import EmbeddingCache
from equipoise.train.model import Trainable


@dataclass(frozen=True)
class Hardware:
    """None of it changes what is learnt, but for rounding."""

    device: str = "auto"
    workers: int | None = None  # processes that decode images; None: as many as help
    chunk: int | None = None  # samples a tower sees at once (GradCache): less memory, the same gradients
    compiled: bool | None = None  # None: on a GPU


@dataclass(frozen=True)
class Saving:
    every: int | None = None  # steps between checkpoints; None: an epoch, at most 1,000
    keep: int = 2  # the latest; the best stays too
    exit_within: float | None = (
        None  # seconds from Ctrl-C or SIGTERM until a step in flight is given up and the process
    )
    # ends; None: the step is finished, however long it takes
    cache: EmbeddingCache | None = None  # keeps what a frozen vision tower says of the photos, for the next run


@dataclass(frozen=True)
class Evaluation:
    judge: Callable[[Trainable], Mapping[str, float]]  # a model, as it is by then -> named numbers
    every: int | None = None  # steps; None: an epoch. Always at the end
    best: str | None = None  # the metric of the best checkpoint, which is kept
    identity: Mapping[str, Any] | None = None  # what the numbers depend on: a run with others is refused. None: unknown
