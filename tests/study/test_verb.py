"""equipoise study, from Items to the report's human line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.study.conftest import answers_file, row, some_items
from typer.testing import CliRunner

from equipoise.cli import app
from equipoise.core.errors import InTheWay, UserError
from equipoise.data.items import write_items
from equipoise.study.questions import read_study


def run(*arguments: object) -> str:
    result = CliRunner().invoke(app, ["study", *map(str, arguments)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture
def study(tmp_path: Path, photos: Path) -> Path:
    write_items(tmp_path / "mine.jsonl", some_items())
    said = run("make", tmp_path / "mine.jsonl", "--images", photos, "--n", 6, "--seed", 4, "--out", tmp_path / "s")
    assert "6 questions in" in said and "study page" in said
    return tmp_path / "s"


def answered(study: Path, wrong: int | None = None) -> list[Path]:
    """The files of two people who answered everything right, but for one question of ben's."""
    about = read_study(study)
    return [
        answers_file(
            study.parent / f"{name}.json",
            about,
            [row(about, number, "np" if (name, number) == ("ben", wrong) else "cp", name) for number in range(6)],
            name,
        )
        for name in ("anna", "ben")
    ]


def test_from_items_to_the_human_line(study: Path, tmp_path: Path) -> None:
    about = read_study(study)
    assert about.benchmark == "mine" and len(about.questions) == 6
    files = answered(study, wrong=2)
    said = run("score", study, *files, "--points", tmp_path / "people.json")
    assert "Augmented: reworded captions too            83.3 [" in said and "n = 6" in said
    assert "Krippendorff's alpha, ranks" in said and "Krippendorff's alpha, preferences" in said
    (point,) = json.loads((tmp_path / "people.json").read_text())
    assert point["label"] == "people" and point["benchmark"] == "mine"
    assert point["metrics"]["original"] == pytest.approx(5 / 6)
    record = json.loads(run("score", study, files[0], "--json"))
    assert record["answered"] == {"anna": 6} and record["together"] == {}


def test_nothing_that_a_user_wrote_is_overwritten(study: Path, tmp_path: Path) -> None:
    for out, asked in (
        (tmp_path / "notes.html", ("page", study, "--annotator", "zoe", "--out")),
        (tmp_path / "notes.json", ("score", study, *answered(study), "--points")),
    ):
        out.write_text("precious notes on equipoise study")
        with pytest.raises(InTheWay, match=out.name):
            run(*asked, out)
        assert out.read_text() == "precious notes on equipoise study"
        out.unlink()
        run(*asked, out)
        run(*asked, out)  # an earlier one of ours is replaced


def test_what_is_refused(study: Path, tmp_path: Path) -> None:
    for arguments, told in [
        (["score", study, answers_file(tmp_path / "a.json", read_study(study), [])], "these files have no answers"),
        (["score", tmp_path, tmp_path / "none.json"], "there is no study.json"),
        (["page", tmp_path, "--annotator", "zoe", "--out", tmp_path / "z.html"], "there is no study.json"),
        (["make", tmp_path / "mine.jsonl", "--ask", "both", "--out", tmp_path / "x"], "expected rank or pairs"),
        (["make", tmp_path / "mine.jsonl", "--n", 5, "--out", tmp_path / "x"], "--images"),
        (["score", study, tmp_path / "none.json"], "no such file"),
        (["page", study, "--annotator", " ", "--out", tmp_path / "a.html"], "expected a name"),
    ]:
        with pytest.raises(UserError, match=told):
            CliRunner().invoke(app, ["study", *map(str, arguments)], catch_exceptions=False)
