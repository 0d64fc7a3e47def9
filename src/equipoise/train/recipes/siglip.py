"""SigLIP's own loss (Zhai et al. 2023): the control for SigLIP models."""

from __future__ import annotations

from equipoise.train.losses.siglip import siglip_loss
from equipoise.train.recipe import UNHELD, Recipe


def control_siglip() -> Recipe:
    """Finetuning a SigLIP model on captions alone, with its own sigmoid loss.

    SigLIP's scale is about 117; a bound of 100 would change the model at the first step."""
    return Recipe(
        citation="Zhai et al. 2023, Sigmoid Loss for Language Image Pre-Training, ICCV",
        terms={"siglip": (1, siglip_loss)},
        max_scale=UNHELD,
    )
