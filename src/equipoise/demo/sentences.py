"""The story in words. They follow the numbers: a change that is not significant is not called one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from equipoise.demo.numbers import Models, Table, value_of
from equipoise.demo.stories import BASE, BOTH, CONTROL, OURS, USUAL, Column
from equipoise.evaluation.record import Change
from equipoise.report.tables import signed


def headline(found: Table, columns: Sequence[Column]) -> str:
    """A sentence each for the usual negatives and for our recipe, on the same two columns: the usual score, and
    rewordings with words that training does not use."""
    reworded = [column.title for column in columns if column.words][-1]
    usual, ours = (
        (changes[columns[0].title], changes[reworded]) for changes in (found[USUAL.label], found[OURS.label])
    )
    rejects = usual[0].significant and usual[0].difference > 0 and usual[1].significant and usual[1].difference < 0
    return (
        f"With the usual hard negatives the usual score {_moved(usual[0])}, and accuracy on captions reworded with "
        f"unseen words {_moved(usual[1])}{': the model rejects captions that are still right' if rejects else ''}. "
        f"With our recipe the usual score {_moved(ours[0])}, and on those captions accuracy {_moved(ours[1])}."
    )


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
    return texts + [(name, f"Against captions alone: {_all(found[label])}.") for label, name in names.items()]


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
        return f"shows no significant change ({_with_interval(one, '')})"
    way = "rises" if one.difference > 0 else "falls"
    low, high = sorted(abs(100 * value) for value in one.interval)
    return f"{way} by {abs(100 * one.difference):.1f} points [{low:.1f}, {high:.1f}]"


def _with_interval(one: Change, doubt: str = ", not significant") -> str:
    unclear = "" if one.significant else doubt
    return f"{signed(one.difference)} [{signed(one.interval.low)}, {signed(one.interval.high)}{unclear}]"
