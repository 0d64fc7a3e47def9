"""Asking a model for a batch: begun now, waited for later, checked when it comes."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from equipoise.errors import UserError
from equipoise.evaluation.embedding.cache import Keeper, Vector
from equipoise.models.base import kind_of

Begun = Callable[[], Vector]  # waits for the unit vectors that a model was asked for; the last may be filling


class Part(Protocol):
    """Images or texts: what is known of them, and which of it was computed here."""

    vectors: dict[bytes, Vector]
    encoded: set[bytes]


AHEAD = 4  # batches that a GPU has at hand while the texts of the next are tokenized
SOON = 0.25  # seconds; an older batch is finished first, so that a slow model's work is kept at once


class Behind:
    """Finishes a batch when others are begun, so that a GPU always has some to work on; the last ones at the end, also
    where that is an error or Ctrl-C: what was computed is kept."""

    def __init__(self, keeper: Keeper) -> None:
        self._keeper = keeper
        self._begun: deque[tuple[float, Part, list[bytes], Begun]] = deque()

    def add(self, part: Part, names: list[bytes], begun: Begun) -> None:
        now = time.monotonic()
        while self._begun and (len(self._begun) >= AHEAD or now - self._begun[0][0] > SOON):
            self._finish(*self._begun.popleft()[1:])
        self._begun.append((now, part, names, begun))

    def _finish(self, part: Part, names: list[bytes], begun: Begun) -> None:
        fresh = dict(zip(names, begun(), strict=False))  # a batch may have been filled up
        self._keeper.add(fresh)
        part.vectors |= fresh
        part.encoded |= fresh.keys()

    def __enter__(self) -> Behind:
        return self

    def __exit__(self, *_: object) -> None:
        while self._begun:
            self._finish(*self._begun.popleft()[1:])


def by_tokens(model: Any) -> bool:
    return kind_of(model) == "tokens"


def batched(values: list[Any], size: int) -> Iterator[list[Any]]:
    for start in range(0, len(values), size):
        yield values[start : start + size]


def checked(answer: Callable[[], Any], expected: int, method: str) -> Begun:
    """What a model will have answered, once it is waited for."""
    return lambda: unit(answer(), expected, method)


def unit(vectors: Any, expected: int, method: str) -> Vector:
    """Rows of unit length, whatever the model returned; its shape is checked because a notebook may have written it."""
    try:
        array: NDArray[np.float64] = np.asarray(vectors, dtype=np.float64)
    except (TypeError, ValueError, RuntimeError) as error:  # ragged rows, strings, tensors that want a gradient
        raise UserError(
            f"{method} of the model: expected an array of numbers, found {type(vectors).__name__} ({error})"
        ) from None
    if array.ndim != 2 or len(array) != expected:
        raise UserError(f"{method} of the model: expected an array of {expected} rows, found shape {array.shape}")
    norms = np.linalg.norm(array, axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        rows: Vector = (array / norms).astype(np.float32)
    return rows
