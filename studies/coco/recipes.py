"""Recipes between the papers' and ours: what does each of our parts do for theirs?"""

from __future__ import annotations

from dataclasses import replace

from equipoise.train.losses.keep import keep
from equipoise.train.losses.masked import Term
from equipoise.train.losses.rank_each import RankEach
from equipoise.train.losses.svlc import svlc_analogy
from equipoise.train.recipe import Recipe
from equipoise.train.recipes.ce_clip import ce_clip_zhang_2024
from equipoise.train.recipes.kamath import hard_positives_kamath_2024
from equipoise.train.recipes.shared import ANY, REPLACE, SWAP


def paper_keep() -> Recipe:
    """The paper's recipe, and photos and captions go on preferring each other as in the base."""
    recipe = hard_positives_kamath_2024()
    return replace(recipe, terms={**recipe.terms, "keep": (1.0, keep)}, needs=replace(recipe.needs, teacher=1.0))


def paper_margin() -> Recipe:
    """The paper's recipe with our two negatives, and caption and positive each above them by a margin."""
    recipe = hard_positives_kamath_2024()
    margin: Term = RankEach(0.0, 3.0)
    return replace(
        recipe,
        terms={**recipe.terms, "negative": (0.5, margin)},
        needs=replace(recipe.needs, negatives=(REPLACE, SWAP)),
    )


def ce_clip_positives() -> Recipe:
    """CE-CLIP with the paper's loss of hard positives."""
    recipe = ce_clip_zhang_2024()
    terms = {**recipe.terms, "positive": (1.0, svlc_analogy)}
    return replace(recipe, terms=terms, needs=replace(recipe.needs, positive=ANY))
