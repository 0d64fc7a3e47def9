"""The consistency card of models that answer: a table for the terminal, and a page with the answers that changed."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from equipoise import __version__
from equipoise.core.run_folder import write_own
from equipoise.evaluation.answers import VARIANTS, Answer
from equipoise.evaluation.metrics import METRICS, shown
from equipoise.evaluation.record import RunRecord
from equipoise.evaluation.scores import ItemScores
from equipoise.report import Format
from equipoise.report.page import MARK, templates
from equipoise.report.tables import Line, grid, percent, render

SHOWN = 20  # answers that changed
_TELLS = {  # a metric, and what a log without it cannot tell
    "repeat_flips": "how often the answer changes when nothing changes: no question was repeated",
    "order_flips": "whether the order of the options decides: each question has one order",
    "prompt_flips": "whether another wording of the question changes the answer",
    "accuracy": "how many answers are right: the truth is not in the log",
}


def is_of_answers(record: RunRecord) -> bool:
    """A run of answers alone, such as a log."""
    scored = record.metrics is not None and getattr(record.metrics.overall, "mean_scores", None)
    return record.kind == "items" and "refusals" in record.metrics.overall.metrics and not (scored and scored.caption)


def answers_table(line: Line, form: Format, caption: str = "") -> str:
    """Each metric with its interval, n and chance."""
    if form in ("json", "csv"):
        return render([line], form)
    return grid(form, (line.label, "percent", "n", "by chance"), [row[:4] for row in _rows(line)], caption)


def _rows(line: Line) -> list[list[str]]:
    rows = []
    for row in shown([line.numbers.metrics], "answers"):
        chance = line.numbers.metrics[row.name].chance
        by_chance = "-" if chance is None else f"{100 * chance:.1f}"
        count = f"{line.numbers.count(row.name):,}"
        rows.append([row.title, percent(line.numbers, row.name), count, by_chance, row.meaning])
    return rows


def write_card(path: Path, runs: Iterable[tuple[RunRecord, Sequence[Any]]], title: str | None, seed: int) -> None:
    cards = [_card(record, rows, seed) for record, rows in runs]
    page = templates("equipoise.report").get_template("card.html")
    write_own(path, page.render(mark=MARK, title=title or "Does the answer stay the same?", cards=cards), MARK)


def _card(record: RunRecord, rows: Sequence[ItemScores], seed: int) -> dict[str, Any]:
    numbers, published = record.metrics.overall, record.published
    changed = [row for row in rows if len({one.choice for one in row.answers}) > 1 and not _figures(row.answers)]
    some = random.Random(seed).sample(changed, min(SHOWN, len(changed)))
    flips = [row for row in shown([numbers.metrics], "answers") if row.name.endswith(("_flips", "constant_answers"))]
    words = [f"{row.title} {percent(numbers, row.name)} (n {numbers.count(row.name):,})" for row in flips]
    known = [
        f"{METRICS[name].title} {percent(numbers, name)}"
        for name in ("accuracy", "right_every_time")
        if numbers[name] is not None
    ]
    label = f"{record.model.spec} on {record.benchmark.name}"
    line = f"{label}, {numbers.n:,} questions: {', '.join([*known, *words])}"
    lacking = [what for name, what in _TELLS.items() if numbers[name] is None]
    return {
        "label": label, "sentence": f"{line}.", "rows": _rows(Line(label, numbers)), "total": f"{len(changed):,}",
        "notes": published.notes if published else [], "line": f"{line}; equipoise {__version__}",
        "changed": [(row.tags.get("question") or row.id, [_asked(one) for one in row.answers]) for row in some],
        "unknown": lacking + (published.unknown if published else []),
    }  # fmt: skip


def _figures(answers: Sequence[Answer]) -> bool:
    """Questions with other truths should get other answers."""
    return len({one.truth for one in answers}) > 1


def _asked(answer: Answer) -> tuple[str, str, str]:
    how = [f"{name} {value}" for name in VARIANTS if (value := getattr(answer, name))]
    right = {True: "right", False: "wrong", None: "unknown"}[answer.right]
    return ", ".join(how) or "first", (answer.said or answer.choice or "")[:300], right
