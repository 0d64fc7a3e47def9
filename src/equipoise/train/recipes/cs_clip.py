"""CS-CLIP (Kargi et al. 2026): a caption against its foil, and parts of it against theirs."""

from __future__ import annotations

from equipoise.train.losses.cs_clip import cs_unit
from equipoise.train.losses.itc_hn import itc_hn
from equipoise.train.recipe import ANY, UNHELD, Count, Needs, Recipe, Weight


def cs_clip_kargi_2026(*, unit_weight: Weight = 0.5, units: Count = 2) -> Recipe:
    """CS-CLIP: NegCLIP's contrast with one foil, and two more texts of the photo, each with its own foil.

    L = L_itc(hn) + 0.5 L_unit (losses/cs_clip.py). The units differ. In the paper, a language model writes parts of
    the caption: a relation ("a dog is on a sofa"), else an entity, each with a foil in which one thing is changed. Here
    units are drawn, with replacement, from the captions and positives of all items of the photo (including the
    caption), and a foil is any negative of the unit's item. Items that are phrases of one photo (Visual Genome's
    regions) come closest to the paper; for a photo with one item and no positive, the caption is its own unit. Left
    out: extracting units, and the terms whose weight is 0 in the code (three hinges, a paraphrase contrast).

    The code updates its schedule once per epoch, so all 5 epochs run at a tenth of the learning rate (`lr=5e-7`). The
    rate here is the one it sets, with a warm-up of 3 of its 5 epochs of COCO (414,000 captions). The code also decays
    biases and norms; we do not. The scale may exceed 100."""
    used = unit_weight > 0
    return Recipe(
        citation="Kargi et al. 2026, Half-Truths Break Similarity-Based Retrieval, arXiv:2602.23906",
        terms={"itc": (1, itc_hn), "unit": (unit_weight, cs_unit)},
        needs=Needs(negatives=(ANY,), dense=units if used else 0, dense_negatives=used),
        batch_size=128,
        weight_decay=0.01,
        warmup_steps=9_700,
        warmup_share=0.6,
        grad_clip=1.0,
        max_scale=UNHELD,
        seed=42,
    )
