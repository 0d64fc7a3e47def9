"""Answers that came by mail: the file that the page without a server hands out -> the study's store."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

from equipoise.errors import Problems, UserError
from equipoise.files import read_json
from equipoise.study.questions import Study, annotator_name, as_stored, problem_of
from equipoise.study.store import Conflict, Row, Store

FORMAT = "equipoise study answers"
_FIX = "Ask for the file again: it is what the page's button 'Download answers' makes."


def import_answers(study: Study, store: Store, path: Path) -> tuple[str, int, int]:
    """Who answered, how many answers the file has and how many were new. The same file twice adds nothing."""
    value = read_json(path)
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        raise UserError(f"{path}: not the answers of a study. {_FIX}")
    if value.get("version") != 1:
        raise UserError(f"{path}: version {value.get('version')!r}, expected 1; update equipoise to read it")
    if value.get("study") != study.digest:
        raise UserError(f"{path}: answers to another study ({str(value.get('study'))[:10]}…); import them there")
    annotator = annotator_name(value.get("annotator"))
    rows = _rows(study, annotator, value.get("answers"), path)
    there = {(row.question, row.revision): row.value for row in store.history(annotator)}
    other = [row for row in rows if there.get((row.question, row.revision), row.value) != row.value]
    if other:
        raise UserError(
            f"{path}: {annotator} already answered {len(other)} of these questions otherwise (the first is question "
            f"{other[0].question}); nothing was imported. Two people need two names, and one person one way to answer."
        )
    try:
        return annotator, len(rows), store.record_all(rows)
    except Conflict as conflict:
        raise UserError(
            f"{path}: revisions do not follow on what is stored ({conflict}); nothing was imported"
        ) from None


def _rows(study: Study, annotator: str, answers: Any, path: Path) -> list[Row]:
    problems = Problems(str(path))
    if not isinstance(answers, list):
        raise UserError(f"{path}: answers: expected a list. {_FIX}")
    rows = []
    for place, row in enumerate(answers):
        where = f"answers.{place}"
        if not isinstance(row, dict) or set(row) != {"question", "revision", "value", "at"}:
            problems.add(where, "expected question, revision, value and at")
            continue
        number, revision = row["question"], row["revision"]
        if type(number) is not int or not 0 <= number < len(study.questions):
            problems.add(where, f"question: expected a number below {len(study.questions)}, found {number!r}")
        elif type(revision) is not int or not 0 < revision < 1_000_000:
            problems.add(where, f"revision: expected a number above 0, found {revision!r}")
        elif not _is_time(row["at"]):
            problems.add(where, f"at: expected a time, found {row['at']!r}")
        elif wrong := problem_of(study, study.questions[number], row["value"]):
            problems.add(where, f"value: {wrong}")
        else:
            value = as_stored(study, annotator, study.questions[number], row["value"])
            rows.append(Row(annotator, number, revision, value, row["at"]))
    problems.raise_if_any(_FIX)
    return rows


def _is_time(value: Any) -> bool:
    try:
        return isinstance(value, str) and len(value) < 40 and datetime.fromisoformat(value) is not None
    except ValueError:
        return False
