"""The checks of a model, made once: the second time they are read from the cache folder, and only a few answers are
asked for, to see that it is still the same model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel, ValidationError

from equipoise.core.files import atomic_write, sha256_json
from equipoise.data import identity
from equipoise.evaluation.preflight.checks import HARMFUL, check, drift, preflight
from equipoise.evaluation.record import Check, Preflight
from equipoise.evaluation.run_id import model_card
from equipoise.models.base import kind_of, reads_images


class _Kept(BaseModel):
    answers: list[list[list[float]]]  # of `identity.answers`: pictures, texts; or the scores of pairs
    checks: list[Check]


def checked(model: Any, spec: str, folder: Path | None) -> Preflight | None:
    """The checks, from `folder` where the model was checked before; None where none applies."""
    if kind_of(model) == "taught" or not reads_images(model):
        return None
    card = identity.of_card(model_card(model, probe=True).model_dump(mode="json"))
    if folder is None or card is None:
        return Preflight(checks=preflight(model, spec))
    path = folder / "preflight" / f"{sha256_json([card, identity.of_code('evaluation/preflight', 'world')])}.json"
    served = str(getattr(model, "device", "")) == "server"  # each answer costs, and its digest knows no weights
    answers = None if served else identity.answers(model)
    now = [array.tolist() for array in answers or []]
    kept = _read(path)
    if kept is not None and (other := _drift(kept.answers, now)) <= HARMFUL:
        return Preflight(checks=kept.checks)
    found = preflight(model, spec)
    if kept is not None and not any(one.name == "determinism" and one.verdict == "wrong" for one in found):
        return Preflight(checks=[*found, _other_weights(other)])
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as handle:
        handle.write(_Kept(answers=now, checks=found).model_dump_json())
    return Preflight(checks=found)


def _other_weights(other: float) -> Check:
    return check(
        "identity",
        other,
        f"a model with this very card was checked before and gave other answers: drift {other:.2g}",
        "wrong",
        "Embeddings are cached under the model's card: those of the other weights would be used for this model.",
        "Let the card's weight_sha256 or digest change with the weights, or leave both out; then --no-cache once, or "
        "delete the cache folder.",
    )


def _drift(before: list[list[list[float]]], now: list[list[list[float]]]) -> float:
    try:
        pairs = [(np.array(one), np.array(other)) for one, other in zip(before, now, strict=True)]
        return max((drift(one, other) for one, other in pairs), default=0.0)
    except ValueError:  # of another width
        return 1.0


def _read(path: Path) -> _Kept | None:
    try:
        return _Kept.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None
