"""Numbers with their resamples: what every kind makes of its rows, and what a comparison subtracts.

Photos are resampled, never captions or pairs. The same photos with the same seed are the same resamples, so the
resamples of two runs on one set are paired.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from equipoise.core import stats
from equipoise.evaluation.record import Interval, ItemNumbers, Number


@dataclass(frozen=True)
class Measured:
    """One number: its value, its bootstrap values, and of how many."""

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


def clusters(photos: Iterable[str]) -> NDArray[np.int64]:
    """Each row's photo as a number from 0, in the order in which they first appear."""
    known: dict[str, int] = {}
    return np.array([known.setdefault(photo, len(known)) for photo in photos], dtype=np.int64)


def means(
    columns: Mapping[str, tuple[stats.Floats, NDArray[np.bool_]]],
    cluster: NDArray[np.int64],
    seed: int,
    resamples: int,
    shares: bool = True,
) -> dict[str, Measured]:
    """The mean of each column over the rows that its mask names."""
    values = np.stack([np.where(mask, column, 0.0) for column, mask in columns.values()], axis=1)
    counts = np.stack([mask for _, mask in columns.values()], axis=1).astype(np.float64)
    everything = [np.ones(len(cluster), dtype=bool)]
    measured, spread = stats.grouped_ratios(values.astype(np.float64), counts, cluster, everything, seed, resamples)
    images = stats.distinct_by(cluster, counts)
    return {
        name: Measured(
            float(measured[0, place]), spread[:, 0, place], int(counts[:, place].sum()), images[place], shares
        )
        for place, name in enumerate(columns)
    }


def numbers(found: Mapping[str, Measured], cluster: NDArray[np.int64], ties: int | np.integer) -> ItemNumbers:
    """The record of what was measured; a number that is undefined (a constant model has no correlation) is left out."""
    return ItemNumbers(
        n=len(cluster),
        images=len(np.unique(cluster)),
        ties=int(ties),
        metrics={
            name: Number(value=one.value, interval=one.interval(), n=one.n)
            for name, one in found.items()
            if np.isfinite(one.value)
        },
    )
