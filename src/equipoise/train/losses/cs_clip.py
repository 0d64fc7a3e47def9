"""CS-CLIP's unit loss (Kargi et al. 2026): a part of a caption fits the photo; the part with one change does not.

In words: besides the whole caption, an image must find each of M short texts about it (units) among the same units of
the other images and the unit's own foil, and a unit must find its image.

    L = mean over m of 1/2 [ mean_i -log( exp s I_i.U_im / (sum_j exp s I_i.U_jm + exp s I_i.F_im) )
                             + mean_i -log( exp s I_i.U_im / sum_j exp s I_j.U_im ) ]

U is Features.dense, F its dense_negative. i and j run over the samples with a unit m, m over units that a sample has.

Where paper and code differ: we had only the abstract of the paper; this follows the code. A foil is a column for its
own image only (B + 1 columns), while the caption's foil in the full loss is a column for every image (itc_hn.py). In
the code every unit has a foil; here a unit without one keeps its row, with B columns.
"""

from __future__ import annotations

import torch
from torch import Tensor

from equipoise.train.losses.base import Features, diagonal_cross_entropy, mean, need, valid


def cs_unit(features: Features) -> Tensor:
    units, foils = need(features.dense, "dense"), need(features.dense_negative, "dense_negative")
    rows, wrong = valid(features.dense_mask, units), valid(features.dense_negative_mask, foils)
    losses = [
        _contrast(features, units[:, m], rows[:, m], foils[:, m], wrong[:, m]).reshape(()) for m in range(rows.shape[1])
    ]
    return mean(torch.stack(losses), rows.any(0))


def _contrast(features: Features, unit: Tensor, rows: Tensor, foil: Tensor, wrong: Tensor) -> Tensor:
    logits = features.scale * features.image @ unit.T
    own_foil = features.scale * (features.image * foil).sum(-1, keepdim=True)
    columns = torch.cat([rows.expand_as(logits), wrong[:, None]], 1)
    image_to_text = diagonal_cross_entropy(torch.cat([logits, own_foil], 1), rows, columns)
    return (image_to_text + diagonal_cross_entropy(logits.T, rows, rows)) / 2
