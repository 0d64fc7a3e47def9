"""Text against text: a caption is closer to its reworded self than to its hard negative, or to anybody's caption.

In words: a change of words that keeps the meaning should hardly move a text, one that breaks it should. The text tower
learns this without looking at a photo, from the caption's own negatives beside the other texts of the batch.

    L = 1/2 [ -log e^{t T.P} / (sum_j e^{t T.P_j} + sum_k e^{t T.N_k})  +  the same from P, with T in P's place ]
        mean over the samples that have a positive; t = `scale`, fixed

Ours in this form. READ-CLIP (2025) aligns paraphrases without own negatives; DeGLA (2025) contrasts a caption with its
own negatives, but has the teacher's embedding of the same caption as positive. CE-CLIP's IMC pushes negatives away and
has nothing to pull a reworded caption back.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from equipoise.train.features import Features, valid
from equipoise.train.losses.masked import logsumexp, mean, need


@dataclass(frozen=True)
class TextContrast:
    scale: float = 10.0

    def __call__(self, features: Features) -> Tensor:
        positive, negative = need(features.positive, "positive"), need(features.negative, "negative")
        there, wrong = valid(features.positive_mask, positive), valid(features.negative_mask, negative)
        return (
            self._from(features.caption, positive, there, negative, wrong)
            + self._from(positive, features.caption, there, negative, wrong)
        ) / 2

    def _from(self, anchor: Tensor, other: Tensor, there: Tensor, negative: Tensor, wrong: Tensor) -> Tensor:
        texts = self.scale * anchor @ other.T
        own = self.scale * torch.einsum("bd,bkd->bk", anchor, negative)
        columns = torch.cat([there.expand_as(texts), wrong], 1)
        return mean(logsumexp(torch.cat([texts, own], 1), columns, 1) - texts.diagonal(), there)
