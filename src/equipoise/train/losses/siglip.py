"""SigLIP's sigmoid loss (Zhai et al. 2023): does this image go with this text, for every pair of the batch.

In words: no softmax; each pair of the batch is a separate yes or no question.

    L = -1/B sum_i sum_j log sigmoid( z_ij (s I_i . T_j + b) )       z_ij = 1 for i = j, else -1

Paper and code agree. A model without a bias has b = 0.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from equipoise.train.losses.base import Features


def siglip_loss(features: Features) -> Tensor:
    logits = features.scale * features.image @ features.caption.T
    if features.bias is not None:
        logits = logits + features.bias
    sign = 2 * torch.eye(len(logits), dtype=logits.dtype, device=logits.device) - 1
    return -logsigmoid(sign * logits).sum() / len(logits)
