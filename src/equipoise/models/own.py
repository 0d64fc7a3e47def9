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
    except Exception as error:  # whatever the user's own module raises
        raise UserError(f"{spec}: module {module_name!r} cannot be imported from {here} ({_named(error)})") from error
    factory = getattr(module, factory_name, None)
    if not callable(factory):
        raise UserError(
            f"{spec}: {module_name} has no function {factory_name!r}.{did_you_mean(factory_name, dir(module))}"
        )
    try:
        model = factory()
    except Exception as error:  # the user's own code again; the command shows them where it fails
        raise UserError(
            f"{spec}: your {factory_name}() failed ({_named(error)}); to see where:  "
            f'python -c "import {module_name}; {module_name}.{factory_name}()"'
        ) from error
    if not isinstance(model, Embedder | PairScorer):
        raise UserError(
            f"{spec}: {factory_name}() gave {type(model).__name__}, which has neither the methods embed_images and "
            "embed_texts (rows of numbers) nor score_pairs (one number for each image and text)"
        )
    return model


def _named(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
