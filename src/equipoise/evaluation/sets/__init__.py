"""Runs without items (zero-shot classification, retrieval, human ratings; each is a module of kinds.SETS), and their
rows as items.jsonl has them."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict


class ClassRow(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")
    image: str
    label: int
    rank: int  # classes that score as high as the right one, or higher
    tie: bool
    predicted: int  # of equals the first

    @property
    def id(self) -> str:
        return self.image


class RetrievalRow(BaseModel):
    """One search: a caption that looks for its photo, or a photo that looks for one of its captions."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")
    find: Literal["image", "text"]
    id: str
    image: str
    rank: int  # of the others, how many score as high as the best right one, or higher
    tie: bool


class RatingRow(BaseModel):
    """One pair: what people gave it, and what the model does."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")
    id: str
    image: str
    rating: float
    score: float


ROW: dict[str, type[BaseModel]] = {"classification": ClassRow, "retrieval": RetrievalRow, "ratings": RatingRow}
