"""Adversarial refinement (SugarCrepe, Hsieh et al. 2023): keep pairs until two blind judges know nothing.

A pair is a right text and a wrong one; a judge's gap is its score of the right one minus its score of the wrong one.
Pairs are put into a grid by their two gaps; a cell and its mirror image through the origin keep equally many pairs,
drawn with a seed. So for every pair that lets a judge win there is one that makes it lose by as much, and both judges
end at exactly 50 %. The published code falls over a gap of exactly 1, which lies outside its grid; here the last cell
holds it. Scores on any scale are allowed: gaps are divided by the largest.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from equipoise.errors import UserError
from equipoise.files import atomic_write
from equipoise.items import Item
from equipoise.perturb.manifest import line_of

GRID = 50  # cells for each sign and judge
GRID_ALONE = 10  # cells where the other judge sees no difference
Score = Callable[[Sequence[str]], Sequence[float]]


def refine(first: Sequence[float], second: Sequence[float], seed: int = 0) -> list[int]:
    """Which pairs to keep, given each judge's gaps: both then prefer the right text in exactly half of the cases."""
    if len(first) != len(second):
        raise ValueError(f"{len(first)} gaps of one judge and {len(second)} of the other")
    if not all(map(math.isfinite, (*first, *second))):
        raise ValueError("expected finite gaps, found NaN or infinity")
    one, two = _scaled(first), _scaled(second)
    cells: dict[tuple[int, int], list[int]] = {}
    for pair, gaps in enumerate(zip(one, two, strict=True)):
        cells.setdefault(_cell(*gaps), []).append(pair)
    rng = random.Random(seed)
    kept = list(cells.pop((0, 0), ()))  # neither judge sees a difference: nothing to balance
    for cell in sorted(cells):
        mirror = (-cell[0], -cell[1])
        if cell < mirror:
            continue  # each two cells once, from the one that sorts last
        here, there = cells[cell], cells.get(mirror, [])
        most = min(len(here), len(there))
        kept += rng.sample(here, most) + rng.sample(there, most)
    return sorted(kept)


def _scaled(gaps: Sequence[float]) -> list[float]:
    largest = max(map(abs, gaps), default=0.0)
    return [gap / largest if largest else 0.0 for gap in gaps]


def _cell(one: float, two: float) -> tuple[int, int]:
    grid = GRID if one and two else GRID_ALONE
    return _step(one, grid), _step(two, grid)


def _step(gap: float, grid: int) -> int:
    """The cell of a gap, signed, from 1; 0 only for no gap at all."""
    if gap == 0:
        return 0
    step = min(math.floor(grid * abs(gap)) + 1, grid)
    return step if gap > 0 else -step


# ---------------------------------------------------------------------------- items


def refine_items(read: Callable[[], Iterable[Item]], first: Score, second: Score, seed: int = 0) -> Iterator[Item]:
    """Items with the negatives that survive; an item whose negatives are all gone goes too.

    `read` is called twice, so that a file need not fit into memory: once to score, once to write.
    """
    gaps: tuple[list[float], list[float]] = ([], [])
    for item in read():
        texts = [item.caption, *(negative.text for negative in item.negatives)]
        for judge, found in zip((first, second), gaps, strict=True):
            original, *others = judge(texts)
            found += [original - other for other in others]
    kept, place = set(refine(*gaps, seed)), 0
    for item in read():
        numbers = range(place, place + len(item.negatives))
        place += len(item.negatives)
        negatives = tuple(item.negatives[number - numbers.start] for number in numbers if number in kept)
        if negatives:
            yield item.model_copy(update={"negatives": negatives})


def refine_file(path: Path, first: Score, second: Score, seed: int = 0) -> dict[str, Any]:
    """Refine an items file in place, atomically; returns how many negatives there were and are."""
    counts = {"negatives_before": 0, "negatives_after": 0, "items_after": 0}

    def read() -> Iterator[Item]:
        with path.open("rb") as handle:
            for line in handle:
                yield Item.model_validate_json(line)

    counts["negatives_before"] = sum(len(item.negatives) for item in read())
    if not counts["negatives_before"]:
        raise UserError(f"{path}: refinement balances negatives, and this recipe makes none")
    with atomic_write(path) as handle:
        for item in refine_items(read, first, second, seed):
            counts["items_after"] += 1
            counts["negatives_after"] += len(item.negatives)
            handle.write(line_of(item.to_json()) + "\n")
    return counts
