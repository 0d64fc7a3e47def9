"""DeGLA's two losses with a teacher (Hu et al. 2025): text-grounded contrast (TGC) and self-distillation.

The teacher is a slow copy of the model itself (step/teacher.py); a prime marks its embeddings, which have no gradient.

**TGC**, in words: a caption must stay nearer to what the teacher made of it than to its own hard negatives.

    L_tgc = mean over i with a negative of  -log( exp t T_i.T'_i / (exp t T_i.T'_i + sum_k exp t T_i.N_ik) )
            t = 10, fixed

**Distillation**, in words: no embedding of the batch, right or wrong, moves far from the teacher's.

    L_dis = 256 mean_i ( |I_i - I'_i|^2 + |T_i - T'_i|^2 + sum_k |N_ik - N'_ik|^2 )

The image-grounded contrast of the paper is SVLC's negative loss (svlc.py).

Where paper and code differ (of the paper only the abstract was at hand):
- TGC's mask is wrong in the code: negatives are stored caption by caption, the mask is tiled, so row i opens the
  columns i, B + i, 2B + i, ..., nearly all of them other captions' negatives (1,020 of 1,024 at a batch of 256). Here
  each caption meets its own. The published number was most likely made with the wrong mask, which is there since the
  code's first commit.
- The code's distillation is a sum over its global batch of 256, so that its weight would change with the batch. Here it
  is that batch's sum for any batch: the same number at 256.
- A caption needs four negatives in the code, else it stops. Here those that are missing are absent.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from equipoise.train.features import Features, valid
from equipoise.train.losses.masked import logsumexp, mean, need

BATCH = 256  # the published batch, over which the code sums the distillation


@dataclass(frozen=True)
class DeglaText:
    scale: float = 10.0

    def __call__(self, features: Features) -> Tensor:
        teacher = need(features.teacher_caption, "teacher_caption")
        negative = need(features.negative, "negative")
        mask = valid(features.negative_mask, negative)
        own = self.scale * (features.caption * teacher).sum(-1, keepdim=True)
        against = self.scale * torch.einsum("bd,bkd->bk", features.caption, negative)
        columns = torch.cat([torch.ones_like(mask[:, :1]), mask], 1)
        return mean(logsumexp(torch.cat([own, against], 1), columns, 1) - own[:, 0], mask.any(1))


def degla_distillation(features: Features) -> Tensor:
    negative = need(features.negative, "negative")
    image = _moved(features.image, need(features.teacher_image, "teacher_image"))
    caption = _moved(features.caption, need(features.teacher_caption, "teacher_caption"))
    wrong = _moved(negative, need(features.teacher_negative, "teacher_negative"))
    wrong = torch.where(valid(features.negative_mask, negative), wrong, 0).sum(1)
    return BATCH * (image + caption + wrong).mean()


def _moved(student: Tensor, teacher: Tensor) -> Tensor:
    return ((student - teacher) ** 2).sum(-1)
