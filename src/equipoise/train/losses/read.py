"""READ's alignment loss (Kwon et al. 2025): a reworded caption finds the caption it was made from.

In words: text to text, each hard positive must pick its own caption among all captions of the batch. This keeps a
paraphrase in place while hard negatives push at every change of words.

    L = mean over i with a positive of  -log( exp s P_i.T_i / sum_j exp s P_i.T_j )       j: all captions of the batch

Where paper and code differ: we had only the abstract of the paper; this follows the code. It contrasts in one direction
(from the positive), with the learned scale, gradients through both sides, and without negatives (an option that adds
them as columns is off). In the code every sample has a positive, if only another caption of the photo; here a sample
without one is not a row, but its caption stays a column. The code works on one GPU only; ours takes the global batch.
"""

from __future__ import annotations

import torch
from torch import Tensor

from equipoise.train.losses.base import Features, diagonal_cross_entropy, need, valid


def read_alignment(features: Features) -> Tensor:
    positive = need(features.positive, "positive")
    rows = valid(features.positive_mask, positive)
    logits = features.scale * positive @ features.caption.T
    return diagonal_cross_entropy(logits, rows, torch.ones_like(rows))
