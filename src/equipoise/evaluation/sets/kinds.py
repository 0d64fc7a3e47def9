"""The kinds of runs that are not of items: what a row is, how rows are made, what is measured of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from pydantic import BaseModel

from equipoise.core import stats
from equipoise.core.errors import UserError
from equipoise.data.readers.sets.kinds import AnySet, content_hash
from equipoise.evaluation.embedding.cache import ScoringOptions
from equipoise.evaluation.record import BenchmarkId, Change, Interval, Metrics
from equipoise.evaluation.scoring import Scoring
from equipoise.evaluation.sets import classification, ratings, retrieval
from equipoise.evaluation.sets.scoring import Measured, ReadLog, digests, numbers
from equipoise.models.base import NEEDS_NEGATIVES, kind_of


@dataclass(frozen=True)
class Kind:
    row: type[BaseModel]
    score: Callable[[Any, Any, ScoringOptions, ReadLog], Sequence[Any]]
    measure: Callable[[Sequence[Any], Mapping[str, int], int, int], tuple[dict[str, Measured], Any, int]]


KINDS = {
    "classification": Kind(classification.ClassRow, classification.score, classification.measure),
    "retrieval": Kind(retrieval.RetrievalRow, retrieval.score, retrieval.measure),
    "ratings": Kind(ratings.RatingRow, ratings.score, ratings.measure),
}


@dataclass(frozen=True)
class SetTask:
    """A set of `readers.sets` as something to evaluate a model on (run.py has the same of items)."""

    data: AnySet

    @property
    def kind(self) -> str:
        return self.data.kind

    @property
    def place(self) -> str:
        return str(self.data.source)

    def about(self) -> BenchmarkId:
        return BenchmarkId(
            name=self.data.name,
            items_sha256=content_hash(self.data),
            splits=[self.data.split] if self.data.split else [],
            counts=self.data.counts(),
        )

    def photos(self, how: ScoringOptions) -> dict[str, bytes]:
        return digests(self.data.refs(), self.data.source, how)

    def score(self, model: Any, how: ScoringOptions) -> Scoring:
        if kind_of(model) in NEEDS_NEGATIVES:
            spec = (getattr(model, "card", None) or {}).get("spec", type(model).__name__)
            raise UserError(
                f"{spec} compares a caption with hard negatives, and {self.data.name} ({self.kind}) has none; it is "
                "for items. A score for any text comes from blind:lm:FOLDER"
            )
        log = ReadLog()
        rows = KINDS[self.kind].score(model, self.data, how, log)
        return Scoring(rows, log.skipped, log.digests, log.counts)


def measure(kind: str, rows: Sequence[Any], counts: Mapping[str, int], seed: int) -> Metrics:
    """The numbers of rows."""
    found, cluster, ties = KINDS[kind].measure(rows, counts, seed, stats.RESAMPLES)
    return Metrics(overall=numbers(found, cluster, ties), by={}, macro=None, paper={})


def changes(
    kind: str, first: Sequence[Any], second: Sequence[Any], counts: Mapping[str, int], seed: int
) -> dict[str, Change]:
    """second - first of every number. Both see the same resamples of photos, so what both find hard cancels out."""
    how = KINDS[kind].measure
    (before, _, _), (after, _, _) = (how(rows, counts, seed, stats.RESAMPLES) for rows in (first, second))
    found = {}
    for name, one in before.items():
        value, spread = after[name].value - one.value, after[name].spread - one.spread
        known = spread[~np.isnan(spread)]
        if not np.isfinite(value) or not len(known):
            continue
        low, high = stats.percentile_interval(known)
        if one.share:
            low, high = stats.difference_interval(float(value), known, one.images)
        found[name] = Change(difference=float(value), interval=Interval(low, high))
    return found
