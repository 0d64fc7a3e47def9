"""Every right caption above each of its negatives: Augmented accuracy as a loss.

In words: Augmented accuracy counts an item only if the caption *and* its hard positive are above the hard negative, so
both are ranked, each against each negative. SVLC's negative loss ranks only the caption, and the score of the reworded
caption falls with the negative's: that is Brittleness.

    d_rk  = S(I_i, R_r) - S(I_i, N_ik)              R: the caption and, where there is one, the positive; S in logits
    L     = mean over all (i, r, k) that exist of  (1 - p)^gamma (-log p),   p = sigmoid(d_rk - margin)

Ours. gamma is FSC-CLIP's focal factor (Oh et al. 2024), which stops pushing pairs that are far apart, to protect what
the model knows. gamma = 0 is the logistic ranking loss.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from equipoise.train.losses.base import Features, mean, need, valid


@dataclass(frozen=True)
class RankEach:
    gamma: float = 0.0
    margin: float = 0.0

    def __call__(self, features: Features) -> Tensor:
        positive, negative = need(features.positive, "positive"), need(features.negative, "negative")
        exists = valid(features.positive_mask, positive)
        right = torch.stack([features.caption, positive], 1)
        rights = torch.stack([torch.ones_like(exists), exists], 1)
        wrong = valid(features.negative_mask, negative)
        above = features.scale * torch.einsum("bd,brd->br", features.image, right)
        below = features.scale * torch.einsum("bd,bkd->bk", features.image, negative)
        log_p = logsigmoid(above[:, :, None] - below[:, None, :] - self.margin)
        focal = (-torch.expm1(log_p)) ** self.gamma if self.gamma else 1.0
        return mean(focal * -log_p, rights[:, :, None] & wrong[:, None, :])
