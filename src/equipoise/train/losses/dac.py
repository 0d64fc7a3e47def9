"""DAC's multiple-instance losses (Doveh et al. 2023b, "Dense and Aligned Captions"), after MIL-NCE.

In words: an image has M dense captions, some of which may be wrong. Together, with this image, they must outweigh all
other captions with this image and these captions with all other images. The second loss contrasts them with their own
negatives.

    x_ijm = s I_i . D_jm,   own_i = log sum_m exp x_iim
    L_mil = mean_i [ log( sum_jm exp x_ijm + sum_(j != i) sum_m exp x_jim ) - own_i ]
    L_neg = mean_i [ log( sum_m exp x_iim + sum_m exp x-_iim ) - own_i ]         x-: with the negatives

The recipe adds both to the contrastive loss and to SVLC's negative loss.

Where paper and code differ:
- The code of MIL-NCE and DAC counts an image's own captions twice in the denominator (as a row and as a column), so the
  lowest loss is log 2 and other images weigh half. MIL-NCE's formula counts them once, and so do we.
- A dense caption without a negative is a zero vector in the code, a logit of 0 in the softmax. Here it is masked.
- The code gathers zeros for the dense negatives of other GPUs, and runs both towers twice.
"""

from __future__ import annotations

import torch
from torch import Tensor

from equipoise.train.losses.base import Features, hide, logsumexp, mean, need, valid


def dac_mil(features: Features) -> Tensor:
    dense = need(features.dense, "dense")
    mask = valid(features.dense_mask, dense)
    logits = features.scale * torch.einsum("id,jmd->ijm", features.image, dense)  # image i, caption m of image j
    own = logsumexp(logits.diagonal().T, mask, 1)
    captions = hide(logits, mask.expand_as(logits)).flatten(1)
    others = ~torch.eye(len(dense), dtype=torch.bool, device=dense.device)
    images = hide(logits.transpose(0, 1), mask[:, None] & others[..., None]).flatten(1)
    return mean(torch.logsumexp(torch.cat([captions, images], 1), 1) - own, mask.any(1))


def dac_negative(features: Features) -> Tensor:
    dense, negative = need(features.dense, "dense"), need(features.dense_negative, "dense_negative")
    mask = valid(features.dense_mask, dense)
    negative_mask = valid(features.dense_negative_mask, negative)
    right = hide(features.scale * torch.einsum("id,imd->im", features.image, dense), mask)
    wrong = hide(features.scale * torch.einsum("id,imd->im", features.image, negative), negative_mask)
    all_of_them = torch.logsumexp(torch.cat([right, wrong], 1), 1)
    return mean(all_of_them - torch.logsumexp(right, 1), mask.any(1) & negative_mask.any(1))
