"""CS-CLIP (Kargi et al. 2026): the caption against its foil, and parts of it against theirs."""

from __future__ import annotations

from equipoise.train.losses.cs_clip import cs_unit
from equipoise.train.losses.itc_hn import itc_hn
from equipoise.train.recipe import Needs, Recipe
from equipoise.train.recipes.shared import ANY, UNHELD, Count, Weight


def cs_clip_kargi_2026(*, unit_weight: Weight = 0.5, units: Count = 2) -> Recipe:
    """CS-CLIP: NegCLIP's contrast with one foil, and two further texts of the photo, each with a foil of its own.

    equipoise train cs_clip_kargi_2026 --items ITEMS.jsonl --model hf:openai/clip-vit-base-patch32 --out DIR

    L = L_itc(hn) + 0.5 L_unit (losses/cs_clip.py). What differs is what a unit is. The paper's are parts of the
    caption, written by a language model: a relation ("a dog is on a sofa"), else an entity, each with a foil in which
    one thing is changed. Here they are drawn, with replacement, from the captions and positives of all items of the
    photo (the caption itself among them), and a foil is any negative of the item that a unit came from. Items that are
    phrases of one photo (Visual Genome's regions) are nearest to the paper; of a photo with a single item and no
    positive the caption is its own unit. Left out: extracting units, and the terms whose weight is 0 in the code
    (three hinges, a paraphrase contrast).

    The code steps its schedule once an epoch, so that all 5 epochs run at a tenth of the rate: `lr=5e-7` is that; the
    rate here is the one it asks for, with a warm-up of 3 of its 5 epochs of COCO (414,000 captions). The code decays
    biases and norms too, we do not. The scale is not held below 100.
    """
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
