"""Which models can be finetuned, and by which recipes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TypeAlias

from equipoise.core.errors import UserError
from equipoise.models.clip import ClipModel
from equipoise.models.scorers.itm import MatchingModel
from equipoise.train.recipe import Recipe

Trainable: TypeAlias = ClipModel | MatchingModel


def trainable(model: object, spec: str) -> Trainable:
    if isinstance(model, Trainable):
        return model
    raise UserError(
        f"{spec}: only CLIP- and SigLIP-style models of transformers (hf:) and BLIP and X-VLM (itm:) can be "
        "finetuned; for others use the losses in your own loop (docs/python.md)"
    )


def saved_spec(model: Trainable, folder: object) -> str:
    return f"{'itm' if isinstance(model, MatchingModel) else 'hf'}:{folder}"


def misfits(recipe: Recipe, model: Trainable) -> Iterator[str]:
    if not isinstance(model, MatchingModel):
        if recipe.needs.matching:
            yield f"{model.spec} has no matching head, which this recipe trains; use a BLIP or X-VLM, as itm:FOLDER"
        if recipe.needs.tokens and not model.family.by_pieces:
            yield f"{model.spec} has no token features; this recipe's local loss needs a CLIP model"
        return
    if model.family.contrast is None:
        yield f"{model.spec} is a {model.family.name}; of the itm: models, only BLIP and X-VLM can be finetuned"
    if not recipe.needs.matching:
        yield f"{model.spec} has a matching head; only ce_xvlm_zhang_2024 and control_itm train it"
    for given, what in (
        (recipe.lora, "lora"),
        (recipe.freeze, "freeze"),
        (recipe.needs.teacher, "a teacher"),
        (recipe.needs.tokens, "a local loss"),
        (int(os.environ.get("WORLD_SIZE", "1")) > 1, "torchrun (use one process)"),
    ):
        if given:
            yield f"a model with a matching head cannot be trained with {what}"
