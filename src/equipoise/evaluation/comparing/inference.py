"""Statistical tests with numpy alone: sign flips, Holm, the smallest detectable difference."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from equipoise.core.stats import LEVEL, Floats, t_quantile

FLIPS = 9_999  # sign flips
POWER = 0.8
LEAST_ITEMS = 8  # expected to change one way, so that six do in 80 of 100: 2 * 0.5**6 = 3%, five would be 6%
_CHUNK = 256  # flips at once
_AT_ONCE = 2**19  # and signs, so that they stay in the processor's cache
_RADEMACHER = 1 / (2 * math.erfc(1))  # 3.178: 1 / (4 P(Z > sqrt 2))


def sign_flip_sums(changes: Floats, seed: int = 0, flips: int = FLIPS) -> Floats:
    """(flips, columns): the sums of (clusters, columns) with a random sign for each cluster, the same in all columns.

    Where two models do not differ, which of them is called the first is a coin toss within each image; so these sums
    are what chance makes of the difference. With one item an image this is McNemar's test.
    """
    held = changes[(changes != 0).any(axis=1)]
    # With equal weights the sums are integers, exact in float32.
    unit = np.abs(np.where(held == 0, np.inf, held)).min(axis=0, initial=np.inf)
    counts = np.rint(held / unit)
    whole = bool((np.abs(held / unit - counts) < 1e-6).all() and np.abs(counts).sum() < 2**24)
    parts, scale = (counts.astype(np.float32), np.where(np.isinf(unit), 0.0, unit)) if whole else (held, 1.0)
    rng = np.random.default_rng(seed)
    sums = np.empty((flips, changes.shape[1]))
    chunk = max(8, min(_CHUNK, _AT_ONCE // max(1, len(held)) // 8 * 8))  # whole words are drawn: all chunks, one stream
    sizes = [min(chunk, flips - start) for start in range(0, flips, chunk)]
    bits = (_bits(rng, rows * len(held)) for rows in sizes)
    done = 0
    for rows, some in zip(sizes, bits, strict=True):
        signs = some.reshape(rows, len(held))
        sums[done : done + rows] = signs.astype(parts.dtype) @ parts
        done += rows
    flipped: Floats = (2 * sums - parts.sum(axis=0, dtype=np.float64)) * scale  # what is not added is taken away
    return flipped


def _bits(rng: np.random.Generator, count: int) -> NDArray[np.uint8]:
    """The draws of rng.integers(0, 2, count, dtype=np.int8), the first bit of each byte, in a tenth of the time."""
    words = rng.integers(0, 2**64 - 1, -(-count // 8), dtype=np.uint64, endpoint=True)
    return words.astype("<u8", copy=False).view(np.uint8)[:count] >> np.uint8(7)


def flip_p_value(changes: Floats, sums: Floats) -> float:
    """Two-sided p of the sum of `changes` (one of each cluster) among its sign flips; `sums` are a sample of them.

    The observed order counts as one of the flips. So a sample alone cannot say less than 1 / 10,000, and a table of 33
    models corrects for 528 pairs. Far out in the tail a theorem says more than the sample: a sum of random signs is at
    most 3.178 times as likely to exceed x of its standard deviations as a normal value is (Bentkus and Dzindzalieta
    2015), whatever the weights and however few they are. So this is never below 2 / 2^m for m clusters that differ.
    """
    observed = abs(float(changes.sum()))
    least = observed - 1e-9 * max(1e-9, observed)  # sums of equal size must count as equal
    sampled = float((1 + (np.abs(sums) >= least).sum()) / (1 + len(sums)))
    deviation = float(np.sqrt((changes**2).sum()))
    return min(sampled, _RADEMACHER * math.erfc(observed / deviation / math.sqrt(2))) if deviation else 1.0


def smallest_detectable(error: float, changes: Floats, item: float, df: float) -> float:
    """The true difference that a test at 5% finds in about 80 of 100 repetitions.

    Two models that differ by d also disagree more than two alike do. With u the typical size of an image's
    contribution where it changes, and gains as much more likely than before as losses are less, their squared error is
    sqrt(error^4 + d^2 u^2) - d^2 u. So d = quantiles * that error + u, the last as sums of changes move in steps of
    2 u. At least eight items' worth: the six that a test needs come in 55 of 100 repetitions where six are expected.
    """
    quantiles = (t_quantile(LEVEL, df) + t_quantile(2 * POWER - 1, df)) ** 2
    total = float(np.abs(changes).sum())
    unit = float((changes**2).sum()) / total if total else item
    own = (1 + quantiles * unit) ** 2
    part = math.sqrt((quantiles * unit**2) ** 2 + 4 * own * error**4)
    return max(math.sqrt(quantiles * (quantiles * unit**2 + part) / (2 * own)) + unit, LEAST_ITEMS * item)


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's adjusted p-values: below 0.05 means that at most 5% of such families hold one false finding."""
    order = np.argsort(p_values, kind="stable")
    count = len(order)
    stepped = np.maximum.accumulate(np.asarray(p_values, dtype=float)[order] * (count - np.arange(count)))
    corrected = np.empty(count)
    corrected[order] = np.minimum(stepped, 1.0)
    return corrected.tolist()


def groups(count: int, different: Iterable[tuple[int, int]]) -> list[tuple[int, ...]]:
    """The largest sets of 0..count-1 in which no pair is different (Piepho 2004, insert and absorb).

    Each is a letter of a letters display: two models share one exactly if they do not differ significantly. Models that
    are numbered by rank give groups in order.
    """
    groups = [frozenset(range(count))]
    for first, second in different:
        split = [part for group in groups if {first, second} <= group for part in (group - {first}, group - {second})]
        kept = [group for group in groups if not {first, second} <= group]
        for part in split:
            if not any(part <= group for group in kept):
                kept = [group for group in kept if not group < part]
                kept.append(part)
        groups = kept
    return sorted(tuple(sorted(group)) for group in groups if group)


def letter(index: int) -> str:
    """a ... z, then aa, ab, ..."""
    return (letter(index // 26 - 1) if index >= 26 else "") + chr(ord("a") + index % 26)
