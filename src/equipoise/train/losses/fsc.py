"""FSC-CLIP's hard-negative losses (Oh et al. 2024): global, local, and selectively calibrated (SCR).

In words: as in SVLC, an image chooses between its caption and its own negatives, but with less force, so that CLIP's
knowledge survives. A focal factor reduces the loss of pairs that are already separated, and label smoothing allows for
negatives that share most words with the caption (SCR). The local loss uses words and patches: each token gathers the
patches it resembles, and a caption scores by how well its tokens match what they gathered.

    p      = softmax over the caption (0) and the valid negatives (1..K) of the scores z
    L_scr  = mean over i with a negative of  sum_k y_k (1 - p_k)^gamma (-log p_k)
             y_0 = 1 - e + e/n,  y_k = e/n,  n = 1 + number of valid negatives;  gamma = 2, e = 0.02
    global z_k = s I . T_k
    local  a_tp = W_t . V_p (no gradient), min-max over patches, divided by its sum over patches
           z_k = log sum_t exp( s cos(W_t, sum_p a_tp V_p) )       over words and the end token

Both are added to a CLIP loss without negatives: L = L_clip + lg L_global + ll L_local.

Where paper and code differ:
- A missing negative is a zero vector in the code and stays in the softmax with a score of 0 (its label is 0). Here it
  is masked.
- The code divides by max - min without a check, so one patch, or equal patches, give NaN. Here they get equal weights.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import normalize

from equipoise.train.losses.base import Features, hide, logsumexp, mean, need, valid


@dataclass(frozen=True)
class FscGlobal:
    gamma: float = 2.0
    smoothing: float = 0.02

    def __call__(self, features: Features) -> Tensor:
        negative = need(features.negative, "negative")
        texts = torch.cat([features.caption[:, None], negative], 1)
        scores = features.scale * torch.einsum("bd,bkd->bk", features.image, texts)
        return _calibrated(scores, valid(features.negative_mask, negative), self.gamma, self.smoothing)


@dataclass(frozen=True)
class FscLocal:
    gamma: float = 2.0
    smoothing: float = 0.02

    def __call__(self, features: Features) -> Tensor:
        patches = need(features.patches, "patches")
        tokens = need(features.caption_tokens, "caption_tokens")
        wrong_tokens = need(features.negative_tokens, "negative_tokens")
        token_mask = valid(features.caption_tokens_mask, tokens)
        wrong_token_mask = valid(features.negative_tokens_mask, wrong_tokens)
        mask = wrong_token_mask.any(-1)
        if features.negative_mask is not None:
            mask = mask & features.negative_mask
        right = _local_score(patches, tokens[:, None], token_mask[:, None], features.scale)
        wrong = _local_score(patches, wrong_tokens, wrong_token_mask, features.scale)
        return _calibrated(torch.cat([right, wrong], 1), mask, self.gamma, self.smoothing)


def _local_score(patches: Tensor, tokens: Tensor, mask: Tensor, scale: Tensor) -> Tensor:
    """(B, K) scores of K texts (B, K, T, D) with the patches (B, P, D) of their image."""
    with torch.no_grad():
        weight = torch.einsum("bktd,bpd->bktp", tokens, patches)
        weight = weight - weight.amin(-1, keepdim=True)
        weight = torch.where(weight.amax(-1, keepdim=True) > 0, weight, 1)
        weight = weight / weight.sum(-1, keepdim=True)  # the division by max - min cancels
    gathered = torch.einsum("bktp,bpd->bktd", weight, patches)
    cosine = (normalize(gathered, dim=-1) * normalize(tokens, dim=-1)).sum(-1)
    return logsumexp(scale * cosine, mask, -1)


def _calibrated(scores: Tensor, mask: Tensor, gamma: float, smoothing: float) -> Tensor:
    """SCR over scores (B, 1 + K) whose column 0 is the caption; `mask` (B, K) says which negatives exist."""
    columns = torch.cat([torch.ones_like(mask[:, :1]), mask], 1)
    log_p = torch.log_softmax(hide(scores, columns), 1).masked_fill(~columns, 0)
    label = smoothing * columns.to(scores) / columns.sum(1, keepdim=True)
    label[:, 0] += 1 - smoothing
    focal = (-torch.expm1(log_p)) ** gamma
    return mean((label * focal * -log_p).sum(1), mask.any(1))
