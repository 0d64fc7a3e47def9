"""CLIP's contrastive loss (Radford et al. 2021): each image finds its caption, each caption its image.

In words: among all captions of the batch an image must give its own the highest probability, and
the other way round. Positives and negatives are not looked at.

    L = 1/2 [ CE(s I T^t, diagonal) + CE(s T I^t, diagonal) ]     CE: mean over rows, s: the scale

Paper and code agree. CE-CLIP writes the sum of both directions over the batch (its eq. 1); its
code, as everyone's, takes the mean and the half.
"""

from __future__ import annotations

import torch
from torch import Tensor

from equipoise.train.features import Features
from equipoise.train.losses.masked import diagonal_cross_entropy


def clip_loss(features: Features) -> Tensor:
    logits = features.scale * features.image @ features.caption.T
    everyone = torch.ones(len(logits), dtype=torch.bool, device=logits.device)
    image_to_text = diagonal_cross_entropy(logits, everyone, everyone)
    text_to_image = diagonal_cross_entropy(logits.T, everyone, everyone)
    return (image_to_text + text_to_image) / 2
