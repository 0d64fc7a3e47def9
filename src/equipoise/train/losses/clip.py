"""CLIP's contrastive loss (Radford et al. 2021): each image finds its caption, each caption its image.

In words: an image must give its own caption the highest probability among all captions of the batch, and a caption its
own image. Hard positives and negatives are not used.

    L = 1/2 [ CE(s I T^t, diagonal) + CE(s T I^t, diagonal) ]     CE: mean over rows, s: the scale

Paper and code agree. CE-CLIP's paper sums both directions over the batch (eq. 1); its code, like all others, takes the
mean over the batch and over the two directions.
"""

from __future__ import annotations

import torch
from torch import Tensor

from equipoise.train.losses.base import Features, diagonal_cross_entropy


def clip_loss(features: Features) -> Tensor:
    logits = features.scale * features.image @ features.caption.T
    everyone = torch.ones(len(logits), dtype=torch.bool, device=logits.device)
    image_to_text = diagonal_cross_entropy(logits, everyone, everyone)
    text_to_image = diagonal_cross_entropy(logits.T, everyone, everyone)
    return (image_to_text + text_to_image) / 2
