"""NegCLIP's loss (Yuksekgonul et al. 2023): hard negatives, and hard images with theirs.

In words: each image of the batch is joined by a similar image, with its caption and that caption's negative. Every
image must find its caption among all captions and negatives, and every caption its image among all images.

    X = [I; H]   C = [T; T_H]   N = [N; N_H]           2B images, 2B captions, their negatives
    L = 1/2 [ CE(s X [C; N]^t, diagonal) + CE(s C X^t, diagonal) ]

Without hard images this is ITC with hard negatives. Where paper and code differ: the code runs on one GPU only; ours
takes the global batch. Missing hard images and negatives are masked.
"""

from __future__ import annotations

import torch
from torch import Tensor

from equipoise.train.losses.base import Features, diagonal_cross_entropy, need, valid


def negclip_loss(features: Features) -> Tensor:
    hard_image = need(features.hard_image, "hard_image")
    hard_caption = need(features.hard_caption, "hard_caption")
    image = torch.cat([features.image, hard_image])
    everyone = torch.ones(len(features.image), dtype=torch.bool, device=image.device)
    rows = torch.cat([everyone, valid(features.hard_image_mask, hard_image)])

    texts, columns = [features.caption, hard_caption], [rows]
    kinds = ((features.negative, features.negative_mask), (features.hard_negative, features.hard_negative_mask))
    for negative, mask in kinds:
        if negative is not None:
            texts.append(negative.flatten(0, 1))
            columns.append(valid(mask, negative).flatten())
    logits = features.scale * image @ torch.cat(texts).T
    image_to_text = diagonal_cross_entropy(logits, rows, torch.cat(columns))
    text_to_image = diagonal_cross_entropy(logits[:, : len(rows)].T, rows, rows)
    return (image_to_text + text_to_image) / 2
