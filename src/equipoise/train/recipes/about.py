"""Describes a recipe: citation, what it needs, and every option with type and default."""

from __future__ import annotations

import inspect

from equipoise.train.recipe import Needs, Slot
from equipoise.train.recipes import get_recipe, named, options_of
from equipoise.train.recipes.options import own_options, setting_of, type_in_words


def about(name: str) -> dict[str, object]:
    """As JSON; shared settings have this recipe's defaults."""
    recipe, own = get_recipe(name), own_options(named(name))
    return {
        "name": name,
        "about": explained(name).partition("\n")[0],
        "citation": recipe.citation,
        "needs": needs_in_words(recipe.needs),
        "options": [
            {
                "name": option,
                "type": type_in_words(hint),
                "default": recipe.options[option] if option in own else setting_of(recipe, option),
                "shared": option not in own,
            }
            for option, hint in options_of(name).items()
        ],
    }


def explained(name: str) -> str:
    """Summary and details."""
    return inspect.getdoc(named(name)) or ""


def needs_in_words(needs: Needs) -> list[str]:
    found = []
    if needs.positive:
        found.append(f"a hard positive ({_kind(needs.positive)})")
    if needs.negatives:
        found.append(f"hard negatives ({', '.join(map(_kind, needs.negatives))})")
    if needs.hard_images:
        found.append('hard images (ids in tags["hard_images"])')
    if needs.dense:
        found.append(f"several captions per image (it draws {needs.dense})")
    if needs.matching:
        found.append("a BLIP or X-VLM model (itm:, for its matching head)")
    if needs.tokens:
        found.append("a CLIP model (token features)")
    return found


def _kind(slot: Slot) -> str:
    return "any edit" if slot == Slot() else slot.name
