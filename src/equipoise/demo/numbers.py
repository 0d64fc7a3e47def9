"""The demo's numbers: every model in every column, what finetuning changed, and sentences about significant changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist

import numpy as np

from equipoise.core import stats
from equipoise.demo.stories import BASE, CONTROL, OURS, USUAL, StoryColumn
from equipoise.evaluation.comparing.differences import average
from equipoise.evaluation.comparing.inference import holm
from equipoise.evaluation.comparing.models import compare_models
from equipoise.evaluation.record import Change, Interval, Numbers
from equipoise.evaluation.results import LoadedRun
from equipoise.evaluation.sets import RetrievalRow, retrieval
from equipoise.report.comparison import change_words


@dataclass(frozen=True)
class Finetuned:
    """One finetuning run of a model: its results by test, and its retrieval."""

    tests: Mapping[str, LoadedRun]
    searches: Sequence[RetrievalRow]
    parts: dict[tuple[str, str, str], LoadedRun] = field(
        default_factory=dict
    )  # cached: the page needs them several times

    def part(self, test: str, tag: str, value: str) -> LoadedRun:
        key = test, tag, value
        if key not in self.parts:
            self.parts[key] = self.tests[test].where(tag, value)
        return self.parts[key]


Models = Mapping[str, Sequence[Finetuned]]  # label -> seeds
ChangeTable = Mapping[str, Mapping[str, Change]]  # label -> column's title -> change


def runs_of(seeds: Sequence[Finetuned], test: str, tag: str = "synonym", value: str = "") -> list[LoadedRun]:
    return [tuned.part(test, tag, value) if value else tuned.tests[test] for tuned in seeds]


def numbers_of(seeds: Sequence[Finetuned], test: str, tag: str = "synonym", value: str = "") -> Numbers:
    runs = runs_of(seeds, test, tag, value)
    return average(runs, path=_groups(runs))


def _groups(runs: Sequence[LoadedRun]) -> tuple[str, ...]:
    return ("benchmark",) if len(runs[0].records) > 1 else ()


def value_of(seeds: Sequence[Finetuned], column: StoryColumn) -> tuple[float, Interval]:
    if column.metric == "recall":
        value, spread = _recalls(seeds)
        return value, Interval(*stats.percentile_interval(spread))
    number = numbers_of(seeds, column.test, value=column.words).metrics[column.metric]
    assert number.interval is not None
    return number.value, number.interval


def _recalls(seeds: Sequence[Finetuned]) -> tuple[float, stats.Floats]:
    """The mean of six recalls over seeds, and its resamples, which are the same pictures for every model."""
    values, spreads = [], []
    for tuned in seeds:
        recalls, _, _ = retrieval.measure(tuned.searches, {}, 0, stats.RESAMPLES)
        values.append(np.mean([each.value for each in recalls.values()]))
        spreads.append(np.mean([each.spread for each in recalls.values()], axis=0))
    return float(np.mean(values)), np.mean(spreads, axis=0)


def changes(models: Models, columns: Sequence[StoryColumn], first: str = CONTROL.label) -> ChangeTable:
    """Every finetuned model against `first` in every column, with p-values corrected for the whole table."""
    labels = [label for label in models if label not in (BASE.label, first)]
    cells = [(label, column) for label in labels for column in columns]
    measured = [_change(models[first], models[label], column) for label, column in cells]
    adjusted = holm([1.0 if change.p is None else change.p for change in measured])
    table: dict[str, dict[str, Change]] = {label: {} for label in labels}
    for (label, column), change, p_value in zip(cells, measured, adjusted, strict=True):
        table[label][column.title] = change.model_copy(update={"adjusted": p_value})
    return table


def _change(before: Sequence[Finetuned], after: Sequence[Finetuned], column: StoryColumn) -> Change:
    if column.metric != "recall":
        first = runs_of(before, column.test, value=column.words)
        second = runs_of(after, column.test, value=column.words)
        change = compare_models(first, second, path=_groups(first))[column.metric]
        assert change is not None
        return change
    (was, spread_was), (now, spread_now) = _recalls(before), _recalls(after)
    spread = spread_now - spread_was
    low, high = stats.percentile_interval(spread)
    error = float(spread.std(ddof=1))
    p_value = 2 * (1 - NormalDist().cdf(abs(now - was) / error)) if error else 1.0
    return Change(difference=now - was, interval=Interval(low, high), p=p_value)


def headline(table: ChangeTable, columns: Sequence[StoryColumn]) -> str:
    """A sentence each for the usual negatives and for our recipe: the usual score, and rewordings with unseen words."""
    reworded = [column.title for column in columns if column.words][-1]
    score, rewordings = table[USUAL.label][columns[0].title], table[USUAL.label][reworded]
    our_score, our_rewordings = table[OURS.label][columns[0].title], table[OURS.label][reworded]
    rejects = score.significant and score.difference > 0 and rewordings.significant and rewordings.difference < 0
    return (
        f"With the usual hard negatives the usual score {_moved(score)}, and accuracy on captions reworded with "
        f"unseen words {_moved(rewordings)}{': the model rejects captions that are still right' if rejects else ''}. "
        f"With our recipe the usual score {_moved(our_score)}, and on those captions accuracy {_moved(our_rewordings)}."
    )


def steps(
    models: Models, from_control: ChangeTable, from_base: ChangeTable, columns: Sequence[StoryColumn]
) -> list[list[str]]:
    """A row for each model, the names of the columns first: what it scores, or by how much it changed."""
    base = [f"{100 * value_of(models[BASE.label], column)[0]:.1f} %" for column in columns]
    rows = [["in points", *(column.title for column in columns)], ["base", *base]]
    changes = [(f"{CONTROL.label}, against the base", from_base[CONTROL.label])]
    changes += [(f"{label}, against {CONTROL.label}", row) for label, row in from_control.items()]
    return rows + [[name, *(change_words(row[column.title]) for column in columns)] for name, row in changes]


def findings(from_control: ChangeTable, from_base: ChangeTable) -> list[str]:
    lines = []
    for other, changes in ((CONTROL.label, from_control), (BASE.label, from_base)):
        for label, row in changes.items():
            parts = [
                f"{title} {change_words(change)}{'' if change.significant else ', not significant'}"
                for title, change in row.items()
            ]
            lines.append(f"{label} against {other}: {'; '.join(parts)}.")
    return lines


def _moved(change: Change) -> str:
    if not change.significant:
        return f"shows no significant change ({change_words(change)})"
    way = "rises" if change.difference > 0 else "falls"
    low, high = sorted(abs(100 * value) for value in change.interval)
    return f"{way} by {abs(100 * change.difference):.1f} points [{low:.1f}, {high:.1f}]"
