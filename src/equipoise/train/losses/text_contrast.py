"""Text to text: a caption is closer to its rewording than to its hard negatives and to other captions.

In words: a change of words that keeps the meaning should move a text little, one that breaks it should move it far. The
text tower learns this without a photo, from the caption's own negatives and the other texts of the batch.

    L = 1/2 [ -log e^{t T.P} / (sum_j e^{t T.P_j} + sum_k e^{t T.N_k})  +  the same from P, with T in P's place ]
        mean over the samples that have a positive; t = 10, fixed

Ours in this form. READ-CLIP (2025) aligns paraphrases without own negatives. DeGLA (2025) contrasts a caption with its
own negatives, but its positive is the teacher's embedding of the same caption. CE-CLIP's IMC pushes negatives away, but
does not pull a rewording back.
"""

from __future__ import annotations

import torch
from torch import Tensor

from equipoise.train.losses.base import Features, logsumexp, mean, need, valid

SCALE = 10.0  # DeGLA's; 30 made no clear difference on Flickr8k's validation photos


def text_contrast(features: Features) -> Tensor:
    positive = need(features.positive, "positive")
    return (_from(features.caption, positive, features) + _from(positive, features.caption, features)) / 2


def _from(anchor: Tensor, other: Tensor, features: Features) -> Tensor:
    exists = valid(features.positive_mask, other)
    negative = need(features.negative, "negative")
    texts = SCALE * anchor @ other.T
    own = SCALE * torch.einsum("bd,bkd->bk", anchor, negative)
    columns = torch.cat([exists.expand_as(texts), valid(features.negative_mask, negative)], 1)
    return mean(logsumexp(torch.cat([texts, own], 1), columns, 1) - texts.diagonal(), exists)
