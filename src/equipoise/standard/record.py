"""The record of a standard evaluation: result.json, every field with its type, as `evaluation/record.py` has eval's."""

from __future__ import annotations

from typing import Final, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from equipoise.evaluation.record import (
    Arguments,
    Change,
    ImagesId,
    Interval,
    ModelCard,
    Settings,
)
from equipoise.provenance import Environment
from equipoise.readers.sets.kinds import Kind

SCHEMA: Final = 1


class Part(BaseModel):
    """Frozen, and refused with a word on every field that is missing, unknown or of the wrong type."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class Number(Part):
    """One measured number; None where nothing of its kind was there."""

    value: float | None
    interval: Interval | None  # images resampled
    n: int  # photos, captions, pairs or items


class Numbers(Part):
    """What was measured of some rows, by name."""

    images: int
    ties: int
    metrics: dict[str, Number]


class SetId(Part):
    """Which photos and texts: the hash is over names, texts and labels, in their order."""

    name: str
    split: str | None
    sha256: str
    counts: dict[str, int]


class Level(Part):
    """How the intervals were made."""

    level: float
    resamples: int


class StandardRecord(Part):
    """One finished standard evaluation or analysis."""

    model_config = ConfigDict(populate_by_name=True)
    schema_version: Literal[1] = Field(default=SCHEMA, alias="schema")
    standard: Kind
    date: AwareDatetime
    data: SetId
    images: ImagesId
    model: ModelCard
    settings: Settings
    intervals: Level
    numbers: Numbers
    by: dict[str, dict[str, Numbers]] = Field(default_factory=dict)  # tag -> value; of an analysis
    skipped: dict[str, str]  # photo -> why; the first hundred
    counts: dict[str, int]
    arguments: Arguments
    environment: Environment
    seconds: float
    rows_sha256: str | None  # of rows.jsonl; None: none was written


class StandardComparison(Part):
    """What changed between two runs of one standard evaluation, the same photos resampled for both."""

    standard: Kind
    data: str
    before: str
    after: str
    changes: dict[str, Change]
