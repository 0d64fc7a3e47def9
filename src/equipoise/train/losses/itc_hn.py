"""ITC with hard negatives (NegCLIP, SVLC, CE-CLIP eq. 2): the negatives are more captions to reject.

In words: CLIP's contrastive loss, but an image must find its caption among all captions of the batch AND all hard
negatives of the batch. A negative has no image, so the direction from text to image is CLIP's.

    L = 1/2 [ -1/B sum_i log( exp S(I_i,T_i) / (sum_j exp S(I_i,T_j) + sum_jk exp S(I_i,N_jk)) )
              -1/B sum_i log( exp S(I_i,T_i) / sum_j exp S(I_j,T_i) ) ]      S(I,T) = s I.T

Where paper and code differ:
- CE-CLIP's eq. 2 can be read as own negatives only (T_hn belongs to one pair). Its code and NegCLIP's use every
  negative of the global batch, and so do we.
- CE-CLIP's code keeps its placeholder sentence as a negative of every image. We mask it.
- The code of SVLC and DAC drops all negatives here with two or more GPUs (the gathered texts are cut to B, then sliced
  from B + 1). We use them with any number of processes.
"""

from __future__ import annotations

import torch
from torch import Tensor

from equipoise.train.losses.base import Features, diagonal_cross_entropy, need, valid


def itc_hn(features: Features) -> Tensor:
    negative = need(features.negative, "negative")
    texts = torch.cat([features.caption, negative.flatten(0, 1)])
    everyone = torch.ones(len(features.image), dtype=torch.bool, device=texts.device)
    columns = torch.cat([everyone, valid(features.negative_mask, negative).flatten()])
    logits = features.scale * features.image @ texts.T
    image_to_text = diagonal_cross_entropy(logits, everyone, columns)
    text_to_image = diagonal_cross_entropy(logits[:, : len(everyone)].T, everyone, everyone)
    return (image_to_text + text_to_image) / 2
