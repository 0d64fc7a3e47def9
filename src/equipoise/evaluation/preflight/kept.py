"""The checks of a model, made once: the second time they are read from the cache folder, and only a few answers are
asked for, to see that it is still the same model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel, ValidationError

from equipoise.core.files import atomic_write, sha256_json
from equipoise.data import identity
from equipoise.evaluation.embedding.embed import HARMFUL, drift
from equipoise.evaluation.record import Check, Preflight
from equipoise.models.base import kind_of, reads_images


class _Kept(BaseModel):
    answers: list[Any]  # of `identity.answers`: pictures, texts; or the scores of pairs
    checks: list[Check]


def _served(model: Any) -> bool:
    return str(getattr(model, "device", "")) == "server"


def checked(model: Any, spec: str, folder: Path | None) -> Preflight | None:
    """The checks, from `folder` where the model was checked before; None where none applies."""
    if kind_of(model) == "taught" or not reads_images(model):
        return None
    if folder is not None and hasattr(model, "keep_in"):
        model.keep_in(folder)  # a server's answers
    # Each answer of a server costs, and its digest knows no weights: what it says is believed.
    answers = None if _served(model) else identity.answers(model)
    card = dict(getattr(model, "card", None) or {})
    if not (card.get("weight_sha256") or card.get("digest")):
        card["digest"] = identity.of_arrays(answers)
    about = identity.of_card(card)
    if folder is None or about is None:
        return Preflight(checks=preflight(model, spec))
    code = identity.of_code("evaluation/preflight", "evaluation/embedding", "world")
    path = folder / "preflight" / f"{sha256_json([about, str(getattr(model, 'device', '')), code])}.json"
    now = [array.tolist() for array in answers or []]
    kept = _read(path)
    other = None if kept is None else _drift(kept.answers, now)
    if kept is not None and other is not None and other <= HARMFUL:
        return Preflight(checks=kept.checks)
    found = preflight(model, spec)
    if other is not None and not any(one.name == "determinism" and one.verdict == "wrong" for one in found):
        said = f"a model with this very card was checked before and gave other answers: drift {other:.2g}"
        from equipoise.evaluation.preflight.checks import check

        return Preflight(checks=[*found, check("identity", other, said, "wrong")])
    with atomic_write(path) as handle:
        handle.write(_Kept(answers=now, checks=found).model_dump_json())
    return Preflight(checks=found)


def preflight(model: Any, spec: str) -> list[Check]:
    """The checks that apply. What was checked before does not need their pictures and texts."""
    from equipoise.evaluation.preflight.judging import all_checks, of_chooser, of_served

    if kind_of(model) == "chooses":
        return of_chooser(model, spec)
    return of_served(model, spec) if _served(model) else all_checks(model, spec)


def _drift(before: list[Any], now: list[Any]) -> float:
    try:
        pairs = [(np.atleast_2d(one), np.atleast_2d(other)) for one, other in zip(before, now, strict=True)]
        return max((drift(one, other) for one, other in pairs), default=0.0)
    except ValueError:  # of another width
        return 1.0


def _read(path: Path) -> _Kept | None:
    try:
        return _Kept.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None
