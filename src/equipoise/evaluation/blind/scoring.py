"""Scores of texts alone, for models that never see an image: each distinct text once, kept in the cache."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from equipoise.errors import UserError
from equipoise.evaluation.embedding.asking import batched
from equipoise.evaluation.embedding.cache import EmbeddingCache, Keeper, Keys
from equipoise.files import sha256_json
from equipoise.items import Item
from equipoise.models.base import kind_of
from equipoise.progress import progress


def score_blind(
    model: Any, items: Sequence[Item], cache: EmbeddingCache | None, batch_size: int
) -> tuple[list[list[float]], dict[str, int]]:
    """For each item the scores of its texts, caption first; and what was counted."""
    if kind_of(model) == "taught":
        return model.score_taught(items), {}
    known = _each_once(model, list(dict.fromkeys(text for item in items for text in item.texts())), cache, batch_size)
    return [[known[text] for text in item.texts()] for item in items], {"texts_scored": len(known)}


def _each_once(model: Any, texts: list[str], cache: EmbeddingCache | None, batch_size: int) -> dict[str, float]:
    """In float32, as the cache keeps them: a run that was killed and goes on has the numbers of one that was not."""
    card = getattr(model, "card", None) or {}
    store = cache if cache is not None and card.get("weight_sha256") else EmbeddingCache(None)
    keys = Keys("texts alone", sha256_json({name: value for name, value in card.items() if name != "spec"}))
    names = {text: keys(text) for text in texts}
    found = store.get(list(names.values()))
    missing = [text for text in texts if names[text] not in found]
    with Keeper(store) as keeper, progress(len(missing), "texts ", "texts") as advance:
        for batch in batched(missing, batch_size):
            values = np.asarray(model.score_texts(batch), dtype=np.float32)
            if values.shape != (len(batch),):
                raise UserError(f"score_texts: expected {len(batch)} scores, found shape {values.shape}")
            fresh = {names[text]: values[place : place + 1] for place, text in enumerate(batch)}
            keeper.add(fresh)
            found |= fresh
            advance(len(batch))
    return {text: float(found[name][0]) for text, name in names.items()}
