"""`py:module:factory`: a model of the user's own, from a function that takes no arguments."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

from equipoise.errors import UserError, did_you_mean
from equipoise.models.base import Embedder, Model, PairScorer


def load_own(rest: str, *, spec: str) -> Model:
    module_name, colon, factory_name = rest.partition(":")
    if not colon or not factory_name:
        raise UserError(f"{spec}: expected py:module:factory, for instance py:my_models:make")
    here = str(Path.cwd())
    if here not in sys.path:  # a console script does not see the folder it is called from
        sys.path.insert(0, here)
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        raise UserError(f"{spec}: module {module_name!r} cannot be imported from {here} ({error})") from error
    factory = getattr(module, factory_name, None)
    if not callable(factory):
        raise UserError(
            f"{spec}: {module_name} has no function {factory_name!r}.{did_you_mean(factory_name, dir(module))}"
        )
    model = factory()
    if not isinstance(model, Embedder | PairScorer):
        raise UserError(
            f"{spec}: {factory_name}() gave {type(model).__name__}, which has neither the methods embed_images and "
            "embed_texts (rows of numbers) nor score_pairs (one number for each image and text)"
        )
    return model
