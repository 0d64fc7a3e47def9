"""Zero-shot classification: is the class of a photo the one whose name is nearest?

A class is the mean of its templates' unit vectors, made a unit vector again (Radford et al. 2021). A tie counts against
the model: the right class stands behind every class with the same score. (The published code takes what topk happens to
put first.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.core import stats
from equipoise.core.errors import UserError
from equipoise.data.items import ImageRef
from equipoise.data.readers.sets.kinds import ClassSet
from equipoise.embedding.cache import ScoringOptions
from equipoise.evaluation.scoring import Scoring
from equipoise.evaluation.sets import ClassRow
from equipoise.evaluation.sets.retrieval import distinct
from equipoise.evaluation.sets.scoring import Estimate, means, vectors
from equipoise.models.base import kind_of

_BYTES = 64 * 2**20  # of scores at a time


def texts_of(data: ClassSet) -> list[list[str]]:
    return [[template.replace("{}", name) for template in data.templates] for name in data.classes]


def score(model: Any, data: ClassSet, how: ScoringOptions, log: Scoring) -> list[ClassRow]:
    if kind_of(model) == "pairs":
        raise UserError(
            f"{data.name}: classification needs a model that embeds; this one scores pairs, and would be asked "
            f"{len(data.photos) * len(data.classes) * len(data.templates):,} of them"
        )
    texts = texts_of(data)
    embedded = vectors(model, data.refs(), list(dict.fromkeys(chain.from_iterable(texts))), data.source, how, log)
    classes = np.stack([_mean(embedded.texts[[embedded.text[text] for text in listed]]) for listed in texts])
    photos = [(path, label) for path, label in data.photos if path not in log.skipped]
    if not photos:
        raise UserError(f"{data.name}: none of {len(data.photos):,} photos could be used")
    rows = [embedded.image[ImageRef.model_construct(path=path, box=None)] for path, _ in photos]
    ranks, ties, predicted = ranked(embedded.images, rows, classes, [label for _, label in photos])
    return [
        ClassRow(image=path, label=label, rank=int(rank), tie=bool(tie), predicted=int(first))
        for (path, label), rank, tie, first in zip(photos, ranks, ties, predicted, strict=True)
    ]


def _mean(unit: NDArray[np.float32]) -> NDArray[np.float64]:
    """The unit vector of the mean; zero where the templates cancel out, and then no photo is near it."""
    mean = unit.astype(np.float64).mean(axis=0)
    length = float(np.linalg.norm(mean))
    return np.asarray(mean / length if length else mean)


def ranked(
    images: NDArray[np.float32],
    rows: Sequence[int],
    classes: NDArray[np.float64],
    labels: Sequence[int],
    step: int | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.int64]]:
    """(rank of the right class, whether another has its score, the first of the highest), `step` photos at a time."""
    step = step or max(1, _BYTES // (8 * len(classes)))
    kept, place = distinct(classes)  # equal classes are one column: a multiplication may round two equal columns apart
    wanted, right = np.asarray(rows), np.asarray(labels)
    ranks, ties, predicted = [], [], []
    for start in range(0, len(wanted), step):
        part = slice(start, start + step)
        scores = (images[wanted[part]].astype(np.float64) @ kept.T)[:, place]
        own = np.take_along_axis(scores, right[part][:, None], axis=1)
        ranks.append((scores >= own).sum(axis=1) - 1)
        ties.append((scores == own).sum(axis=1) > 1)
        predicted.append(scores.argmax(axis=1))
    return np.concatenate(ranks), np.concatenate(ties), np.concatenate(predicted)


def measure(
    rows: Sequence[ClassRow], counts: Mapping[str, int], seed: int, resamples: int
) -> tuple[dict[str, Estimate], NDArray[np.int64], int]:
    """Accuracy@1, accuracy@5 (where there are more than five classes), and the mean of the classes' recalls."""
    cluster = stats.numbered(row.image for row in rows)
    rank, label = np.array([row.rank for row in rows]), np.array([row.label for row in rows])
    everything = np.ones(len(rows), dtype=bool)
    tops = (1, 5) if counts["classes"] > 5 else (1,)
    columns = {f"accuracy@{top}": ((rank < top).astype(float), everything) for top in tops}
    estimates = means(columns, cluster, seed, resamples)
    groups = [label == number for number in np.unique(label)]
    right = (rank < 1).astype(np.float64)[:, None]
    measured, spread = stats.grouped_ratios(right, np.ones_like(right), cluster, groups, seed, resamples)
    with np.errstate(invalid="ignore"):
        per_class = np.nanmean(spread[..., 0], axis=1)  # a class that a resample misses has no recall there
    images = stats.distinct(cluster)
    estimates["mean_per_class_recall"] = Estimate(float(measured[:, 0].mean()), per_class, len(rows), images)
    return estimates, cluster, sum(row.tie for row in rows)
