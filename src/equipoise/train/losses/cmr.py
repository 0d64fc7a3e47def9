"""CMR, the cross-modal ranking loss of CE-CLIP with its adaptive thresholds (Zhang et al. 2024, eq. 4-7).

In words: an image must score its caption above each hard negative by a margin; beyond the margin there is no gradient.
The margin of each type of negative (relation, attribute, object, action) is the model's mean gap on the previous batch.
It starts at 0 and grows with the model, as a curriculum, up to a bound.

    L      = 1/n sum_i sum_k max(0, S(I_i,N_ik) - S(I_i,T_i) + Th_k)            S in logits, scale included
    Th_k'  = mean_i ( S(I_i,T_i) - S(I_i,N_ik) ), held between 0 and u = 10     for the next step

The sum is over the n negatives in the batch. Fixed thresholds (`fixed=2`, 5, 10 in the paper's figure 5) do not change.

Where paper and code differ:
- Eq. 4 and 6 sum over the negatives of each pair with equal weight. The code divides by B K, counting slots without a
  negative, so the term shrinks with every type that a caption lacks (half of COCO's captions have no adjective to
  replace). `mean="paper"`, the default, divides by the number of negatives, so the weight 0.4 means the same for any
  data. It does not average within each caption first, which would give a caption's only negative as much weight as four
  of another caption; neither does eq. 6. `mean="code"` divides by B K. If no slot is empty, both are equal.
- For the threshold, the code averages the true pairs over all samples and the negatives over those that exist. Eq. 5
  takes pairs, and so do we, over the samples that have the type.
- If no sample of a batch has a type, the code's threshold is 0/0. Ours keeps its value.
- Only the code has the lower bound 0. Without it, the hinge would reward a negative above the caption.
- The code resets thresholds to 0 in every epoch. The paper does not, and we do not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from torch import Tensor

from equipoise.core.errors import UserError
from equipoise.train.losses.base import Features, mean, need, valid


@dataclass
class Cmr:
    """`step()` switches to the thresholds measured on the last batch."""

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

    def state_dict(self) -> dict[str, object]:
        # Python numbers: a float32 is restored exactly
        return {"types": list(self.types), "thresholds": self.thresholds.tolist()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        if list(state["types"]) != list(self.types):
            raise UserError(f"the saved thresholds are of {state['types']}; this recipe has {list(self.types)}")
        self.thresholds = torch.tensor(state["thresholds"], dtype=torch.float64)
        self._next = self.thresholds
