"""Features, the input of every loss: the embeddings of the global batch and their masks.

The loop fills a `Features` (gathered from all processes, and whole under GradCache); a loss turns it into `LossParts`.
Losses know nothing about models, processes or files, so each can be read next to its paper and tested with random
vectors.

Features are float32 or float64, outside autocast: a similarity of 0.25 times a scale of 100 has only two digits after
the point in bfloat16, less than a hard negative's margin.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from torch import Tensor


@dataclass
class Features:
    """Shapes: B samples, K slots for negatives, M dense captions, P image patches, T text tokens, D dimensions. All
    vectors are unit-norm except patches and tokens. Where a sample has no positive, no negative in a slot or no hard
    image, the mask is False and the row has any finite value (usually zeros), which a loss must ignore. A mask of None
    means that all rows exist."""

    image: Tensor  # (B, D)
    caption: Tensor  # (B, D)
    scale: Tensor  # exp(logit_scale), a scalar
    bias: Tensor | None = None  # SigLIP's logit bias, a scalar

    positive: Tensor | None = None  # (B, D), the hard positive drawn for each sample
    positive_mask: Tensor | None = None  # (B,) bool
    negative: Tensor | None = None  # (B, K, D); slot k is type k where the recipe has types
    negative_mask: Tensor | None = None  # (B, K) bool

    # NegCLIP: a mined hard image for each sample, with its caption and the caption's negatives
    hard_image: Tensor | None = None  # (B, D)
    hard_caption: Tensor | None = None  # (B, D)
    hard_image_mask: Tensor | None = None  # (B,) bool, for the image and its caption
    hard_negative: Tensor | None = None  # (B, K, D)
    hard_negative_mask: Tensor | None = None  # (B, K) bool

    # DAC: dense captions of each image, and a negative of each of them
    dense: Tensor | None = None  # (B, M, D)
    dense_mask: Tensor | None = None  # (B, M) bool
    dense_negative: Tensor | None = None  # (B, M, D)
    dense_negative_mask: Tensor | None = None  # (B, M) bool

    # FSC-CLIP's local loss: projected into the joint space, NOT normalised
    patches: Tensor | None = None  # (B, P, D), without the class token
    caption_tokens: Tensor | None = None  # (B, T, D)
    caption_tokens_mask: Tensor | None = None  # (B, T) bool: words and the end token; no start token, no padding
    negative_tokens: Tensor | None = None  # (B, K, T, D)
    negative_tokens_mask: Tensor | None = None  # (B, K, T) bool

    # DeGLA: a teacher's embeddings of the same images and texts, without a gradient; masks as above
    teacher_image: Tensor | None = None  # (B, D)
    teacher_caption: Tensor | None = None  # (B, D)
    teacher_negative: Tensor | None = None  # (B, K, D)

    # The N pairs of a matching head
    match: Tensor | None = None  # (N,) log-odds that image and text belong together
    matching: Tensor | None = None  # (N,) 1 if they do, else 0


@dataclass
class LossParts:
    """A loss and, for the log, its detached and unweighted parts."""

    total: Tensor
    parts: dict[str, Tensor] = field(default_factory=dict)
