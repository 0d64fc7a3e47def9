"""What the base model knew is kept: each photo goes on preferring the captions, and each caption the photos, as before.

In words: retrieval is a preference of every photo among all captions, and of every caption among all photos; hard
texts say nothing of either, so the model before finetuning (the teacher, whose embeddings have no gradient) does.

    L = 1/2 [ KL( softmax t I'T'^T || softmax t I T^T ) over captions  +  the same over photos ]   mean over the batch
        a prime marks the teacher's embeddings; t is the scale, without a gradient

Ours in this form; known as distillation of the similarity matrix. DeGLA (2025) holds the embeddings themselves in place
(losses/degla.py), which forbids what does not matter: turning both towers together changes no score.
"""

from __future__ import annotations

from torch import Tensor
from torch.nn.functional import kl_div, log_softmax

from equipoise.train.features import Features
from equipoise.train.losses.masked import need


def keep(features: Features) -> Tensor:
    scale = features.scale.detach()
    ours = scale * features.image @ features.caption.T
    before = scale * need(features.teacher_image, "image") @ need(features.teacher_caption, "caption").T
    return (_apart(ours, before) + _apart(ours.T, before.T)) / 2


def _apart(ours: Tensor, before: Tensor) -> Tensor:
    return kl_div(log_softmax(ours, 1), log_softmax(before, 1), reduction="batchmean", log_target=True)
