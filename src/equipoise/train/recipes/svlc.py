"""SVLC (Doveh et al. 2023): structured vision-language concepts, trained with LoRA."""

from __future__ import annotations

from equipoise.train.losses.clip import clip_loss
from equipoise.train.losses.itc_hn import itc_hn
from equipoise.train.losses.svlc import svlc_analogy, svlc_negative
from equipoise.train.recipe import ANY, Lora, Needs, Recipe, Weight


def svlc_doveh_2023(
    *, negative_weight: Weight = 1.0, positive_weight: Weight = 1.0, negatives_in_contrastive: bool = True
) -> Recipe:
    """SVLC: contrastive, negative and analogy losses on LoRA adapters.

    The published models: negatives from rules or a language model (`positive_weight=0`), positives alone
    (`negative_weight=0`), both. `negatives_in_contrastive=false` is what the code does, unintentionally, on two or more
    GPUs. One negative per sample, written by any recipe."""
    contrastive = itc_hn if negatives_in_contrastive and negative_weight else clip_loss
    return Recipe(
        citation="Doveh et al. 2023, Teaching Structured Vision & Language Concepts to Vision & Language Models, CVPR",
        terms={
            "clip": (1, contrastive),
            "negative": (negative_weight, svlc_negative),
            "positive": (positive_weight, svlc_analogy),
        },
        needs=Needs(positive=ANY if positive_weight else None, negatives=(ANY,) if negative_weight else ()),
        batch_size=128,
        warmup_steps=10_000,
        warmup_share=0.35,
        lora=Lora(),
    )
