"""SVLC's two losses (Doveh et al. 2023a, "Teaching Structured Vision & Language Concepts").

**Negative loss**, in words: an image must choose its caption among the caption and its own hard negatives. Samples
without a negative do not count.

    L_neg = mean over i with a negative of  -log( exp S(I_i,T_i) / (exp S(I_i,T_i) + sum_k exp S(I_i,N_ik)) )

**Analogy loss** (the hard-positive loss of Kamath et al. 2024), in words: the image must find its hard positive among
all hard positives of the batch, and so must the caption. It pulls a reworded caption to both, so that the model does
not learn "any change is wrong".

    L_pos = 1/2 [ CE(s I P^t, diagonal) + CE(s T P^t, diagonal) ]     rows and columns: samples with a positive

Where paper and code differ:
- SVLC's code reads the weight of L_neg as an integer, so 0.25 is impossible. Here a weight is any number.
- The code computes L_pos within each GPU's batch. We use the global batch, so the number of processes changes nothing.
- Left out, because no published model uses them: the symmetric form of L_pos and two KL terms.
- Kamath et al. describe L_pos as "on each image with its original and positive captions"; they follow SVLC's procedure,
  so it is the loss above.
"""

from __future__ import annotations

import torch
from torch import Tensor

from equipoise.train.losses.base import Features, diagonal_cross_entropy, logsumexp, mean, need, valid


def svlc_negative(features: Features) -> Tensor:
    negative = need(features.negative, "negative")
    mask = valid(features.negative_mask, negative)
    own = features.scale * (features.image * features.caption).sum(-1, keepdim=True)
    against = features.scale * torch.einsum("bd,bkd->bk", features.image, negative)
    logits = torch.cat([own, against], 1)
    columns = torch.cat([torch.ones_like(mask[:, :1]), mask], 1)
    return mean(logsumexp(logits, columns, 1) - own[:, 0], mask.any(1))


def svlc_analogy(features: Features) -> Tensor:
    positive = need(features.positive, "positive")
    mask = valid(features.positive_mask, positive)
    from_image = diagonal_cross_entropy(features.scale * features.image @ positive.T, mask, mask)
    from_caption = diagonal_cross_entropy(features.scale * features.caption @ positive.T, mask, mask)
    return (from_image + from_caption) / 2
