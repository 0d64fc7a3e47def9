"""Other base models for the world: what Table 8 of the hard-positive paper and Fig. 7 of CE-CLIP do with other CLIPs.

The world ships one base model. The variants here are pretrained for the quick form, all alike and for a short time, so
they are to be compared with each other and not with the shipped one.
"""

from __future__ import annotations

from pathlib import Path

from equipoise.data.items import Item
from equipoise.models import load_model
from equipoise.models.base import Model
from studies import world_model as world
from studies.world_captions import NOISE, Noise, PretrainingImages, PretrainingItems

__all__ = ["PretrainingImages"]

SCENES = 12_800
BATCH = 256
ORDERED = Noise(shuffled=0.1, shuffled_one=0.1, shuffled_relation=0.1)
# label, width of the towers, patch, layers of the text tower, how the web writes
VARIANTS: dict[str, tuple[str, int, int, int, Noise]] = {
    "base": ("the base's shape", 128, 8, 3, NOISE),
    "half": ("half the width", 64, 8, 3, NOISE),
    "wide": ("one and a half times the width", 192, 8, 3, NOISE),
    "text": ("a text tower of one layer", 128, 8, 1, NOISE),
    "ordered": ("captions that keep their order", 128, 8, 3, ORDERED),
    "coarse": ("patches of 16 pixels", 128, 16, 3, NOISE),
}


def pretraining_items(variant: str, scenes: int = SCENES) -> list[Item]:
    """The first scenes of the world's pretraining, with captions as this variant's web writes them."""
    return PretrainingItems(scenes, 0, VARIANTS[variant][4])[:]


def untrained(variant: str, folder: Path) -> Model:
    """The variant before pretraining, saved and loaded as any model of transformers."""
    _, width, patch, layers, _ = VARIANTS[variant]
    place = folder / variant
    if not (place / "preprocessor_config.json").exists():  # written last
        shape = {"hidden_size": width, "intermediate_size": 3 * width}
        text, vision = {**shape, "num_hidden_layers": layers}, {**shape, "patch_size": patch}
        world.save(world.build_model(0, world.TEXT | text, world.VISION | vision), place)
    return load_model(f"hf:{place}", device="cpu")
