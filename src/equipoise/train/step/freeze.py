"""Freezing the image side: its weights stay, its photos are seen once, and a laptop can finetune the text side.

Locked-image tuning (LiT, Zhai et al. 2022) trains a text tower towards a fixed vision tower; CLIC (2025) does so with
hard negatives. Without random crops a frozen tower says the same of a photo in every epoch, so it is asked once.
"""

from __future__ import annotations

from typing import Any

from equipoise.errors import UserError
from equipoise.train.recipe import Freeze, Recipe


def freeze(network: Any, what: Freeze) -> None:
    """Take the vision tower, and for "vision" its projection too, out of training."""
    frozen = [network.vision_model]
    if what == "vision" and hasattr(network, "visual_projection"):
        frozen.append(network.visual_projection)
    for module in frozen:
        module.requires_grad_(False)


def refuse_with_freeze(recipe: Recipe) -> None:
    """What cannot be had together with photos that are seen once."""
    if recipe.freeze is None:
        return
    for given, why in (
        (recipe.lora is not None, "lora trains adapters in both towers"),
        (recipe.crop is not None, "crop shows other parts of a photo in every epoch"),
        (recipe.needs.tokens, "its local loss looks at patches, of which a frozen tower keeps none (local_weight=0)"),
    ):
        if given:
            raise UserError(f"{recipe.name}: freeze={recipe.freeze} does not go with it: {why}; leave one of them out")
