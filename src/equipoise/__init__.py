"""Equipoise: does a vision-language model know when a change of words changes the meaning?

    import equipoise as eq

    items = eq.perturb("captions.csv")
    run = eq.evaluate("hf:my-checkpoint", items, images="photos")
    run.table()

Any object with `embed_images` and `embed_texts` is a model too (docs/python.md). Names are loaded when first used:
importing this package loads neither torch nor transformers.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from equipoise.api.items import Items as Items
    from equipoise.api.items import load_items as load_items
    from equipoise.api.results import Audited as Audited
    from equipoise.api.results import Diff as Diff
    from equipoise.api.results import Doctor as Doctor
    from equipoise.api.results import Run as Run
    from equipoise.api.verbs import audit as audit
    from equipoise.api.verbs import compare as compare
    from equipoise.api.verbs import doctor as doctor
    from equipoise.api.verbs import evaluate as evaluate
    from equipoise.api.verbs import metrics as metrics
    from equipoise.api.verbs import perturb as perturb
    from equipoise.api.verbs import report as report
    from equipoise.api.verbs import train as train
    from equipoise.core.errors import UserError as UserError
    from equipoise.data.items import Edit as Edit
    from equipoise.data.items import ImageRef as ImageRef
    from equipoise.data.items import Item as Item
    from equipoise.data.items import Text as Text
    from equipoise.data.items import write_items as write_items
    from equipoise.models import load_model as load_model
    from equipoise.models.base import Embedder as Embedder
    from equipoise.models.base import PairScorer as PairScorer

__version__ = "0.1.0"

_HOMES = {
    "Audited": "api.results",
    "Diff": "api.results",
    "Doctor": "api.results",
    "Edit": "data.items",
    "Embedder": "models.base",
    "ImageRef": "data.items",
    "Item": "data.items",
    "Items": "api.items",
    "PairScorer": "models.base",
    "Run": "api.results",
    "Text": "data.items",
    "UserError": "core.errors",
    "compare": "api.verbs",
    "doctor": "api.verbs",
    "evaluate": "api.verbs",
    "load_items": "api.items",
    "load_model": "models",
    "metrics": "api.verbs",
    "write_items": "data.items",
}
_PACKAGES = ("audit", "perturb", "report", "train")  # that are called like functions, see core/verbs.py
__all__ = [*_HOMES, *_PACKAGES, "__version__"]


def __dir__() -> list[str]:
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return importlib.import_module(f"equipoise.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'equipoise' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"equipoise.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
