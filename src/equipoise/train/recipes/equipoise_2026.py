"""Our own recipe: composition without brittleness and without forgetting."""

from __future__ import annotations

from equipoise.train.losses.agreement import Agreement
from equipoise.train.losses.clip import clip_loss
from equipoise.train.losses.rank_each import RankEach
from equipoise.train.losses.text_contrast import TextContrast
from equipoise.train.losses.two_captions import two_captions
from equipoise.train.recipe import Needs, Recipe, Slot
from equipoise.train.recipes.shared import ANY, REPLACE, SWAP, Share, Weight


def equipoise_2026(
    *,
    two: bool = True,
    rank_weight: Weight = 1.0,
    text_weight: Weight = 0.5,
    agreement_weight: Weight = 0.0,
    gamma: Weight = 0.0,
    margin: Weight = 0.0,
    text_scale: Weight = 10.0,
    slots: Share = 0,
    wise_ft: Share | None = None,
) -> Recipe:
    """Every right caption above every wrong one, and a reworded caption treated as a caption.

    equipoise train equipoise_2026 --items ITEMS.jsonl --model hf:openai/clip-vit-base-patch32 --out DIR
    """
    negatives: tuple[Slot, ...] = (REPLACE, SWAP) if slots else (ANY,)
    return Recipe(
        citation="Equipoise 2026",
        terms={
            "clip": (1, two_captions if two else clip_loss),
            "rank": (rank_weight, RankEach(gamma, margin)),
            "text": (text_weight, TextContrast(text_scale)),
            "agreement": (agreement_weight, Agreement()),
        },
        needs=Needs(positive=ANY, negatives=negatives),
        wise_ft=wise_ft,
    )
