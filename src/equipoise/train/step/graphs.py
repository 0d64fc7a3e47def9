"""CUDA graphs: a tower's kernels recorded once and replayed.

A ViT-B/32 step is some 2,000 kernels; with captions packed the GPU needs about 33 ms for them and Python 90 ms
to launch them (H200, profiled). Replayed, launching costs nothing. A graph has fixed shapes, so
inputs are rounded up to a multiple of ROUND rows; a batch meets two or three sizes in a run.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad

ROUND = 16
MOST = 6  # recorded sizes a tower; each holds the memory of its activations


class _Module(torch.nn.Module):
    """Gives a function parameters, whose gradients the recording then knows of."""

    def __init__(self, tower: torch.nn.Module, run: Callable[..., Tensor]) -> None:
        super().__init__()
        self.tower = tower
        self.run = run

    def forward(self, *inputs: Tensor) -> Tensor:
        return self.run(*inputs)


class Graphed:
    """`run` of some tensors with equal first dimensions, recorded for each rounded size it meets.

    The gradients of a replay lie in memory that the next replay overwrites: to be called once per step.
    """

    def __init__(self, tower: torch.nn.Module, run: Callable[..., Tensor]) -> None:
        self.tower, self.run = tower, run
        self._recorded: dict[int, Any] = {}

    def __call__(self, *inputs: Tensor) -> Tensor:
        count = len(inputs[0])
        size = -(-count // ROUND) * ROUND
        rounded = tuple(pad(value, [0, 0] * (value.dim() - 1) + [0, size - count]) for value in inputs)
        if size not in self._recorded:
            self._recorded[size] = self._record(rounded) if len(self._recorded) < MOST else self.run
        result: Tensor = self._recorded[size](*rounded)
        return result[:count]

    def _record(self, inputs: tuple[Tensor, ...]) -> Callable[..., Tensor]:
        samples = tuple(value.detach().clone().requires_grad_(value.requires_grad) for value in inputs)
        try:
            module = _Module(self.tower, self.run)
            recorded: Any = torch.cuda.make_graphed_callables(module, samples, allow_unused_input=True)
        except RuntimeError as error:
            warnings.warn(f"a CUDA graph could not be recorded, training goes on without: {error}", stacklevel=2)
            return self.run
        return recorded  # type: ignore[no-any-return]
