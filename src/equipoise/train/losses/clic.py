"""CLIC's uni-modal loss (Peleg et al. 2025): two right texts of one photo have one embedding.

In words: the squared distance between a caption and its hard positive. The photo and other texts are not used.

    L = mean over i with a positive of  |T_i - P_i|^2

Where paper and code differ: we had only the abstract of the paper; this follows the code, with gradients through both
sides. CLIC's two texts are the same two sentences in either order; ours are a caption and its rewording. CLIC's other
two losses are two_captions.py (contrast with several right captions) and rank_each.py without a margin (the choice
between a right text and its own negative by the image; with one negative each, -log sigmoid of the difference is the
softmax over both).
"""

from __future__ import annotations

from torch import Tensor

from equipoise.train.losses.base import Features, mean, need, valid


def clic_uni(features: Features) -> Tensor:
    positive = need(features.positive, "positive")
    apart = ((features.caption - positive) ** 2).sum(-1)
    return mean(apart, valid(features.positive_mask, positive))
