"""Retention: what a standard evaluation lost or gained between two models, on the same photos, paired."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from equipoise import stats
from equipoise.errors import UserError
from equipoise.evaluation.record import Change, Interval
from equipoise.evaluation.results import holds_runs
from equipoise.standard.record import StandardComparison
from equipoise.standard.run import KINDS, find_standard, read_rows


def compare_standard(first: Path, others: Sequence[Path], seed: int = 0) -> list[StandardComparison]:
    """`first` against each of `others`, evaluation by evaluation where both have it; nothing where none has any."""
    before = find_standard(first)
    found = []
    for other in others:
        after = find_standard(other)
        shared = [name for name in before if name in after]
        if before and not shared and not holds_runs(first):
            there = ", ".join(after) or "none"
            raise UserError(f"{first} ({', '.join(before)}) and {other} ({there}) share no standard evaluation")
        for name in shared:
            one = difference(before[name], after[name], seed)
            found.append(one.model_copy(update={"before": str(first), "after": str(other)}))
    return found


def difference(before: Path, after: Path, seed: int = 0, resamples: int = stats.RESAMPLES) -> StandardComparison:
    """after - before of every number. Both see the same resamples of photos, so what both find hard cancels out."""
    here, rows = read_rows(before)
    there, others = read_rows(after)
    if (here.standard, here.data.sha256) != (there.standard, there.data.sha256) or (
        [(row.id, row.image) for row in rows] != [(row.id, row.image) for row in others]
    ):
        raise UserError(
            f"{before} ({here.standard} {here.data.name}, {len(rows):,} rows) and {after} ({there.standard} "
            f"{there.data.name}, {len(others):,}) were not asked the same, so they cannot be paired. Evaluate both "
            "with the same --bench, --split and --templates."
        )
    if here.images.sha256 != there.images.sha256:
        raise UserError(
            f"{before} and {after} ({here.data.name}) were evaluated on different photos, so they cannot be paired: "
            "the paths are the same, the files are not."
        )
    measure = KINDS[here.standard].measure
    (first, _, _), (second, _, _) = (measure(part, here.data.counts, seed, resamples) for part in (rows, others))
    changes = {}
    for name, one in first.items():
        value, spread = second[name].value - one.value, second[name].spread - one.spread
        known = spread[~np.isnan(spread)]
        if not np.isfinite(value) or not len(known):
            continue
        low, high = stats.percentile_interval(known)
        if one.share:
            low, high = stats.difference_interval(float(value), known, one.images)
        changes[name] = Change(
            difference=float(value),
            interval=Interval(low, high),
            clear=bool(low > 0 or high < 0),
            by_run=[float(value)],
        )
    return StandardComparison(
        standard=here.standard, data=here.data.name, before=str(before), after=str(after), changes=changes
    )
