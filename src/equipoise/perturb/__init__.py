"""perturb: captions -> hard positives and hard negatives, by rules, with a reason for everything dropped."""

from equipoise.perturb.candidate import Candidate
from equipoise.perturb.caption import Caption
from equipoise.perturb.recipes import RECIPES, Perturbed, Recipe, get_recipe, perturb_caption

__all__ = ["RECIPES", "Candidate", "Caption", "Perturbed", "Recipe", "get_recipe", "perturb_caption"]
