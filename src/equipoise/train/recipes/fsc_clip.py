"""FSC-CLIP (Oh et al. 2024): fine-grained, selectively calibrated hard negatives."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from equipoise.train.losses.clip import clip_loss
from equipoise.train.losses.fsc import FscGlobal, FscLocal
from equipoise.train.recipe import REPLACE, SHUFFLE, SWAP, Lora, Needs, Recipe, Share, Weight


def fsc_clip_oh_2024(
    *,
    global_weight: Weight = 0.5,
    local_weight: Weight = 0.2,
    gamma: Weight = 2.0,
    smoothing: Share = 0.02,
    lora: Annotated[int, Field(ge=0)] = 0,
) -> Recipe:
    """FSC-CLIP: hard negatives weighted so that zero-shot accuracy is kept.

    L = L_clip + 0.5 L_global + 0.2 L_local (1.0 for the global loss on CC3M, 0.5 for the local loss with ViT-B/16
    and L/14). Three negatives per caption: swap, replace, shuffle. `lora=4` trains adapters at ten times the learning
    rate.
    """
    return Recipe(
        citation="Oh et al. 2024, Preserving Multi-Modal Capabilities of Pre-trained VLMs, EMNLP",
        terms={
            "clip": (1, clip_loss),
            "global": (global_weight, FscGlobal(gamma, smoothing)),
            "local": (local_weight, FscLocal(gamma, smoothing)),
        },
        needs=Needs(
            negatives=(SWAP, REPLACE, SHUFFLE) if global_weight or local_weight else (), tokens=local_weight > 0
        ),
        lr=5e-5 if lora else 5e-6,
        lora=Lora(lora) if lora else None,
    )
