"""A caption and its hard positive score alike with their image.

In words: ranking both above the negative still allows any distance between them; the closer they are, the fewer
negatives fit between, and between them is where Brittleness is.

    L = mean over i with a positive of  ( S(I_i, T_i) - S(I_i, P_i) )^2      S in logits

Ours. The square and not the distance, so that small differences, which cost nothing, are not worth learning.
"""

from __future__ import annotations

from torch import Tensor

from equipoise.train.features import Features, valid
from equipoise.train.losses.masked import mean, need


def agreement(features: Features) -> Tensor:
    positive = need(features.positive, "positive")
    apart = features.scale * (features.image * (features.caption - positive)).sum(-1)
    return mean(apart**2, valid(features.positive_mask, positive))
