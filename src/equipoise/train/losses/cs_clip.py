"""CS-CLIP's unit loss (Kargi et al. 2026): a part of a caption fits the photo, with one thing changed it does not.

In words: next to the whole caption, an image must find each of M short texts about it (units) among the same units of
the other images and the unit's own foil; and a unit must find its image.

    L = mean over m of 1/2 [ mean_i -log( exp s I_i.U_im / (sum_j exp s I_i.U_jm + exp s I_i.F_im) )
                             + mean_i -log( exp s I_i.U_im / sum_j exp s I_j.U_im ) ]

U is Features.dense, F its dense_negative. i and j run over the samples that have a unit m; the mean over m is over the
units that some sample has.

Where paper and code differ: of the paper only the abstract was at hand; this is the code. A foil is a column for its
own image alone (B + 1 columns), while the caption's foil in the full loss is one for every image (itc_hn.py). A unit of
the code always has a foil; a unit without one keeps its row here, with B columns.
"""

from __future__ import annotations

import torch
from torch import Tensor

from equipoise.train.features import Features, valid
from equipoise.train.losses.masked import diagonal_cross_entropy, mean, need


def cs_unit(features: Features) -> Tensor:
    units, foils = need(features.dense, "dense"), need(features.dense_negative, "dense_negative")
    rows, wrong = valid(features.dense_mask, units), valid(features.dense_negative_mask, foils)
    each = [
        _contrast(features, units[:, m], rows[:, m], foils[:, m], wrong[:, m]).reshape(()) for m in range(rows.shape[1])
    ]
    return mean(torch.stack(each), rows.any(0))


def _contrast(features: Features, unit: Tensor, rows: Tensor, foil: Tensor, wrong: Tensor) -> Tensor:
    logits = features.scale * features.image @ unit.T
    own_foil = features.scale * (features.image * foil).sum(-1, keepdim=True)
    columns = torch.cat([rows.expand_as(logits), wrong[:, None]], 1)
    image_to_text = diagonal_cross_entropy(torch.cat([logits, own_foil], 1), rows, columns)
    return (image_to_text + diagonal_cross_entropy(logits.T, rows, rows)) / 2
