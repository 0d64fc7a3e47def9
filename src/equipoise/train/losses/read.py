"""READ's alignment loss (Kwon et al. 2025): a reworded caption finds the caption it was made of.

In words: text against text, each hard positive must pick its own caption among all captions of the batch. It is what
keeps a paraphrase in place while hard negatives push at every change of words.

    L = mean over i with a positive of  -log( exp s P_i.T_i / sum_j exp s P_i.T_j )       j: all captions of the batch

Where paper and code differ: of the paper only the abstract was at hand; this is the code. It contrasts in one direction
(from the positive), with the learned scale, gradients through both sides, and without negatives (an option that adds
them as columns is off). Every sample of the code has a positive, if only another caption of the photo; where an item
has none, it is no row here and its caption stays a column. The code works on one GPU alone; ours takes the global
batch.
"""

from __future__ import annotations

import torch
from torch import Tensor

from equipoise.train.features import Features, valid
from equipoise.train.losses.masked import diagonal_cross_entropy, need


def read_alignment(features: Features) -> Tensor:
    positive = need(features.positive, "positive")
    rows = valid(features.positive_mask, positive)
    logits = features.scale * positive @ features.caption.T
    return diagonal_cross_entropy(logits, rows, torch.ones_like(rows))
