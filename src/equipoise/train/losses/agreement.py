"""A caption and its hard positive should get the same score with their image.

In words: ranking both above the negative allows any distance between them. The closer they are, the fewer negatives fit
in between, which is where Brittleness comes from.

    L = mean over i with a positive of  ( S(I_i, T_i) - S(I_i, P_i) )^2      S in logits

Ours. Squared, because small differences are harmless.
"""

from __future__ import annotations

from torch import Tensor

from equipoise.train.losses.base import Features, mean, need, valid


def agreement(features: Features) -> Tensor:
    positive = need(features.positive, "positive")
    apart = features.scale * (features.image * (features.caption - positive)).sum(-1)
    return mean(apart**2, valid(features.positive_mask, positive))
