"""Softmax and mean over the entries that exist: what keeps missing texts from training anything.

Papers' code fills a missing negative with a zero vector or an empty sentence and leaves it in the
softmax, where it counts as a real, far too easy negative. Here it gets the lowest number there is,
so that its probability and its gradient are exactly 0. (The lowest number and not -inf, so that a
row with nothing in it has a gradient of 0 whatever a version of torch makes of log 0.)
"""

from __future__ import annotations

import torch
from torch import Tensor


def need(value: Tensor | None, what: str) -> Tensor:
    """`value`, which the recipe must have asked the loop for."""
    if value is None:
        raise ValueError(f"this loss needs Features.{what}; the recipe's Needs must ask for it")
    return value


def hide(logits: Tensor, mask: Tensor) -> Tensor:
    """The logits with those outside of the mask out of every softmax."""
    return logits.masked_fill(~mask, torch.finfo(logits.dtype).min)


def logsumexp(logits: Tensor, mask: Tensor, dim: int | tuple[int, ...]) -> Tensor:
    """log of the sum of exp over the masked-in entries."""
    return torch.logsumexp(hide(logits, mask), dim)


def mean(values: Tensor, mask: Tensor) -> Tensor:
    """The mean over the masked-in values; 0, with a gradient of 0, where there are none."""
    return torch.where(mask, values, 0).sum() / mask.sum().clamp(min=1)


def diagonal_cross_entropy(logits: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """Mean over `rows` of -log softmax of entry (i, i), among `columns`; logits are (R, C >= R)."""
    return mean(logsumexp(logits, columns.expand_as(logits), 1) - logits.diagonal(), rows)
