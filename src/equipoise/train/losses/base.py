"""The parts of every loss: its input `Features`, softmax and mean over the entries that exist, and `Sum` of several.

The loop fills a `Features` (gathered from all processes, and whole under GradCache) with the embeddings of the global
batch and their masks; a loss turns it into `LossParts`. Losses know nothing about models, processes or files, so each
can be read next to its paper and tested with random vectors. Features are float32 or float64, outside autocast: a
similarity of 0.25 times a scale of 100 has only two digits after the point in bfloat16, less than a hard negative's
margin.

Missing texts train nothing. The papers' code fills a missing negative with a zero vector or an empty sentence, which
stays in the softmax as an easy negative. Here its logit is the lowest finite number, so its probability and gradient
are exactly 0. (Not -inf: an empty row then has a gradient of 0 in every version of torch.)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor

from equipoise.core.errors import UserError


@dataclass
class Features:
    """Shapes: B samples, K slots for negatives, M dense captions, P image patches, T text tokens, D dimensions. All
    vectors are unit-norm except patches and tokens. Where a sample has no positive, no negative in a slot or no hard
    image, the mask is False and the row has any finite value (usually zeros), which a loss must ignore. A mask of None
    means that all rows exist."""

    image: Tensor  # (B, D)
    caption: Tensor  # (B, D)
    scale: Tensor  # exp(logit_scale), a scalar
    bias: Tensor | None = None  # SigLIP's logit bias, a scalar

    positive: Tensor | None = None  # (B, D), the hard positive drawn for each sample
    positive_mask: Tensor | None = None  # (B,) bool
    negative: Tensor | None = None  # (B, K, D); slot k is type k where the recipe has types
    negative_mask: Tensor | None = None  # (B, K) bool

    # NegCLIP: a mined hard image for each sample, with its caption and the caption's negatives
    hard_image: Tensor | None = None  # (B, D)
    hard_caption: Tensor | None = None  # (B, D)
    hard_image_mask: Tensor | None = None  # (B,) bool, for the image and its caption
    hard_negative: Tensor | None = None  # (B, K, D)
    hard_negative_mask: Tensor | None = None  # (B, K) bool

    # DAC: dense captions of each image, and a negative of each of them
    dense: Tensor | None = None  # (B, M, D)
    dense_mask: Tensor | None = None  # (B, M) bool
    dense_negative: Tensor | None = None  # (B, M, D)
    dense_negative_mask: Tensor | None = None  # (B, M) bool

    # FSC-CLIP's local loss: projected into the joint space, NOT normalised
    patches: Tensor | None = None  # (B, P, D), without the class token
    caption_tokens: Tensor | None = None  # (B, T, D)
    caption_tokens_mask: Tensor | None = None  # (B, T) bool: words and the end token; no start token, no padding
    negative_tokens: Tensor | None = None  # (B, K, T, D)
    negative_tokens_mask: Tensor | None = None  # (B, K, T) bool

    # DeGLA: a teacher's embeddings of the same images and texts, without a gradient; masks as above
    teacher_image: Tensor | None = None  # (B, D)
    teacher_caption: Tensor | None = None  # (B, D)
    teacher_negative: Tensor | None = None  # (B, K, D)

    # The N pairs of a matching head
    match: Tensor | None = None  # (N,) log-odds that image and text belong together
    matching: Tensor | None = None  # (N,) 1 if they do, else 0


@dataclass
class LossParts:
    """A loss and, for the log, its detached and unweighted parts."""

    total: Tensor
    parts: dict[str, Tensor] = field(default_factory=dict)


def need(value: Tensor | None, what: str) -> Tensor:
    """`value`; an error if the recipe did not ask for it."""
    if value is None:
        raise UserError(f"this loss needs Features.{what}; the recipe's Needs must ask for it")
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
            if not isinstance(value, Tensor) or value.numel() != 1:  # known without waiting for the GPU
                what = f"shape {tuple(value.shape)}" if isinstance(value, Tensor) else f"a {type(value).__name__}"
                raise UserError(f"loss {name}: expected one number for the batch, as a tensor; found {what}")
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
