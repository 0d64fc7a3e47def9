"""READ-CLIP (Kwon et al. 2025): paraphrases aligned in the text tower, next to swapped negatives."""

from __future__ import annotations

from equipoise.train.losses.itc_hn import itc_hn
from equipoise.train.losses.read import read_alignment
from equipoise.train.recipe import ANY, SWAP, UNHELD, Needs, Recipe, Weight


def read_clip_kwon_2025(*, alignment_weight: Weight = 0.5) -> Recipe:
    """READ-CLIP without its decoder: NegCLIP's contrast with three swaps, and paraphrases aligned.

    L = L_itc(hn) + 0.5 L_align. Left out: the reconstruction of the paper's title, 0.1 L_rec, in which a frozen T5
    writes another caption of the photo from the text embedding. So do not expect READ-CLIP's numbers from this recipe.

    The positive is any hard positive of the item; the code draws another human caption of the photo or a language
    model's paraphrase (silently only the former if its file of paraphrases is missing). The negatives are up to three
    different swaps of the item; the code makes three new ones each time (nouns, adjectives, adverbs, noun chunks, verb
    phrases), and if a caption has nothing to swap, three empty texts stay as columns for every image. Here they are
    masked. The scale may exceed 100, as in the code."""
    return Recipe(
        citation=(
            "Kwon et al. 2025, Enhancing Compositional Reasoning in CLIP via Reconstruction and Alignment of Text "
            "Descriptions, NeurIPS"
        ),
        terms={"itc": (1, itc_hn), "alignment": (alignment_weight, read_alignment)},
        needs=Needs(positive=ANY if alignment_weight else None, negatives=(SWAP,) * 3),
        lr=1e-5,
        betas=(0.9, 0.999),
        eps=1e-8,
        grad_clip=1.0,
        max_scale=UNHELD,
        seed=2025,
    )
