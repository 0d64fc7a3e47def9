"""IMC, the intra-modal contrastive loss of CE-CLIP (Zhang et al. 2024, eq. 3).

In words: a caption must be further from hard negative captions (text to text) than from its image. The image keeps the
two towers aligned while captions and negatives are pushed apart.

    paper  L = mean_i  -log( exp S(I_i,T_i) / sum_k exp S(T_i,N_ik) )
    own    L = mean_i  -log( exp S(I_i,T_i) / (exp S(I_i,T_i) + sum_k  exp S(T_i,N_ik)) )
    all    L = mean_i  -log( exp S(I_i,T_i) / (exp S(I_i,T_i) + sum_jk exp S(T_i,N_jk)) )

Where paper and code differ: the paper has the first form, which has no lower bound (it never stops pushing) and which
no version of the code computes. The code from 31 January to 3 February 2024 computes the third, the default here. Other
commits train toward a negative: the label is 1, the first negative (2023, and March 2024), or the image column is
missing and the label 0 is again the first negative (the latest commit; issue 15 of the repository). The second form is
the first with a bound, or the third without the negatives of other captions.

A sample counts if the denominator has a negative: its own or, for "all", any. The mean is over those samples; the paper
has a sum.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from equipoise.train.losses.base import Features, logsumexp, mean, need, valid


@dataclass(frozen=True)
class Imc:
    form: Literal["all", "own", "paper"] = "all"

    def __call__(self, features: Features) -> Tensor:
        negative = need(features.negative, "negative")
        mask = valid(features.negative_mask, negative)
        aligned = features.scale * (features.image * features.caption).sum(-1, keepdim=True)
        if self.form == "all":
            against = features.scale * features.caption @ negative.flatten(0, 1).T
            mask = mask.flatten().expand_as(against)
        else:
            against = features.scale * torch.einsum("bd,bkd->bk", features.caption, negative)
        logits, columns = against, mask
        if self.form != "paper":
            logits = torch.cat([aligned, against], 1)
            columns = torch.cat([torch.ones_like(mask[:, :1]), mask], 1)
        return mean(logsumexp(logits, columns, 1) - aligned[:, 0], mask.any(1))
