"""Exact p-values to compare ours with."""

from __future__ import annotations

import math


def mcnemar(lost: int, gained: int) -> float:
    """McNemar's exact two-sided test: the binomial tail, summed."""
    few = sum(math.comb(lost + gained, k) for k in range(min(lost, gained) + 1))
    return min(1.0, 2 * few / 2 ** (lost + gained))
