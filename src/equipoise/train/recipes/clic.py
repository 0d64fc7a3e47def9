"""CLIC (Peleg et al. 2025): only the text tower, several right captions, and a wrong one."""

from __future__ import annotations

from equipoise.train.losses.clic import clic_uni
from equipoise.train.losses.clip import clip_loss
from equipoise.train.losses.rank_each import RankEach
from equipoise.train.losses.two_captions import two_captions
from equipoise.train.recipe import ANY, UNHELD, Needs, Recipe, Weight


def clic_peleg_2025(
    *,
    plain_weight: Weight = 1.0,
    contrast_weight: Weight = 0.5,
    negative_weight: Weight = 0.5,
    uni_weight: Weight = 1.0,
) -> Recipe:
    """CLIC on single photos: a frozen vision tower, right captions kept together, the negative apart.

    L = L_clip + 0.5 L_cont + 0.5 L_sneg + L_uni: CLIP's loss, the same with caption and positive, each of these two
    against its own negative, and their distance. Only the text tower, the text projection and the scale are trained
    (`freeze=none`: both towers).

    Left out: CLIC's images. It joins two photos, with their sentences in either order (four right texts) or with a word
    exchanged (the wrong one). Here there is one photo; the right texts are the caption and a hard positive, the wrong
    one is any hard negative of the item. Every second step of CLIC is a plain CLIP step on single photos; here that
    loss is added to every step, with its average weight.

    Also different: the code's learning rate rises from 1e-7 over a fifth of its 1,250 steps and falls to 1e-8, not 0.
    The scale may exceed 100: the code clamps only a copy."""
    hard = negative_weight or contrast_weight or uni_weight
    return Recipe(
        citation="Peleg et al. 2025, Advancing Compositional Awareness in CLIP with Efficient Fine-Tuning, NeurIPS",
        terms={
            "clip": (plain_weight, clip_loss),
            "contrast": (contrast_weight, two_captions),
            "negative": (negative_weight, RankEach()),
            "uni": (uni_weight, clic_uni),
        },
        needs=Needs(positive=ANY if hard else None, negatives=(ANY,) if negative_weight else ()),
        freeze="vision",
        batch_size=800,
        epochs=1,
        lr=1e-6,
        warmup_steps=250,
        warmup_share=0.2,
        eps=1e-8,
        max_scale=UNHELD,
    )
