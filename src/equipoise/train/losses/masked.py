"""Softmax and mean over the entries that exist, so that missing texts train nothing.

The papers' code fills a missing negative with a zero vector or an empty sentence, which stays in the softmax as an easy
negative. Here its logit is the lowest finite number, so its probability and gradient are exactly 0. (Not -inf: an empty
row then has a gradient of 0 in every version of torch.)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor

from equipoise.core.errors import UserError
from equipoise.train.features import Features, LossParts


def need(value: Tensor | None, what: str) -> Tensor:
    """`value`; an error if the recipe did not ask for it."""
    if value is None:
        raise ValueError(f"this loss needs Features.{what}; the recipe's Needs must ask for it")
    return value


def valid(mask: Tensor | None, like: Tensor) -> Tensor:
    """The mask of the vectors `like` (..., D); all True if it is None."""
    return torch.ones(like.shape[:-1], dtype=torch.bool, device=like.device) if mask is None else mask


def hide(logits: Tensor, mask: Tensor) -> Tensor:
    """The logits, with those outside the mask excluded from every softmax."""
    return logits.masked_fill(~mask, torch.finfo(logits.dtype).min)


def logsumexp(logits: Tensor, mask: Tensor, dim: int | tuple[int, ...]) -> Tensor:
    return torch.logsumexp(hide(logits, mask), dim)


def mean(values: Tensor, mask: Tensor) -> Tensor:
    """The mean over the values in the mask; 0, with a gradient of 0, if there are none."""
    return torch.where(mask, values, 0).sum() / mask.sum().clamp(min=1)


def diagonal_cross_entropy(logits: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """Mean over `rows` of -log softmax of entry (i, i), among `columns`; logits are (R, C >= R)."""
    return mean(logsumexp(logits, columns.expand_as(logits), 1) - logits.diagonal(), rows)


# The weighted sum of several losses: L = sum_t weight_t L_t. A term of weight 0 is not computed. Terms with a state
# (CMR's thresholds) are `StatefulTerm`s; their state is saved under the term's name.

Term = Callable[[Features], Tensor]


@runtime_checkable
class StatefulTerm(Protocol):
    def __call__(self, features: Features) -> Tensor: ...
    def step(self) -> None: ...
    def watched(self) -> dict[str, Tensor]: ...
    def state_dict(self) -> Mapping[str, object]: ...
    def load_state_dict(self, state: Mapping[str, object]) -> None: ...


class Sum:
    """Named terms with their weights.

    Only `step()`, called after each optimizer step, changes their state, so it may be called several times on a batch
    (GradCache, a batch repeated after running out of memory).
    """

    def __init__(self, terms: Mapping[str, tuple[float, Term]]) -> None:
        self.terms = {name: (weight, term) for name, (weight, term) in terms.items() if weight != 0}
        if not self.terms:
            raise UserError(f"every loss is switched off; expected a weight above 0 for one of {', '.join(terms)}")
        self._stateful = {name: term for name, (_, term) in self.terms.items() if isinstance(term, StatefulTerm)}

    def __call__(self, features: Features) -> LossParts:
        total = features.scale.new_zeros(())
        parts: dict[str, Tensor] = {}
        for name, (weight, term) in self.terms.items():
            value = term(features)
            total = total + weight * value
            parts[name] = value.detach()
        for term in self._stateful.values():
            parts |= term.watched()
        return LossParts(total, parts)

    def step(self) -> None:
        for term in self._stateful.values():
            term.step()

    def state_dict(self) -> dict[str, object]:
        return {name: term.state_dict() for name, term in self._stateful.items()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        if set(state) != set(self._stateful):
            raise UserError(
                f"the saved loss state is of another recipe: expected the terms {sorted(self._stateful)}, "
                f"found {sorted(state)}"
            )
        for name, term in self._stateful.items():
            term.load_state_dict(state[name])
