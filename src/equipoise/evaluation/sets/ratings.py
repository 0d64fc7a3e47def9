"""Does a model rank caption-photo pairs as people do? Spearman's rho, photos resampled.

Resamples are weights: a pair counts as often as its photo was drawn. The correlation is therefore computed with
weights, many resamples at a time; with weights of 1 it is the plain one. Ties share their rank, so a model that gives
every pair the same score has no correlation at all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.core import stats
from equipoise.core.errors import UserError
from equipoise.data.readers.sets.kinds import RatingSet
from equipoise.embedding.cache import ScoringOptions
from equipoise.evaluation.scoring import Scoring, cosines
from equipoise.evaluation.sets import RatingRow
from equipoise.evaluation.sets.scoring import Estimate, pair_scores, vectors
from equipoise.models.base import Embedder, PairScorer, kind_of

_TOGETHER = 256  # resamples at a time
Floats = stats.Floats


def score(model: Any, data: RatingSet, how: ScoringOptions, log: Scoring) -> list[RatingRow]:
    values = (_of_pairs if kind_of(model) == "pairs" else _of_vectors)(model, data, how, log)
    pairs = [pair for pair in data.pairs if pair.photo.path not in log.skipped]
    if len(pairs) < 2:
        raise UserError(f"{data.name}: {len(pairs)} of {len(data.pairs):,} pairs could be used")
    return [
        RatingRow(id=pair.id, image=pair.photo.path, rating=pair.rating, score=value)
        for pair, value in zip(pairs, values, strict=True)
    ]


def _of_vectors(model: Embedder, data: RatingSet, how: ScoringOptions, log: Scoring) -> list[float]:
    texts = list(dict.fromkeys(pair.text for pair in data.pairs))
    embedded = vectors(model, data.refs(), texts, data.source, how, log)
    pairs = [pair for pair in data.pairs if pair.photo.path not in log.skipped]
    images = np.array([embedded.image[pair.photo] for pair in pairs], dtype=np.int64)
    strings = np.array([embedded.text[pair.text] for pair in pairs], dtype=np.int64)
    values: list[float] = cosines(embedded.images, embedded.texts, images, strings).tolist()
    return values


def _of_pairs(model: PairScorer, data: RatingSet, how: ScoringOptions, log: Scoring) -> list[float]:
    refs = data.refs()
    texts: dict[str, list[str]] = {}
    for pair in data.pairs:
        texts.setdefault(pair.photo.path, []).append(pair.text)
    listed = [list(dict.fromkeys(texts[ref.path])) for ref in refs]
    scores = pair_scores(model, refs, listed, data.source, how, log)
    known = {
        (ref.path, text): float(value)
        for ref, strings, values in zip(refs, listed, scores, strict=True)
        for text, value in zip(strings, values, strict=False)
    }
    return [known[pair.photo.path, pair.text] for pair in data.pairs if pair.photo.path not in log.skipped]


def measure(
    rows: Sequence[RatingRow], counts: Mapping[str, int], seed: int, resamples: int
) -> tuple[dict[str, Estimate], NDArray[np.int64], int]:
    """The correlation, and how many pairs share their score with a pair that people rated differently."""
    cluster = stats.numbered(row.image for row in rows)
    scores, ratings = np.array([row.score for row in rows]), np.array([row.rating for row in rows])
    drawn = [part for _, part in stats.draws(int(cluster.max()) + 1, seed, resamples)]
    photos = np.concatenate(drawn) if drawn else np.zeros((0, int(cluster.max()) + 1))
    spread = [
        spearman(scores, ratings, photos[start : start + _TOGETHER][:, cluster].astype(np.float64))
        for start in range(0, len(photos), _TOGETHER)
    ]
    value = float(spearman(scores, ratings, np.ones((1, len(rows))))[0])
    resampled = np.concatenate([np.zeros(0), *spread])
    estimates = {"spearman": Estimate(value, resampled, len(rows), stats.distinct(cluster), share=False)}
    return estimates, cluster, _ties(scores, ratings)


def _ties(scores: Floats, ratings: Floats) -> int:
    given: dict[float, set[float]] = {}
    for value, rating in zip(scores.tolist(), ratings.tolist(), strict=True):
        given.setdefault(value, set()).add(rating)
    return sum(len(given[value]) > 1 for value in scores.tolist())


def spearman(x: Floats, y: Floats, weights: Floats) -> Floats:
    """Spearman's rho for each row of `weights` (resamples, pairs)."""
    first, second = _ranks(x, weights), _ranks(y, weights)
    total = weights.sum(axis=1, keepdims=True)
    for ranks in (first, second):
        ranks -= (weights * ranks).sum(axis=1, keepdims=True) / total
    both = (weights * first * second).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        correlations: Floats = both / np.sqrt((weights * first**2).sum(axis=1) * (weights * second**2).sum(axis=1))
    return correlations


def _ranks(values: Floats, weights: Floats) -> Floats:
    """The mean rank of each value where each counts as often as its weight says."""
    _, group, counts = np.unique(values, return_inverse=True, return_counts=True)
    order, starts = np.argsort(group, kind="stable"), np.cumsum(counts) - counts
    sizes = np.add.reduceat(weights[:, order], starts, axis=1)
    ranks: Floats = (np.cumsum(sizes, axis=1) - (sizes - 1) / 2)[:, group]
    return ranks
