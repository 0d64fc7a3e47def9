"""A reported number beside ours: the same model, metric, rule and split, or a word on why there is no difference."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from equipoise import registry
from equipoise.board.record import Beside, Reported
from equipoise.comparing.models import Model
from equipoise.evaluation.record import Interval, Numbers, RunRecord


def beside(one: Reported, model: Model) -> Beside:
    """What was reported of a model, and what its runs (seeds: their mean) say."""
    records = [run.records[0] for run in model.runs]
    why = _hindrance(one, records[0])
    found = [_measured(one, record) for record in records] if not why else []
    values = [number[0] for number in found if number is not None]
    if len(values) < len(records):
        return Beside(reported=one, measured=None, interval=None, difference=None, why=why or _not_measured(one))
    value = float(np.mean(values))
    interval = found[0][1] if len(found) == 1 and found[0] is not None else None
    told = "" if one.average or one.split or not records[0].metrics.averages else "their rule is not stated"
    return Beside(reported=one, measured=value, interval=interval, difference=value - one.value, why=told)


def _hindrance(one: Reported, record: RunRecord) -> str:
    """Why the two are not of the same items; "" where nothing is known against it."""
    if record.benchmark.limit:
        return f"only the first {record.benchmark.limit:,} items were measured"
    if one.split is None and (gone := missing_splits(record.benchmark.name, record.benchmark.splits)):
        return f"measured without {', '.join(gone)}"
    if record.n.skipped:
        return f"{record.n.skipped:,} items were not scored"
    return ""


def _measured(one: Reported, record: RunRecord) -> tuple[float, Interval | None] | None:
    metrics = record.metrics
    numbers: Numbers | None
    if one.split is not None:
        numbers = metrics.by.get("split", {}).get(one.split)
    elif one.average is None:
        numbers = metrics.headline
    else:
        numbers = metrics.overall if one.average == "items" else metrics.averages.get(one.average)
    found = numbers.metrics.get(one.metric) if numbers is not None else None
    return None if found is None else (found.value, found.interval)


def _not_measured(one: Reported) -> str:
    if one.average:
        return f"the rule {one.average} was not measured"
    return f"{one.split or one.metric} was not measured"


def missing_splits(benchmark: str, splits: Sequence[str]) -> list[str]:
    """The splits of a benchmark that a run has not; nothing where we do not know."""
    if benchmark not in registry.names():
        return []
    return [name for name in registry.get(benchmark).splits if name not in splits]
