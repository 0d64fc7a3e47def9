"""perturb: captions -> hard positives and hard negatives, with a reason for everything dropped."""

from equipoise.perturb.candidate import Candidate
from equipoise.perturb.caption import Caption
from equipoise.perturb.engine import perturb_file
from equipoise.perturb.recipes import RECIPES, Perturbed, Recipe, get_recipe, perturb_caption
from equipoise.perturb.setup import Setup

__all__ = [
    "RECIPES",
    "Candidate",
    "Caption",
    "Perturbed",
    "Recipe",
    "Setup",
    "get_recipe",
    "perturb_caption",
    "perturb_file",
]
