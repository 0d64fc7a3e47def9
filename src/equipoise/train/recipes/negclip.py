"""NegCLIP (Yuksekgonul et al. 2023): hard negatives and hard images in CLIP's own loss."""

from __future__ import annotations

from equipoise.train.losses.itc_hn import itc_hn
from equipoise.train.losses.negclip import negclip_loss
from equipoise.train.recipe import ANY, Needs, Recipe


def negclip_yuksekgonul_2023(*, hard_images: bool = True) -> Recipe:
    """NegCLIP: swapped captions as negatives, and for each image a similar one with its own texts.

    The items name their hard images in tags["hard_images"]; `perturb --hard-images` finds them. A batch of 256
    encodes 512 images and 1,024 texts. `hard_images=false` uses only the negatives. Weight decay 0.2 is open_clip's
    default."""
    return Recipe(
        citation="Yuksekgonul et al. 2023, When and why vision-language models behave like bags-of-words, ICLR",
        terms={"negclip": (1, negclip_loss if hard_images else itc_hn)},
        needs=Needs(negatives=(ANY,), hard_images=hard_images),
        lr=1e-6,
        weight_decay=0.2,
    )
