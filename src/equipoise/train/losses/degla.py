"""DeGLA's two losses with a teacher (Hu et al. 2025): text-grounded contrast (TGC) and self-distillation.

The teacher is a moving average of the model (step/towers.py); a prime marks its embeddings, which have no gradient.

**TGC**, in words: a caption must stay nearer to the teacher's embedding of it than to its own hard negatives.

    L_tgc = mean over i with a negative of  -log( exp t T_i.T'_i / (exp t T_i.T'_i + sum_k exp t T_i.N_ik) )
            t = 10, fixed

**Distillation**, in words: no embedding of the batch, right or wrong, moves far from the teacher's.

    L_dis = 256 mean_i ( |I_i - I'_i|^2 + |T_i - T'_i|^2 + sum_k |N_ik - N'_ik|^2 )

The paper's image-grounded contrast is SVLC's negative loss (svlc.py).

Where paper and code differ (we had only the abstract of the paper):
- TGC's mask is wrong in the code: negatives are stored caption by caption, but the mask is tiled, so row i opens the
  columns i, B + i, 2B + i, ..., nearly all of them negatives of other captions (1,020 of 1,024 at a batch of 256). Here
  a caption is compared with its own. The wrong mask is in the code's first commit, so the published number was most
  likely made with it.
- The code's distillation is a sum over its global batch of 256, so its weight would change with the batch size. Here it
  is scaled to that batch: the same number at 256.
- The code stops if a caption has fewer than four negatives. Here missing ones are masked.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from equipoise.train.losses.base import Features, logsumexp, mean, need, valid

BATCH = 256  # the published batch size


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
