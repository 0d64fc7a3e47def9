"""The recipes, one file per paper: each is a function that returns a `Recipe`, named after paper and year.

A recipe names its losses, the texts that it needs and its optimisation. It has no model and no data, so the same recipe
runs on a laptop (`quick=True`, sized for the built-in world) and on eight GPUs.

`equipoise train RECIPE --items F --images DIR --model M --out DIR` trains with a recipe. A new one is a
function in a file of this folder; the first line of its docstring is its summary in `train list`. For a recipe outside
the package, `equipoise train py:module:function` takes any function that returns a `Recipe`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from importlib import import_module

from equipoise.core import plugins
from equipoise.core.errors import Problems, UserError, did_you_mean
from equipoise.train.recipe import Lora, Needs, Recipe, Slot
from equipoise.train.recipe_rows import recipe_rows
from equipoise.train.recipes.options import SETTINGS, hints_of, own_options, read_options, with_settings, written

__all__ = ["RECIPES", "SETTINGS", "Lora", "Needs", "Recipe", "Slot", "get_recipe", "named", "options_of"]

RECIPES = recipe_rows()


def options_of(name: str) -> dict[str, object]:
    """The options of a recipe and their types: its own, then those of all recipes."""
    return hints_of(named(name))


def get_recipe(name: str, *, quick: bool = False, **options: object) -> Recipe:
    """The recipe of that name, or of `py:module:function`. Values may be strings, as on the command line:
    hn_weight="0.25", types="relation,object", wise_ft="none". All wrong options are reported together."""
    function = named(name)
    own = own_options(function)
    values = read_options(name, function, options)
    given = {option: value for option, value in values.items() if option in own}
    with plugins.own_code(name, "your recipe failed") if plugins.is_named(name) else nullcontext():
        recipe: object = function(**given)
    if not isinstance(recipe, Recipe):
        raise UserError(f"{name}: expected a function that returns a Recipe; it returned {type(recipe).__name__}")
    _refuse_idle(name, function, recipe, given)
    recipe.loss()  # fails here if every loss is off, not after the images are read
    in_full = {option: given.get(option, one.default) for option, one in own.items()}
    recipe = replace(
        recipe,
        name=name,
        options={option: list(value) if isinstance(value, tuple) else value for option, value in in_full.items()},
        source=plugins.source_sha256(name) if plugins.is_named(name) else None,
    )
    settings = {option: value for option, value in values.items() if option not in own}
    return with_settings(_quick(recipe) if quick else recipe, settings)


def named(name: str) -> Callable[..., Recipe]:
    if plugins.is_named(name):
        what = "a training recipe: a function that returns equipoise.train.recipe.Recipe"
        found = plugins.load_named(name, what, lambda value: callable(value) or isinstance(value, Recipe))
        return (lambda: found) if isinstance(found, Recipe) else found  # type: ignore[return-value]
    if name not in RECIPES:
        from equipoise.perturb.recipes import recipe_names

        of_texts = f" {name} is a recipe of `equipoise perturb`." if name in recipe_names() else ""
        raise UserError(
            f"no recipe {name!r}.{of_texts or did_you_mean(name, RECIPES)}\nThere are: {', '.join(RECIPES)}; "
            f"your own is {plugins.FORM}"
        )
    recipe: Callable[..., Recipe] = getattr(import_module(f"{__name__}.{RECIPES[name].module}"), name)
    return recipe


def _refuse_idle(name: str, function: Callable[..., Recipe], recipe: Recipe, given: dict[str, object]) -> None:
    """Refuse an option that changes nothing. Not for a user's own recipe, whose losses cannot be compared."""
    if plugins.is_named(name):
        return
    problems = Problems(f"recipe {name}")
    for option, value in given.items():
        if value == own_options(function)[option].default:
            continue
        try:
            without = function(**{other: v for other, v in given.items() if other != option})
        except UserError:
            continue
        if _live(without) == _live(recipe):
            problems.add(option, f"{written(value)} changes nothing with the other options given")
    problems.raise_if_any("Leave it out, or change the option that switches it off.")


def _live(recipe: Recipe) -> Recipe:
    return replace(recipe, terms={name: term for name, term in recipe.terms.items() if term[0] != 0})


def _quick(recipe: Recipe) -> Recipe:
    """The recipe for the built-in world's model (1.4 million parameters): a minute or two on two cores. Settings chosen
    on the world's validation scenes (src/equipoise/world/README.md)."""
    lr = 6e-3 if recipe.lora else 6e-4
    return replace(recipe, batch_size=128, epochs=100, max_steps=200, lr=lr, warmup_steps=20, warmup_share=0.1)
