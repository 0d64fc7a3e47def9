"""Shared by classification, retrieval and ratings: vectors, scores of pairs, and numbers with their resamples.

Every photo and every text is embedded once and kept in the embedding cache, so that 1,000 classes in 80 templates cost
their time once. Photos are resampled, never captions or pairs. The same photos with the same seed are the same
resamples, so those of two runs on one set are paired.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from equipoise.core import stats
from equipoise.core.errors import UserError, listed
from equipoise.data.identity import of_model, photo_digests
from equipoise.data.images import ImageSource, absent
from equipoise.data.items import ImageRef, Item, Text
from equipoise.embedding.cache import EmbeddingCache, ScoringOptions
from equipoise.embedding.embed import EMBEDDING_CODE, Embedded, embed
from equipoise.evaluation.record import Interval, ItemNumbers, Number
from equipoise.evaluation.scoring import Scoring, score_items

if TYPE_CHECKING:
    from equipoise.models.base import Embedder, Model

PAIRS = 50_000  # that a pair scorer is asked for at a time: their scores are small, their bookkeeping is not


def present(refs: Sequence[ImageRef], source: ImageSource, how: ScoringOptions, log: Scoring) -> list[ImageRef]:
    """The photos that the source has; the others are refused, or skipped where that is allowed."""
    missing = absent(source, dict.fromkeys(ref.path for ref in refs))
    refuse_unread({path: f"{path}: missing" for path in missing}, source, how, log)
    return [ref for ref in refs if ref.path not in log.skipped]


def refuse_unread(bad: dict[str, str], source: ImageSource, how: ScoringOptions, log: Scoring) -> None:
    if bad and not how.allow_missing:
        raise UserError(
            f"{len(bad):,} photos {source} are missing or cannot be used:\n{listed(list(bad.values()))}\n"
            "Check --images, or evaluate on the rest with --allow-missing (the result then says how many)."
        )
    log.skipped |= bad


def digests(refs: Sequence[ImageRef], source: ImageSource, how: ScoringOptions) -> dict[str, bytes]:
    """The SHA-256 of each photo, without a model: is a finished run still of these photos?"""
    return photo_digests((ref.path for ref in present(refs, source, how, Scoring([]))), source, how.workers)


def vectors(
    model: Embedder,
    refs: Sequence[ImageRef],
    texts: Sequence[str],
    source: ImageSource,
    how: ScoringOptions,
    log: Scoring,
) -> Embedded:
    """Unit vectors of photos and texts."""
    known = of_model(model, how.batch_size, EMBEDDING_CODE)
    store = how.cache if how.cache is not None and known else EmbeddingCache(None)
    embedded = embed(model, present(refs, source, how, log), texts, source, how, store)
    log.digests |= embedded.digests
    log.counts |= embedded.counts
    refuse_unread({ref.path: why for ref, why in embedded.bad.items()}, source, how, log)
    for what, rows in (("photos", embedded.images), ("texts", embedded.texts)):
        if broken := int((~np.isfinite(rows)).any(axis=1).sum()):
            raise UserError(f"the model gives no finite embedding for {broken:,} of {len(rows):,} {what}")
    return embedded


def pair_scores(
    model: Model,
    refs: Sequence[ImageRef],
    texts: Sequence[Sequence[str]],
    source: ImageSource,
    how: ScoringOptions,
    log: Scoring,
) -> list[NDArray[np.float64]]:
    """The scores of each photo with its own list of texts; nothing where the photo was skipped.

    The one way to ask pairs is `score_items`, which wants an item with a hard negative: all texts are given as such.
    """
    usable = set(present(refs, source, how, log))
    scores: dict[int, NDArray[np.float64]] = {}
    part: list[Item] = []
    wanted = 0
    places = [place for place, ref in enumerate(refs) if ref in usable and texts[place]]
    for place in places:
        listed = tuple(Text.model_construct(text=text, edit=None) for text in texts[place])
        about: dict[str, Any] = {"id": str(place), "image": refs[place], "caption": texts[place][0], "positives": ()}
        part.append(Item.model_construct(**about, negatives=listed, tags={}))  # not checked again: there are many
        wanted += len(listed)
        if wanted < PAIRS and place != places[-1]:
            continue
        scoring = score_items(model, part, images=source, **vars(how))
        scores |= {int(row.id): np.array(row.negatives) for row in scoring.rows}
        log.digests |= scoring.digests
        log.skipped |= {refs[int(name)].path: why for name, why in scoring.skipped.items()}
        log.counts["pairs_scored"] = log.counts.get("pairs_scored", 0) + wanted
        part, wanted = [], 0
    return [scores.get(place, np.zeros(0)) for place in range(len(refs))]


@dataclass(frozen=True)
class Estimate:
    """An estimate with its bootstrap samples and sample size."""

    value: float
    spread: stats.Floats
    n: int
    images: int  # that it is of
    share: bool = True  # of something: between 0 and 1

    def interval(self, level: float = stats.LEVEL) -> Interval | None:
        """Percentiles, and the rule of shares where every photo agrees; None where nothing was resampled."""
        known = self.spread[~np.isnan(self.spread)]
        if not len(known):
            return None
        if self.share:
            return Interval(*stats.share_interval(self.value, known, self.images, level))
        return Interval(*stats.percentile_interval(known, level))


def means(
    columns: Mapping[str, tuple[stats.Floats, NDArray[np.bool_]]],
    cluster: NDArray[np.int64],
    seed: int,
    resamples: int,
) -> dict[str, Estimate]:
    """The mean of each column over the rows that its mask names."""
    values = np.stack([np.where(mask, column, 0.0) for column, mask in columns.values()], axis=1)
    counts = np.stack([mask for _, mask in columns.values()], axis=1).astype(np.float64)
    everything = [np.ones(len(cluster), dtype=bool)]
    measured, spread = stats.grouped_ratios(values.astype(np.float64), counts, cluster, everything, seed, resamples)
    images = stats.distinct_by(cluster, counts)
    return {
        name: Estimate(float(measured[0, place]), spread[:, 0, place], int(counts[:, place].sum()), images[place])
        for place, name in enumerate(columns)
    }


def numbers(estimates: Mapping[str, Estimate], cluster: NDArray[np.int64], ties: int | np.integer) -> ItemNumbers:
    """The record of what was measured; a number that is undefined (a constant model has no correlation) is left out."""
    return ItemNumbers(
        n=len(cluster),
        images=len(np.unique(cluster)),
        ties=int(ties),
        metrics={
            name: Number(value=estimate.value, interval=estimate.interval(), n=estimate.n)
            for name, estimate in estimates.items()
            if np.isfinite(estimate.value)
        },
    )
