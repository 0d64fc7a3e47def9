"""`py:module:factory`: a model of the user's own, from a function that takes no arguments."""

from __future__ import annotations

from typing import cast

from equipoise.errors import UserError
from equipoise.models.base import Embedder, Model, PairScorer
from equipoise.plugins import load_named, source_sha256

WHAT = (
    "a model, which has the methods embed_images and embed_texts (rows of numbers) or score_pairs (one number for each "
    "image and text)"
)


def load_own(rest: str, *, spec: str) -> Model:
    if ":" not in rest:
        raise UserError(f"{spec}: expected py:module:factory, for instance py:my_models:make")
    model = load_named(spec, WHAT, _is_model)
    # Another factory, or another version of its file, is another model, whatever it says of itself.
    source = {"factory": rest, "sha256": source_sha256(spec)}
    try:
        setattr(model, "card", {"spec": spec, **(getattr(model, "card", None) or {}), "source": source})  # noqa: B010
    except (AttributeError, TypeError) as error:
        why = f"the attribute `card` of your model cannot be set ({error}); make it a plain dict"
        raise UserError(f"{spec}: {why}") from None
    return cast(Model, model)


def _is_model(value: object) -> bool:
    """A class has the methods too, but cannot be asked until it is called."""
    return isinstance(value, Embedder | PairScorer) and not isinstance(value, type)
