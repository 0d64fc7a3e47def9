"""DAC (Doveh et al. 2023): dense captions of each image, aligned as multiple instances."""

from __future__ import annotations

from equipoise.train.losses.dac import dac_mil, dac_negative
from equipoise.train.losses.itc_hn import itc_hn
from equipoise.train.losses.svlc import svlc_negative
from equipoise.train.recipe import ANY, Count, Lora, Needs, Recipe


def dac_doveh_2023(*, dense_captions: Count = 10, dense_negatives: bool = True) -> Recipe:
    """DAC: many captions of each image, some of them right, learned as multiple instances.

    The dense captions must be in the items: all items of an image, each with its caption and, for `dense_negatives`,
    its negatives. DAC-LLM and DAC-SAM differ in how the captions were written."""
    return Recipe(
        citation="Doveh et al. 2023, Dense and Aligned Captions Promote Compositional Reasoning in VL Models, NeurIPS",
        terms={
            "clip": (1, itc_hn),
            "mil": (1, dac_mil),
            "mil_negative": (int(dense_negatives), dac_negative),
            "negative": (1, svlc_negative),
        },
        needs=Needs(negatives=(ANY,), dense=dense_captions, dense_negatives=dense_negatives),
        batch_size=32,
        warmup_steps=10_000,
        warmup_share=0.35,
        lora=Lora(),
    )
