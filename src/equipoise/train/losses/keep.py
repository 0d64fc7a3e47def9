"""Keeps the base model's preferences: each photo among the captions, and each caption among the photos.

In words: retrieval depends on how every photo ranks all captions and every caption all photos. Hard texts do not train
this, so the model before finetuning (the teacher, without a gradient) does.

    L = 1/2 [ KL( softmax t I'T'^T || softmax t I T^T ) over captions  +  the same over photos ]   mean over the batch
        a prime marks the teacher's embeddings; t is the scale, without a gradient

Ours in this form; known as distillation of the similarity matrix. DeGLA (2025) keeps the embeddings themselves
(losses/degla.py), which also forbids harmless changes: rotating both towers together changes no score.
"""

from __future__ import annotations

from torch import Tensor
from torch.nn.functional import kl_div, log_softmax

from equipoise.train.losses.base import Features, need


def keep(features: Features) -> Tensor:
    scale = features.scale.detach()
    ours = scale * features.image @ features.caption.T
    before = scale * need(features.teacher_image, "image") @ need(features.teacher_caption, "caption").T
    return (_apart(ours, before) + _apart(ours.T, before.T)) / 2


def _apart(ours: Tensor, before: Tensor) -> Tensor:
    return kl_div(log_softmax(ours, 1), log_softmax(before, 1), reduction="batchmean", log_target=True)
