"""The weighted sum of several losses: L = sum_t weight_t L_t.

A term of weight 0 is not computed at all. Terms that remember something (CMR's thresholds) have
`state_dict`, `load_state_dict`, `step` and `watched`; their state is saved under the term's name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, runtime_checkable

from torch import Tensor

from equipoise.core.errors import UserError
from equipoise.train.features import Features, LossParts

Term = Callable[[Features], Tensor]


@runtime_checkable
class StatefulTerm(Protocol):
    def __call__(self, features: Features) -> Tensor: ...
    def step(self) -> None: ...
    def watched(self) -> dict[str, Tensor]: ...
    def state_dict(self) -> dict[str, Any]: ...
    def load_state_dict(self, state: Mapping[str, Any]) -> None: ...


class Sum:
    """A `StatefulLoss`: named terms with their weights, added up in the order given."""

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

    def state_dict(self) -> dict[str, Any]:
        return {name: term.state_dict() for name, term in self._stateful.items()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        if set(state) != set(self._stateful):
            raise UserError(
                f"the saved loss state is of another recipe: expected the terms {sorted(self._stateful)}, "
                f"found {sorted(state)}"
            )
        for name, term in self._stateful.items():
            term.load_state_dict(state[name])
