"""Answers that people downloaded: checked as a whole, every problem at once, turned back to the study's order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.study.conftest import Make, answers_file, row, stored

from equipoise.core.errors import UserError
from equipoise.study.page import write_page
from equipoise.study.questions import read_answers, read_study


def test_read_back(make: Make, tmp_path: Path) -> None:
    study = read_study(make())
    anna = answers_file(tmp_path / "a.json", study, [row(study, 0, "n"), row(study, 1)])
    ben = answers_file(tmp_path / "b.json", study, [row(study, 1, "pc", "ben")], " BEN")
    assert read_answers(study, [anna, ben]) == {
        "anna": {0: stored(study, "anna", 0, "n"), 1: stored(study, "anna", 1)},
        "ben": {1: stored(study, "ben", 1, "pc")},
    }


def test_two_files_of_one_person(make: Make, tmp_path: Path) -> None:
    study = read_study(make())
    files = [answers_file(tmp_path / f"{name}.json", study, [row(study, 0)], name) for name in ("anna", "Anna ")]
    with pytest.raises(UserError, match="a second file of anna"):
        read_answers(study, files)


def test_a_file_under_another_name_is_refused(make: Make, tmp_path: Path) -> None:
    study = read_study(make())
    path = answers_file(tmp_path / "a.json", study, [row(study, number) for number in range(8)])
    path.write_text(path.read_text().replace('"annotator": "anna"', '"annotator": "ben"'))
    with pytest.raises(UserError, match="page of ben"):  # its texts have anna's order
        read_answers(study, [path])


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"format": "another"}, "not the answers of a study"),
        ({"study": "0" * 64}, r"another study \(0000000000…\)"),
        ({"annotator": ""}, "expected a name"),
        ({"page": None}, "page of anna"),
        ({"answers": {}}, "expected a list"),
    ],
)
def test_other_files(make: Make, tmp_path: Path, fields: dict[str, Any], said: str) -> None:
    study = read_study(make())
    with pytest.raises(UserError, match=said):
        read_answers(study, [answers_file(tmp_path / "a.json", study, **({"rows": [row(study, 0)]} | fields))])


def test_every_problem_at_once(make: Make, tmp_path: Path) -> None:
    study = read_study(make())
    rows = [
        row(study, 0),
        row(study, 0, question=99),
        row(study, 0),
        row(study, 0, question="1"),
        row(study, 1, value=[1, 2, 9]),
        row(study, 1, value=None),
        {"question": 1},
        7,
    ]
    with pytest.raises(UserError) as found:
        read_answers(study, [answers_file(tmp_path / "a.json", study, rows)])
    said = str(found.value)
    assert "7 problems" in said and all(f"answers.{place}:" in said for place in range(1, 8))


def test_a_page_needs_its_pictures(make: Make, tmp_path: Path) -> None:
    study = read_study(folder := make())
    size = write_page(folder, study, "anna", tmp_path / "anna.html")
    assert size == (tmp_path / "anna.html").stat().st_size
    (folder / "images" / "00001.jpg").write_bytes(b"another")
    with pytest.raises(UserError, match=r"00001\.jpg: missing, or not the picture"):
        write_page(folder, study, "anna", tmp_path / "ben.html")
