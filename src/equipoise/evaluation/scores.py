"""Scores on disk: one JSON object per item, made here or by anybody's own code."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from equipoise.errors import Problems, UserError
from equipoise.records import checked, jsonl_lines


class TextScores(BaseModel):
    """Text-to-text cosines of an item, for SugarCrepe++'s TOT."""

    model_config = ConfigDict(strict=True, frozen=True)
    caption_positives: list[float]
    caption_negatives: list[float]
    positives_negatives: list[list[float]]


class ItemScores(BaseModel):
    """How high a model puts each text of one item for its image."""

    model_config = ConfigDict(strict=True, frozen=True, extra="ignore")  # a run also keeps outcome and texts
    id: str
    image: str | None = None  # what the bootstrap clusters by; the item itself where it is missing
    caption: float
    positives: list[float] = Field(default_factory=list)
    negatives: list[float] = Field(min_length=1)
    tags: dict[str, str] = Field(default_factory=dict)
    text: TextScores | None = None


def read_scores(path: str | Path) -> list[ItemScores]:
    """The scores of a JSONL file; every problem of the file is raised at once."""
    path = Path(path)
    problems = Problems(str(path))
    scores = [score for _, score in checked(jsonl_lines(path, problems), ItemScores, problems)]
    problems.raise_if_any(
        'Expected one object per line: {"id": "...", "image": "...", "caption": 0.31, "positives": [0.30], '
        '"negatives": [0.28], "tags": {"split": "..."}}'
    )
    if not scores:
        raise UserError(f"{path}: holds no scores; expected one JSON object per line")
    require_finite(scores, str(path))
    return scores


def require_finite(scores: Iterable[ItemScores], subject: str) -> None:
    """Refuse NaN and infinite scores by name: every comparison with NaN is false, which would pass for an opinion."""
    problems = Problems(subject)
    for score in scores:
        if math.isfinite(score.caption + sum(score.positives) + sum(score.negatives)):
            continue  # the usual case; a sum may also overflow, so the others are looked at one by one
        numbers = {"caption": [score.caption], "positives": score.positives, "negatives": score.negatives}
        for field, values in numbers.items():
            bad = [value for value in values if not math.isfinite(value)]
            if bad:
                problems.add(f"item {score.id!r}", f"{field}: expected finite scores, found {bad[0]}")
    problems.raise_if_any("A model that gives such scores is broken for these items: look at its weights and dtype.")
