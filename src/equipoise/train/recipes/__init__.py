"""The recipes, one file per paper: each is a function that returns a `Recipe`, named after paper and year.

A recipe names its losses, the texts that it needs and its optimisation. It has no model and no data, so the same recipe
runs on a laptop (`quick=True`, sized for the built-in world) and on eight GPUs.

`equipoise train RECIPE --items F --images DIR --model M --out DIR` trains with a recipe. A new one is a
function in a file of this folder; the first line of its docstring is its summary in `train list`. For a recipe outside
the package, `equipoise train py:module:function` takes any function that returns a `Recipe`.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from importlib import import_module
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import AfterValidator, Field, TypeAdapter, ValidationError

from equipoise.core import plugins
from equipoise.core.errors import Problems, UserError, did_you_mean
from equipoise.train.recipe import Count, Freeze, Lora, Needs, Recipe, Share, Slot, Weight
from equipoise.train.recipe_rows import recipe_rows

__all__ = ["RECIPES", "SETTINGS", "Lora", "Needs", "Recipe", "Slot", "get_recipe", "named"]

RECIPES = recipe_rows()


def get_recipe(name: str, *, quick: bool = False, **options: object) -> Recipe:
    """The recipe of that name, or of `py:module:function`. Values may be strings, as on the command line:
    hn_weight="0.25", types="relation,object", wise_ft="none". All wrong options are reported together."""
    function = named(name)
    own = own_options(function)
    values = read_options(name, function, options)
    own_values = {option: value for option, value in values.items() if option in own}
    with plugins.own_code(name, "your recipe failed") if plugins.is_named(name) else nullcontext():
        recipe: object = function(**own_values)
    if not isinstance(recipe, Recipe):
        raise UserError(f"{name}: expected a function that returns a Recipe; it returned {type(recipe).__name__}")
    _refuse_idle(name, function, recipe, own_values)
    recipe.loss()  # fails here if every loss is off, not after the images are read
    in_full = {option: own_values.get(option, parameter.default) for option, parameter in own.items()}
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
        loaded = plugins.load_named(name, what, lambda value: callable(value) or isinstance(value, Recipe))
        return (lambda: loaded) if isinstance(loaded, Recipe) else loaded  # type: ignore[return-value]
    if name not in RECIPES:
        from equipoise.perturb.recipes import recipe_names

        of_texts = f" {name} is a recipe of `equipoise perturb`." if name in recipe_names() else ""
        raise UserError(
            f"no recipe {name!r}.{of_texts or did_you_mean(name, RECIPES)}\nThere are: {', '.join(RECIPES)}; "
            f"your own is {plugins.FORM}"
        )
    recipe: Callable[..., Recipe] = getattr(import_module(f"{__name__}.{RECIPES[name].module}"), name)
    return recipe


def _refuse_idle(name: str, function: Callable[..., Recipe], recipe: Recipe, own_values: dict[str, object]) -> None:
    """Refuse an option that changes nothing. Not for a user's own recipe, whose losses cannot be compared."""
    if plugins.is_named(name):
        return
    problems = Problems(f"recipe {name}")
    for option, value in own_values.items():
        if value == own_options(function)[option].default:
            continue
        try:
            without = function(**{other: v for other, v in own_values.items() if other != option})
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


def _ordered(shares: tuple[float, float]) -> tuple[float, float]:
    if shares[0] > shares[1]:
        raise ValueError("expected the smaller share first, e.g. 0.9,1")
    return shares


_Area = Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)]

# Settings of every recipe. `lora` is a rank; 0 means full finetuning.
SETTINGS: dict[str, Any] = {
    "batch_size": Count,
    "epochs": Count,
    "max_steps": Count | None,
    "lr": Annotated[float, Field(gt=0, allow_inf_nan=False)],
    "warmup_steps": Annotated[int, Field(ge=0)],
    "weight_decay": Weight,
    "grad_clip": Annotated[float, Field(gt=0, allow_inf_nan=False)] | None,
    "lora": Annotated[int, Field(ge=0)],
    "freeze": Freeze | None,
    "crop": Annotated[tuple[_Area, _Area], AfterValidator(_ordered)] | None,
    "wise_ft": Share | None,
    "distinct_images": bool,
    "seed": Annotated[int, Field(ge=0)],
}


def own_options(recipe: Callable[..., Recipe]) -> dict[str, inspect.Parameter]:
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return {
        name: parameter
        for name, parameter in inspect.signature(recipe).parameters.items()
        if parameter.kind not in kinds
    }


def hints_of(recipe: Callable[..., Recipe]) -> dict[str, Any]:
    """The types of a recipe's options: its own, then the shared settings."""
    hints = get_type_hints(recipe, include_extras=True)
    own = {
        name: hints.get(name, Any if parameter.default in (None, parameter.empty) else type(parameter.default))
        for name, parameter in own_options(recipe).items()
    }
    return own | {setting: hint for setting, hint in SETTINGS.items() if setting not in own}


