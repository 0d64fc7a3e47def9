"""Answers by mail: checked as a whole, turned back, taken in once."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.study.conftest import Make, ranking, stored

from equipoise.errors import UserError
from equipoise.study.importing import FORMAT, import_answers
from equipoise.study.page import write_file_page
from equipoise.study.questions import Study, read_study
from equipoise.study.store import Store

Open = Callable[[Path, Study], Store]


def mail(path: Path, about: Study, rows: Any, **fields: Any) -> Path:
    value = {"format": FORMAT, "version": 1, "study": about.digest, "annotator": "anna", "answers": rows} | fields
    path.write_text(json.dumps(value))
    return path


def row(study: Study, number: int, nth: int = 1, best: str = "cp", **fields: Any) -> dict[str, Any]:
    value = ranking(study, "anna", number, best)
    return {"question": number, "revision": nth, "value": value, "at": "2026-11-15T21:00:00.000Z"} | fields


def test_in_once(make: Make, store: Open, tmp_path: Path) -> None:
    study = read_study(folder := make())
    kept = store(folder, study)
    rows = [row(study, 0), row(study, 1), row(study, 0, 2, value=None), row(study, 0, 3, "n")]
    path = mail(tmp_path / "a.json", study, rows)
    assert import_answers(study, kept, path) == ("anna", 4, 4)
    assert import_answers(study, kept, path) == ("anna", 4, 0)
    assert kept.answers() == {"anna": {0: stored(study, "anna", 0, "n"), 1: stored(study, "anna", 1)}}
    assert kept.history("anna")[0].at == "2026-11-15T21:00:00.000Z"
    longer = mail(tmp_path / "b.json", study, [*rows, row(study, 2)])
    assert import_answers(study, kept, longer) == ("anna", 5, 1)


def test_two_ways_of_one_person(make: Make, store: Open, tmp_path: Path) -> None:
    study = read_study(folder := make())
    kept = store(folder, study)
    kept.record("anna", 1, 1, stored(study, "anna", 1, "n"))
    with pytest.raises(UserError, match=r"already answered 1 of these questions otherwise .*question 1"):
        import_answers(study, kept, mail(tmp_path / "a.json", study, [row(study, 0), row(study, 1)]))
    with pytest.raises(UserError, match="do not follow"):
        import_answers(study, kept, mail(tmp_path / "a.json", study, [row(study, 0, 2)]))
    assert len(kept.history()) == 1  # all or none


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"format": "another"}, "not the answers of a study"),
        ({"version": 2}, "version 2, expected 1"),
        ({"study": "0" * 64}, r"another study \(0000000000…\)"),
        ({"annotator": ""}, "expected a name"),
        ({"answers": {}}, "expected a list"),
    ],
)
def test_other_files(make: Make, store: Open, tmp_path: Path, fields: dict[str, Any], told: str) -> None:
    study = read_study(folder := make())
    with pytest.raises(UserError, match=told):
        import_answers(study, store(folder, study), mail(tmp_path / "a.json", study, [row(study, 0)], **fields))


def test_every_problem_at_once(make: Make, store: Open, tmp_path: Path) -> None:
    study = read_study(folder := make())
    rows = [
        row(study, 0),
        row(study, 0, question=99),
        row(study, 0, revision="1"),
        row(study, 0, at="<script>"),
        row(study, 0, value=[1, 2, 9]),
        {"question": 1},
        7,
    ]
    with pytest.raises(UserError) as found:
        import_answers(study, store(folder, study), mail(tmp_path / "a.json", study, rows))
    told = str(found.value)
    assert "6 problems" in told and all(f"answers.{place}:" in told for place in range(1, 7))
    assert not store(folder, study).history()


def test_a_page_needs_its_pictures(make: Make, tmp_path: Path) -> None:
    study = read_study(folder := make())
    size = write_file_page(folder, study, "anna", tmp_path / "anna.html")
    assert size == (tmp_path / "anna.html").stat().st_size
    (folder / "images" / "00001.jpg").write_bytes(b"another")
    with pytest.raises(UserError, match=r"00001\.jpg: missing, or not the picture"):
        write_file_page(folder, study, "anna", tmp_path / "ben.html")
