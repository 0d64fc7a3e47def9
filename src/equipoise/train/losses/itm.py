"""ITM, the image-text matching loss of ALBEF, BLIP and X-VLM, with generated negatives: do these two belong together?

In words: the matching head reads an image and a text together and says yes or no. An image with its caption is a match.
Three kinds of pairs are not: a text with a hard image of the batch, an image with a hard caption of the batch, and an
image with a hard negative of its caption.

    L = 1/N sum_n CE(softmax(head(I_n, T_n)), y_n)     N: the pairs of all four kinds; y: match or not

The softmax has two classes, so CE is the binary cross-entropy of the log-odds. step/matching.py draws the pairs.

Where paper and code differ:
- X-VLM and BLIP draw one hard image for each text and one hard caption for each image, with the softmax of the
  contrastive similarities as probabilities, and never a pair of the same photo. X-VLM adds 1e-5 to the probabilities,
  as we do. Their mean is over 3B pairs.
- Zhang et al. 2024 do not say how CE-XVLM trains the matching head, and their repository has no training code for it.
  Here every generated negative is one more pair that does not match, in the same mean. So up to six of seven pairs do
  not match, which lowers all log-odds equally.
- BLIP's code replaces [CLS] by [ENC] for matching. transformers keeps [CLS], also in its own forward, so a model
  trained here is scored as it was trained.
- BLIP adds a momentum encoder, a queue and soft labels. X-VLM and this loss have none of them.
"""

from __future__ import annotations

from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from equipoise.train.losses.base import Features, need


def itm(features: Features) -> Tensor:
    match, matching = need(features.match, "match"), need(features.matching, "matching")
    return binary_cross_entropy_with_logits(match, matching)
