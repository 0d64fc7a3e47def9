"""Hard positives and hard negatives (Kamath et al. 2024), and the controls."""

from __future__ import annotations

from equipoise.core.errors import UserError
from equipoise.train.losses.clip import clip_loss
from equipoise.train.losses.svlc import svlc_analogy, svlc_negative
from equipoise.train.recipe import ANY, REPLACE, SWAP, Needs, Recipe, Slot, Weight


def control() -> Recipe:
    """Finetuning on captions alone with CLIP's loss: the effect of the data without hard texts."""
    return _kamath(hn=0, hp=0)


def hn_only() -> Recipe:
    """Hard negatives alone ("Our HN" of Kamath et al.), which make a model oversensitive."""
    return _kamath(hn=1, hp=0)


def hp_only() -> Recipe:
    """Hard positives alone ("0 HN" of Kamath et al.), which teach that a change of words never matters."""
    return _kamath(hn=0, hp=1)


def hard_positives_kamath_2024(
    *, hn_weight: Weight = 1.0, swap_only: bool = False, replace_only: bool = False
) -> Recipe:
    """Hard positives and hard negatives together (section 5): L = L_clip + hn_weight L_neg + L_pos.

    `hn_weight` 0, 0.25, 0.5, 0.75, 1 are the rows of the paper's Table 3. By its text (5.3) they are the weight of
    the hard-negative loss at a fixed weight of the hard-positive loss, not a share of the data. `swap_only` and
    `replace_only` (Table 1d) use only positives and negatives of that operation.

    The contrastive term has no negatives: appendix D.1 says "as in CLIP", and SVLC's code, which the authors follow,
    drops them on the four GPUs they used. All weights are trained: the authors' loader builds these models without
    SVLC's LoRA. Batch size and warm-up are not published. We take SVLC's 128 for each of 4 GPUs, and a warm-up of 500,
    since SVLC's 10,000 steps are longer than the run (5,779 steps)."""
    if swap_only and replace_only:
        raise UserError("hard_positives_kamath_2024: swap_only and replace_only exclude each other; give one of them")
    return _kamath(hn=hn_weight, hp=1, slot=SWAP if swap_only else REPLACE if replace_only else ANY)


def _kamath(*, hn: float, hp: float, slot: Slot = ANY) -> Recipe:
    return Recipe(
        citation=(
            "Kamath et al. 2024, The Hard Positive Truth about Vision-Language Compositionality, arXiv:2409.17958"
        ),
        terms={"clip": (1, clip_loss), "negative": (hn, svlc_negative), "positive": (hp, svlc_analogy)},
        needs=Needs(positive=slot if hp else None, negatives=(slot,) if hn else ()),
        batch_size=512,
        warmup_steps=500,
    )
