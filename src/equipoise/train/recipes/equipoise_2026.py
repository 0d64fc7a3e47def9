"""Our own recipe: composition without brittleness, and without forgetting."""

from __future__ import annotations

from equipoise.train.losses.agreement import agreement
from equipoise.train.losses.clip import clip_loss
from equipoise.train.losses.keep import keep
from equipoise.train.losses.rank_each import RankEach
from equipoise.train.losses.text_contrast import text_contrast
from equipoise.train.losses.two_captions import two_captions
from equipoise.train.recipe import ANY, REPLACE, SWAP, Needs, Recipe, Weight
from equipoise.train.recipes.ce_clip import SLOTS


def equipoise_2026(
    *,
    two_captions_each: bool = True,
    rank_weight: Weight = 0.5,
    margin: Weight = 3.0,
    gamma: Weight = 0.0,
    text_weight: Weight = 1.0,
    agreement_weight: Weight = 0.2,
    keep_weight: Weight = 1.0,
    by_operation: bool = True,
    by_type: bool = False,
) -> Recipe:
    """Every right caption above every wrong one; a reworded caption is a caption.

    L = L_two + 0.5 L_rank + 1.0 L_text + 0.2 L_agree + 1.0 L_keep (losses/two_captions, rank_each, text_contrast,
    agreement, keep). The positive is a second caption in the contrast. Caption and positive are each ranked 3 logits
    above a replace and a swap negative (`by_operation`). The text tower keeps the two together and the negatives apart.
    The two get the same score. Photos and captions keep the preferences of the base.

    Chosen on Flickr8k's validation photos; docs/coco.md has what it gives. `gamma` is FSC-CLIP's focal
    factor, which did not help. The recipe gains most on substitutions that occur in training and less on unseen ones;
    on the drawn world, with the usual negatives, it is worse on unseen synonyms than captions alone. `by_type` takes
    CE-CLIP's four negatives per step instead: one by swap and one of each type of replaced word."""
    own = (REPLACE, SWAP) if by_operation else (ANY,)
    return Recipe(
        citation="Equipoise, docs/coco.md",
        terms={
            "clip": (1, two_captions if two_captions_each else clip_loss),
            "rank": (rank_weight, RankEach(gamma, margin)),
            "text": (text_weight, text_contrast),
            "agreement": (agreement_weight, agreement),
            "keep": (keep_weight, keep),
        },
        needs=Needs(
            positive=ANY,
            negatives=tuple(SLOTS.values()) if by_type else own,
            teacher=1.0 if keep_weight > 0 else None,
        ),
    )
