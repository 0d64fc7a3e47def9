"""perturb: captions -> hard positives and hard negatives, with a reason for everything dropped.

Names are loaded when first used, so that a part of this package never waits for all of it.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from equipoise.language.caption import Caption as Caption
    from equipoise.perturb.recipe import Candidate as Candidate
    from equipoise.perturb.recipe import Perturbed as Perturbed
    from equipoise.perturb.recipe import Recipe as Recipe
    from equipoise.perturb.recipe import perturb_caption as perturb_caption
    from equipoise.perturb.recipes import RECIPES as RECIPES
    from equipoise.perturb.recipes import Setup as Setup
    from equipoise.perturb.recipes import get_recipe as get_recipe
    from equipoise.perturb.run.engine import perturb_file as perturb_file

_HOMES = {
    "RECIPES": "perturb.recipes",
    "Candidate": "perturb.recipe",
    "Caption": "language.caption",
    "Perturbed": "perturb.recipe",
    "Recipe": "perturb.recipe",
    "Setup": "perturb.recipes",
    "get_recipe": "perturb.recipes",
    "perturb_caption": "perturb.recipe",
    "perturb_file": "perturb.run.engine",
}
__all__ = list(_HOMES)
importlib.import_module("equipoise.core.verbs").make_callable(__name__)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'equipoise.perturb' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"equipoise.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
