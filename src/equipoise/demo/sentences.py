"""The story in words. They follow the numbers: a change that is not significant is called no clear change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from equipoise.demo.numbers import Models, Table, value_of
from equipoise.demo.stories import BASE, BOTH, CONTROL, OURS, USUAL, Column
from equipoise.evaluation.record import Change
from equipoise.report.tables import signed


def headline(found: Table, columns: Sequence[Column]) -> str:
    """One sentence: what the usual negatives did to the usual score, and to reworded captions."""
    usual, *others = (found[USUAL.label][column.title] for column in columns)
    gain = f"the usual score {_moved(usual)}"
    reworded = [one for one, column in zip(others, columns[1:], strict=True) if column.words]
    worst = min(reworded, key=lambda one: one.difference)
    if usual.significant and usual.difference > 0 and worst.significant and worst.difference < 0:
        return (
            f"With the usual hard negatives {gain}, and accuracy on reworded captions {_moved(worst)}: the model "
            "rejects captions that are still right."
        )
    return f"With the usual hard negatives {gain}, and accuracy on reworded captions {_moved(worst)}."


def steps(models: Models, found: Table, from_base: Table, columns: Sequence[Column]) -> list[tuple[str, str]]:
    """A heading and a sentence for each model."""
    first = ", ".join(f"{column.title} {100 * value_of(models[BASE.label], column)[0]:.1f}" for column in columns)
    texts = [
        ("The base", f"Before finetuning, in percent: {first}."),
        (
            "Finetuned on captions alone",
            f"Against the base: {_all(from_base[CONTROL.label])}. The models below are compared with this one, so that "
            "only the edits differ.",
        ),
    ]
    names = {
        USUAL.label: "With the usual hard negatives",
        BOTH.label: "With matched hard negatives and hard positives",
        OURS.label: "The same texts with our recipe",
    }
    return texts + [(name, f"{_all(found[label])}.") for label, name in names.items()]


def findings(found: Table, from_base: Table) -> list[str]:
    """Every difference, against captions alone and against the base."""
    lines = []
    for other, changes in ((CONTROL.label, found), (BASE.label, from_base)):
        for label, row in changes.items():
            parts = [f"{title} {_with_interval(one)}" for title, one in row.items()]
            lines.append(f"{label} against {other}: {'; '.join(parts)}.")
    return lines


def _all(row: Mapping[str, Change]) -> str:
    return "; ".join(f"{title} {_moved(one)}" for title, one in row.items())


def _moved(one: Change) -> str:
    if not one.significant:
        return f"shows no clear change ({_with_interval(one)})"
    way = "rises" if one.difference > 0 else "falls"
    low, high = sorted(abs(100 * value) for value in one.interval)
    return f"{way} by {abs(100 * one.difference):.1f} points [{low:.1f}, {high:.1f}]"


def _with_interval(one: Change) -> str:
    unclear = "" if one.significant else ", not clear"
    return f"{signed(one.difference)} [{signed(one.interval.low)}, {signed(one.interval.high)}{unclear}]"
