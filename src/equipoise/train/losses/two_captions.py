"""CLIP's contrast with two right captions per image: the caption and its hard positive.

In words: a reworded caption is a caption. Each image must find it among the captions of the others, and it must find
its image.

    L = 1/2 [ clip(I, T) + clip(I, T') ]     T'_i = P_i where sample i has a positive, else T_i

Ours. SVLC's analogy loss (losses/svlc.py) contrasts positives only with positives; here they stand among captions that
were not edited, so "was edited" gives nothing away.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from equipoise.train.losses.base import Features, need, valid
from equipoise.train.losses.clip import clip_loss


def two_captions(features: Features) -> Tensor:
    positive = need(features.positive, "positive")
    reworded = torch.where(valid(features.positive_mask, positive)[:, None], positive, features.caption)
    return (clip_loss(features) + clip_loss(replace(features, caption=reworded))) / 2
