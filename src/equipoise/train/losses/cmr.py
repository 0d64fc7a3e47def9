"""CMR, the cross-modal ranking loss of CE-CLIP with its adaptive thresholds (Zhang et al. 2024, eq. 4-7).

In words: an image must score its caption above each hard negative by a margin, and once it does,
nothing pushes any more. The margin of each type of negative (relation, attribute, object, action)
is the gap the model already has, measured on the batch before: it starts at 0 and grows with the
model, a curriculum. An upper bound keeps the easy types from running away.

    L      = 1/n sum_i sum_k max(0, S(I_i,N_ik) - S(I_i,T_i) + Th_k)            S in logits, scale and all
    Th_k'  = mean_i ( S(I_i,T_i) - S(I_i,N_ik) ), held between 0 and u = 10     for the next step

The sum is over the n negatives that the captions of the batch have. Fixed thresholds (`fixed=2`, 5, 10
in the paper's figure 5) are used as given.

Where paper and code differ:
- Eq. 4 and 6 sum over the negatives of each pair, all with the same weight. The code divides by B K,
  counting the slots that have no negative, so that the term shrinks with every type a caption lacks
  (half of COCO's captions have no adjective to replace). `mean="paper"`, the default, divides by the
  negatives that exist: the paper's sum per negative, and the weight 0.4 then means the same for any
  data. It is not first a mean of each caption and then one of captions, which would weigh the only
  negative of a caption as much as all four of another; eq. 6 does not. `mean="code"` divides by B K.
  Where no slot is empty both are the same number.
- For the threshold the code takes the mean of the true pairs over all samples, and that of the
  negatives over those that exist. Eq. 5 pairs them, as we do, over the samples that have the type.
- A type that no sample of a batch has makes the code's threshold 0/0. Ours keeps its value.
- The lower bound 0 is in the code alone: below it the hinge would reward a negative above the caption.
- The code starts again at 0 in every epoch. The paper does not; nor do we.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from torch import Tensor

from equipoise.core.errors import UserError
from equipoise.train.features import Features, valid
from equipoise.train.losses.masked import mean, need


@dataclass
class Cmr:
    """The loss and its thresholds. `step()` makes those measured on the last batch the current ones."""

    types: Sequence[str]
    upper: float = 10.0
    fixed: float | None = None
    mean: Literal["paper", "code"] = "paper"
    thresholds: Tensor = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self.types = tuple(self.types)
        self.thresholds = torch.full((len(self.types),), self.fixed or 0.0, dtype=torch.float64)
        self._next = self.thresholds

    def __call__(self, features: Features) -> Tensor:
        negative = need(features.negative, "negative")
        if negative.shape[1] != len(self.types):
            raise ValueError(
                f"expected {len(self.types)} negatives per sample ({self.types}), found {negative.shape[1]}"
            )
        mask = valid(features.negative_mask, negative)
        own = features.scale * (features.image * features.caption).sum(-1, keepdim=True)
        gap = own - features.scale * torch.einsum("bd,bkd->bk", features.image, negative)
        self.thresholds = self.thresholds.to(gap)
        if self.fixed is None:
            self._next = self._measured(gap.detach(), mask)
        hinges = torch.relu(self.thresholds - gap)
        return mean(hinges, mask) if self.mean == "paper" else torch.where(mask, hinges, 0).sum() / mask.numel()

    def _measured(self, gap: Tensor, mask: Tensor) -> Tensor:
        means = torch.where(mask, gap, 0).sum(0) / mask.sum(0).clamp(min=1)
        return torch.where(mask.any(0), means.clamp(0, self.upper), self.thresholds)

    def step(self) -> None:
        self.thresholds = self._next

    def watched(self) -> dict[str, Tensor]:
        return {f"threshold_{name}": self.thresholds[k] for k, name in enumerate(self.types)}

    def state_dict(self) -> dict[str, Any]:
        # as Python numbers: a float32 survives the way there and back to the bit
        return {"types": list(self.types), "thresholds": self.thresholds.tolist()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        if list(state["types"]) != list(self.types):
            raise UserError(f"the saved thresholds are of {state['types']}; this recipe has {list(self.types)}")
        self.thresholds = torch.tensor(state["thresholds"], dtype=torch.float64)
        self._next = self.thresholds
