"""The options of a recipe: shared settings, values from the command line, and types in words."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import AfterValidator, Field, TypeAdapter, ValidationError

from equipoise.core.errors import Problems, did_you_mean
from equipoise.train.recipe import Freeze, Lora, Recipe
from equipoise.train.recipes.shared import Count, Share, Weight


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
    return {name: one for name, one in inspect.signature(recipe).parameters.items() if one.kind not in kinds}


def hints_of(recipe: Callable[..., Recipe]) -> dict[str, Any]:
    """The types of a recipe's options: its own, then the shared settings."""
    hints = get_type_hints(recipe, include_extras=True)
    own = {
        name: hints.get(name, Any if one.default in (None, one.empty) else type(one.default))
        for name, one in own_options(recipe).items()
    }
    return own | {setting: hint for setting, hint in SETTINGS.items() if setting not in own}


def read_options(name: str, recipe: Callable[..., Recipe], options: Mapping[str, Any]) -> dict[str, Any]:
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
    for option, one in own_options(recipe).items():
        if one.default is one.empty and option not in options:
            problems.add(option, f"must be given: --set {option}=...")
    problems.raise_if_any(f"{name} takes: {', '.join(allowed)}")
    return values


def _untyped(value: Any, hint: Any) -> Any:
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


def setting_of(recipe: Recipe, setting: str) -> Any:
    """A shared setting of a recipe, as a user writes it."""
    if setting == "lora":
        return recipe.lora.rank if recipe.lora else 0
    return recipe.needs.distinct_images if setting == "distinct_images" else getattr(recipe, setting)


def written(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ",".join(map(written, value))
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)


def type_in_words(hint: Any) -> str:
    """ "number >= 0", "hn | plain | off", "whole number >= 1 or none"."""
    words = [_one_type(kind) for kind in _alternatives(hint) if kind is not type(None)]
    return " or ".join([*words, "none"] if type(None) in _alternatives(hint) else words)


def _one_type(hint: Any) -> str:
    plain, inner = _plain(hint), get_args(_plain(hint))
    if get_origin(plain) is Literal:
        return " | ".join(map(str, inner))
    if get_origin(plain) is tuple and inner[-1] is Ellipsis:
        return f"some of {', '.join(map(str, get_args(inner[0])))}" if get_args(inner[0]) else "a list"
    if get_origin(plain) is tuple:
        return f"{len(inner)} with a comma, each a {type_in_words(inner[0])},"
    words = {float: "number", int: "whole number", bool: "true | false", str: "text", Any: "anything"}
    return f"{words.get(plain, getattr(plain, '__name__', str(plain)))} {' and '.join(_bounds(hint))}".strip()


def _bounds(hint: Any) -> list[str]:
    found = []
    for note in get_args(hint)[1:] if get_origin(hint) is Annotated else ():
        for bound in getattr(note, "metadata", ()):
            signs = {"gt": ">", "ge": ">=", "le": "<="}
            found += [f"{sign} {getattr(bound, name)}" for name, sign in signs.items() if hasattr(bound, name)]
    return found


def _alternatives(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)


def _plain(hint: Any) -> Any:
    return get_args(hint)[0] if get_origin(hint) is Annotated else hint
