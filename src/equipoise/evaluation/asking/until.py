"""`--until METRIC:POINTS`: stop asking when the metric is known to within so many points.

A usual interval that is looked at again and again is too narrow. This one holds at all times at once: for each possible
mean, a game that is fair if that mean is true bets on the photos one after the other, and a mean is ruled out when the
game has won twenty-fold (Waudby-Smith and Ramdas 2024, hedged capital). The unit is a photo: the mean of its items.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from equipoise.core.errors import UserError, did_you_mean
from equipoise.evaluation.metrics import METRICS
from equipoise.evaluation.outcomes import outcomes_of
from equipoise.evaluation.scores import ItemScores

_GRID = np.linspace(0, 1, 2001)
_MOST = 0.5  # of the capital that is bet at once
LEVEL = 0.95


class Until:
    """The estimate of a metric after the photos so far."""

    def __init__(self, metric: str, points: float) -> None:
        self.metric, self.points = metric, points
        self.photos = 0
        self._sum, self._squares = 0.5, 0.25  # as if one photo had been seen, half right
        self._up, self._down = np.zeros_like(_GRID), np.zeros_like(_GRID)  # logarithms of the capital
        self.low, self.high = 0.0, 1.0

    def words(self) -> str:
        return f"{self.metric}:{self.points:g}"

    def sees(self, rows: Sequence[ItemScores]) -> bool:
        """Whether enough is known with the rows of one more photo."""
        values = METRICS[self.metric].column(outcomes_of(rows))
        values = values[~np.isnan(values)]
        return bool(len(values)) and self.adds(float(values.mean()))

    def adds(self, value: float) -> bool:
        seen = self.photos + 1
        mean = self._sum / seen
        variance = max(1e-4, self._squares / seen)
        # The bet is chosen before the value is looked at; it suits the number of photos that will be needed.
        needed = max(seen, variance * (2 / (self.points / 100)) ** 2)
        bet = math.sqrt(2 * math.log(2 / (1 - LEVEL)) / (variance * needed))
        away = value - _GRID
        with np.errstate(divide="ignore"):
            self._up += np.log1p(np.minimum(bet, _MOST / np.maximum(_GRID, 1e-9)) * away)
            self._down += np.log1p(-np.minimum(bet, _MOST / np.maximum(1 - _GRID, 1e-9)) * away)
        self.photos, self._sum = seen, self._sum + value
        self._squares += (value - mean) ** 2
        possible = np.logaddexp(self._up, self._down) - math.log(2) < math.log(1 / (1 - LEVEL))
        held = _GRID[possible]
        if len(held):  # the intervals of all times hold together
            self.low, self.high = max(self.low, float(held[0])), min(self.high, float(held[-1]))
        return (self.high - self.low) / 2 <= self.points / 100


def parse_until(text: str) -> Until:
    """`brittleness:2`"""
    name, _, points = text.partition(":")
    known = [metric.name for metric in METRICS.values() if metric.less is None]
    if name not in known:
        raise UserError(f"--until {text}: expected METRIC:POINTS, as in brittleness:2.{did_you_mean(name, known)}")
    try:
        width = float(points)
    except ValueError:
        width = 0.0
    if not 0.1 <= width <= 50:
        raise UserError(f"--until {text}: expected a number of points from 0.1 to 50 after the metric")
    return Until(name, width)
