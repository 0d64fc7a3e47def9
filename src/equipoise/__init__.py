"""Equipoise: does a vision-language model know when a change of words changes the meaning?

    from equipoise import load_items, load_model, evaluate

    items = load_items("items.jsonl")
    result = evaluate(load_model("hf:my-checkpoint"), items, images="photos")
    print(result.numbers["original"], result.numbers["augmented"], result.numbers["brittleness"])

Any object with `embed_images` and `embed_texts` is a model too. Names are loaded when first used: importing this
package loads neither torch nor transformers.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from equipoise.core.errors import UserError as UserError
    from equipoise.data.items import Edit as Edit
    from equipoise.data.items import ImageRef as ImageRef
    from equipoise.data.items import Item as Item
    from equipoise.data.items import Text as Text
    from equipoise.data.items import load_items as load_items
    from equipoise.data.items import write_items as write_items
    from equipoise.evaluation.run import Result as Result
    from equipoise.evaluation.run import evaluate as evaluate
    from equipoise.models import load_model as load_model

__version__ = "0.1.0"

_HOMES = {
    "Edit": "data.items",
    "ImageRef": "data.items",
    "Item": "data.items",
    "Result": "evaluation.run",
    "Text": "data.items",
    "UserError": "core.errors",
    "evaluate": "evaluation.run",
    "load_items": "data.items",
    "load_model": "models",
    "write_items": "data.items",
}
__all__ = [*_HOMES, "__version__"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'equipoise' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"equipoise.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
