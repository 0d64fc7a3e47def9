"""The numbers of the story: every model in every column, and what finetuning changed against captions alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist

import numpy as np

from equipoise.core import stats
from equipoise.demo.stories import BASE, CONTROL, Column
from equipoise.evaluation.comparing.differences import Run, average
from equipoise.evaluation.comparing.inference import holm
from equipoise.evaluation.comparing.models import compare_models
from equipoise.evaluation.record import Change, Interval, Numbers
from equipoise.evaluation.sets.intervals import clusters, means
from equipoise.evaluation.sets.retrieval import TOPS, RetrievalRow


@dataclass(frozen=True)
class Measured:
    """What one finetuning run of a model gave: its runs by test, and its searches."""

    tests: Mapping[str, Run]
    searches: Sequence[RetrievalRow]
    parts: dict[tuple[str, str, str], Run] = field(default_factory=dict)  # asked for again and again by the page

    def part(self, test: str, tag: str, value: str) -> Run:
        """The items of a test with a tag's value."""
        key = test, tag, value
        if key not in self.parts:
            self.parts[key] = self.tests[test].where(tag, value)
        return self.parts[key]


Models = Mapping[str, Sequence[Measured]]  # label -> seeds
Table = Mapping[str, Mapping[str, Change]]  # label -> column's title -> change


def runs_of(seeds: Sequence[Measured], test: str, tag: str = "synonym", value: str = "") -> list[Run]:
    """A test's runs; of the items with a tag's value where one is named."""
    return [one.part(test, tag, value) if value else one.tests[test] for one in seeds]


def numbers_of(seeds: Sequence[Measured], test: str, tag: str = "synonym", value: str = "") -> Numbers:
    """All metrics of these runs."""
    runs = runs_of(seeds, test, tag, value)
    return average(runs, path=_groups(runs))


def _groups(runs: Sequence[Run]) -> tuple[str, ...]:
    return ("benchmark",) if len(runs[0].records) > 1 else ()


def value_of(seeds: Sequence[Measured], column: Column) -> tuple[float, Interval]:
    """The number of a column and its interval over pictures."""
    if column.metric == "recall":
        value, spread = _recalls(seeds)
        return value, Interval(*stats.percentile_interval(spread))
    found = numbers_of(seeds, column.test, value=column.words).metrics[column.metric]
    assert found.interval is not None
    return found.value, found.interval


def _recalls(seeds: Sequence[Measured]) -> tuple[float, stats.Floats]:
    """The mean of six recalls over seeds, and its resamples: the same pictures are drawn for every model."""
    values, spreads = [], []
    for one in seeds:
        rank = np.array([row.rank for row in one.searches])
        hit = np.mean([rank < top for top in TOPS], axis=0)
        ways = {way: (hit, np.array([row.find == way for row in one.searches])) for way in ("image", "text")}
        found = means(ways, clusters(row.image for row in one.searches), 0, stats.RESAMPLES).values()
        values.append(np.mean([each.value for each in found]))
        spreads.append(np.mean([each.spread for each in found], axis=0))
    return float(np.mean(values)), np.mean(spreads, axis=0)


def changes(models: Models, columns: Sequence[Column]) -> Table:
    """Every finetuned model against captions alone, in every column. P-values are corrected for the whole table."""
    control = models[CONTROL.label]
    found = {
        label: {column.title: _change(control, seeds, column) for column in columns}
        for label, seeds in models.items()
        if label not in (BASE.label, CONTROL.label)
    }
    return _corrected(found)


def against_base(models: Models, columns: Sequence[Column]) -> Table:
    """Every finetuned model against the base, corrected likewise."""
    base = models[BASE.label]
    found = {
        label: {column.title: _change(base, seeds, column) for column in columns}
        for label, seeds in models.items()
        if label != BASE.label
    }
    return _corrected(found)


def _corrected(found: Table) -> Table:
    adjusted = iter(holm([1.0 if one.p is None else one.p for row in found.values() for one in row.values()]))
    return {
        label: {title: one.model_copy(update={"adjusted": next(adjusted)}) for title, one in row.items()}
        for label, row in found.items()
    }


def _change(before: Sequence[Measured], after: Sequence[Measured], column: Column) -> Change:
    if column.metric != "recall":
        first, second = (runs_of(seeds, column.test, value=column.words) for seeds in (before, after))
        change = compare_models(first, second, path=_groups(first))[column.metric]
        assert change is not None
        return change
    (was, spread_was), (now, spread_now) = _recalls(before), _recalls(after)
    spread = spread_now - spread_was
    low, high = stats.percentile_interval(spread)
    error = float(spread.std(ddof=1))
    p_value = 2 * (1 - NormalDist().cdf(abs(now - was) / error)) if error else 1.0
    clear = low > 0 or high < 0
    return Change(difference=now - was, interval=Interval(low, high), clear=clear, by_run=[], p=p_value)