def read_options(name: str, recipe: Callable[..., Recipe], options: Mapping[str, object]) -> dict[str, Any]:
    """The options converted to their types; all problems are reported together."""
    allowed = hints_of(recipe)
    problems = Problems(f"recipe {name}")
    values = {}
    for option, value in options.items():
        if option not in allowed:
            problems.add("", f"unknown option {option!r}.{did_you_mean(option, allowed)}")
            continue
        try:
            values[option] = TypeAdapter(allowed[option]).validate_python(_untyped(value, allowed[option]))
        except ValidationError as error:
            detail = error.errors()[0]["msg"].removeprefix("Value error, ")
            problems.add(option, f"{detail[0].lower()}{detail[1:]}; found {value!r}")
    for option, parameter in own_options(recipe).items():
        if parameter.default is parameter.empty and option not in options:
            problems.add(option, f"must be given: --set {option}=...")
    problems.raise_if_any(f"{name} takes: {', '.join(allowed)}")
    return values


def _untyped(value: object, hint: object) -> object:
    """Lists and none from a command-line string, which pydantic does not convert."""
    if not isinstance(value, str):
        return value
    kinds = _alternatives(hint)
    if value.lower() == "none" and type(None) in kinds:
        return None
    is_list = any(get_origin(_plain(kind)) is tuple for kind in kinds)
    return tuple(part.strip() for part in value.split(",")) if is_list else value


def with_settings(recipe: Recipe, settings: Mapping[str, Any]) -> Recipe:
    changed = dict(settings)
    if "warmup_steps" in changed:
        changed["warmup_share"] = 1.0
    if "lora" in changed:
        changed["lora"] = Lora(changed["lora"]) if changed["lora"] else None
    if "distinct_images" in changed:
        changed["needs"] = replace(recipe.needs, distinct_images=changed.pop("distinct_images"))
    return replace(recipe, **changed)


def setting_of(recipe: Recipe, setting: str) -> object:
    """A shared setting of a recipe, as a user writes it."""
    if setting == "lora":
        return recipe.lora.rank if recipe.lora else 0
    return recipe.needs.distinct_images if setting == "distinct_images" else getattr(recipe, setting)


def written(value: object) -> str:
    if isinstance(value, list | tuple):
        return ",".join(map(written, value))
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)


def type_in_words(hint: object) -> str:
    """A type in words: "number >= 0", "hn | plain | off", "whole number >= 1 or none"."""
    words = [_one_type(kind) for kind in _alternatives(hint) if kind is not type(None)]
    return " or ".join([*words, "none"] if type(None) in _alternatives(hint) else words)


_WORDS: dict[object, str] = {
    float: "number", int: "whole number", bool: "true | false", str: "text", Any: "anything"
}  # fmt: skip


def _one_type(hint: object) -> str:
    plain, inner = _plain(hint), get_args(_plain(hint))
    if get_origin(plain) is Literal:
        return " | ".join(map(str, inner))
    if get_origin(plain) is tuple and inner[-1] is Ellipsis:
        return f"some of {', '.join(map(str, get_args(inner[0])))}" if get_args(inner[0]) else "a list"
    if get_origin(plain) is tuple:
        return f"{len(inner)} with a comma, each a {type_in_words(inner[0])},"
    return f"{_WORDS.get(plain, getattr(plain, '__name__', str(plain)))} {' and '.join(_bounds(hint))}".strip()


def _bounds(hint: object) -> list[str]:
    bounds = []
    for note in get_args(hint)[1:] if get_origin(hint) is Annotated else ():
        for bound in getattr(note, "metadata", ()):
            signs = {"gt": ">", "ge": ">=", "le": "<="}
            bounds += [f"{sign} {getattr(bound, name)}" for name, sign in signs.items() if hasattr(bound, name)]
    return bounds


def _alternatives(hint: object) -> tuple[object, ...]:
    return get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)


def _plain(hint: object) -> object:
    return get_args(hint)[0] if get_origin(hint) is Annotated else hint


def about(name: str) -> dict[str, object]:
    """A recipe as JSON; shared settings have its defaults."""
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
            for option, hint in hints_of(named(name)).items()
        ],
    }


def explained(name: str) -> str:
    """The summary and details of a recipe."""
    return inspect.getdoc(named(name)) or ""


def needs_in_words(needs: Needs) -> list[str]:
    words = []
    if needs.positive:
        words.append(f"a hard positive ({_kind(needs.positive)})")
    if needs.negatives:
        words.append(f"hard negatives ({', '.join(map(_kind, needs.negatives))})")
    if needs.hard_images:
        words.append('hard images (ids in tags["hard_images"])')
    if needs.dense:
        words.append(f"several captions per image (it draws {needs.dense})")
    if needs.matching:
        words.append("a BLIP or X-VLM model (itm:, for its matching head)")
    if needs.tokens:
        words.append("a CLIP model (token features)")
    return words


def _kind(slot: Slot) -> str:
    return "any edit" if slot == Slot() else slot.name
