"""CLIP's contrast with two right captions per image: the caption, and its hard positive as a caption of its own.

In words: a reworded caption is not a hard case to be looked at aside, it is a caption. Each image must find it among
the captions of the others, and it must find its image.

    L = 1/2 [ clip(I, T) + clip(I, T') ]     T'_i = P_i where sample i has a positive, else T_i

Ours. SVLC's analogy loss (losses/svlc.py) contrasts positives with positives alone; here a positive stands among the
captions that have none, so that "was edited" tells nothing.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from equipoise.train.features import Features, valid
from equipoise.train.losses.clip import clip_loss
from equipoise.train.losses.masked import need


def two_captions(features: Features) -> Tensor:
    positive = need(features.positive, "positive")
    reworded = torch.where(valid(features.positive_mask, positive)[:, None], positive, features.caption)
    return (clip_loss(features) + clip_loss(replace(features, caption=reworded))) / 2
