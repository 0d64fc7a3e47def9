"""Scores on disk: one JSON object per item, made here or by anybody's own code."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, model_validator

from equipoise.errors import Problems, UserError
from equipoise.records import checked, jsonl_lines

_LISTS = ("positives", "negatives")


class TextScores(BaseModel):
    """Text-to-text cosines of an item, for SugarCrepe++'s TOT."""

    model_config = ConfigDict(strict=True, frozen=True)
    caption_positives: list[float]
    caption_negatives: list[float]
    positives_negatives: list[list[float]]


class ImageScores(BaseModel):
    """The same texts for one alternative image of the item."""

    model_config = ConfigDict(strict=True, frozen=True)
    image: str | None = None
    caption: float
    positives: list[float] = Field(default_factory=list)
    negatives: list[float] = Field(default_factory=list)


class ItemScores(BaseModel):
    """How high a model puts each text of one item for its image, and for each alternative image where it has some."""

    model_config = ConfigDict(strict=True, frozen=True, extra="ignore")  # a run also keeps outcome and texts
    id: str
    image: str | None = None  # what the bootstrap clusters by; the item itself where it is missing
    caption: float
    positives: list[float] = Field(default_factory=list)
    negatives: list[float] = Field(default_factory=list)  # none only where there are negative images
    tags: dict[str, str] = Field(default_factory=dict)
    text: TextScores | None = None
    positive_images: tuple[ImageScores, ...] = ()
    negative_images: tuple[ImageScores, ...] = ()
    paired: bool = False  # negatives[k] is of the text that describes negative_images[k]

    @model_validator(mode="after")
    def _whole(self) -> ItemScores:
        if not (self.negatives or self.negative_images):
            raise ValueError("negatives: expected at least one score, or negative_images")
        if self.paired and not 0 < len(self.negative_images) <= len(self.negatives):
            raise ValueError(
                f"paired: expected a negative for each negative image, found {len(self.negatives)} for "
                f"{len(self.negative_images)}"
            )
        for kind in ("positive_images", "negative_images"):
            for place, other in enumerate(getattr(self, kind)):
                if _shape(other) != _shape(self):
                    raise ValueError(
                        f"{kind}.{place}: expected the scores of the item's own texts, {_shape(self)} positives and "
                        f"negatives, found {_shape(other)}"
                    )
        return self

    def images(self) -> list[ItemScores | ImageScores]:
        """Itself, which holds the scores for its own image, and each alternative."""
        return [self, *self.positive_images, *self.negative_images]


def _shape(scores: ItemScores | ImageScores) -> tuple[int, int]:
    return len(scores.positives), len(scores.negatives)


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
        for one in score.images():
            if math.isfinite(one.caption + sum(one.positives) + sum(one.negatives)):
                continue  # the usual case; a sum may also overflow, so the others are looked at one by one
            for field, values in (("caption", [one.caption]), *((f, getattr(one, f)) for f in _LISTS)):
                bad = [value for value in values if not math.isfinite(value)]
                if bad:
                    where = field if one is score else f"{field} of {one.image or 'an alternative image'}"
                    problems.add(f"item {score.id!r}", f"{where}: expected finite scores, found {bad[0]}")
    problems.raise_if_any("A model that gives such scores is broken for these items: look at its weights and dtype.")
