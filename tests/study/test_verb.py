"""equipoise study, from Items to the report's human line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.study.conftest import some_items, stored
from typer.testing import CliRunner

from equipoise.cli import app
from equipoise.errors import UserError
from equipoise.items import write_items
from equipoise.study.questions import read_study
from equipoise.study.store import Store


def run(*arguments: object) -> str:
    result = CliRunner().invoke(app, ["study", *map(str, arguments)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture
def study(tmp_path: Path, photos: Path) -> Path:
    write_items(tmp_path / "mine.jsonl", some_items())
    said = run("make", tmp_path / "mine.jsonl", "--images", photos, "--n", 6, "--seed", 4, "--out", tmp_path / "s")
    assert "6 questions in" in said and "study serve" in said
    return tmp_path / "s"


def test_from_items_to_the_human_line(study: Path, tmp_path: Path) -> None:
    about = read_study(study)
    assert about.benchmark == "mine" and len(about.questions) == 6
    store = Store(study, about.digest)
    for name in ("anna", "ben"):
        for number in range(6):
            best = "np" if name == "ben" and number == 2 else "cp"
            store.record(name, number, 1, stored(about, name, number, best))
    store.close()
    said = run("score", study, "--points", tmp_path / "people.json")
    assert "Augmented: reworded captions too            83.3 [" in said and "n = 6" in said
    assert "Krippendorff's alpha, ranks" in said and "Cohen's kappa, preferences: anna, ben" in said
    (point,) = json.loads((tmp_path / "people.json").read_text())
    assert point["label"] == "people" and point["benchmark"] == "mine" and point["original"] == pytest.approx(5 / 6)
    record = json.loads(run("score", study, "--json", "--annotators", "Anna"))
    assert record["answered"] == {"anna": 6} and record["together"] == {}


def test_nothing_that_a_user_wrote_is_overwritten(study: Path, tmp_path: Path) -> None:
    about = read_study(study)
    store = Store(study, about.digest)
    for name in ("anna", "ben"):
        for number in range(6):
            store.record(name, number, 1, stored(about, name, number, "cp"))
    store.close()
    for out, asked in (
        (tmp_path / "notes.html", ("page", study, "--annotator", "zoe", "--out")),
        (tmp_path / "notes.json", ("score", study, "--points")),
    ):
        out.write_text("precious notes on equipoise study")
        with pytest.raises(UserError, match="already there, and not written by this command"):
            run(*asked, out)
        assert out.read_text() == "precious notes on equipoise study"
        out.unlink()
        run(*asked, out)
        run(*asked, out)  # an earlier one of ours is replaced


def test_the_other_verbs(study: Path, tmp_path: Path) -> None:
    assert "wrote" in run("page", study, "--annotator", "Zoë", "--out", tmp_path / "zoe.html")
    about = read_study(study)
    row = {"question": 0, "revision": 1, "value": [1, 2, 3], "at": "2026-11-15T21:00:00Z"}
    value = {
        "format": "equipoise study answers",
        "version": 1,
        "study": about.digest,
        "annotator": "zoë",
        "answers": [row],
    }
    (tmp_path / "zoe.json").write_text(json.dumps(value))
    assert "1 answers of zoë, 1 new" in run("import", study, tmp_path / "zoe.json")
    assert "tasks.json" in run("export", study, "--to", "label-studio", "--out", tmp_path / "ls")
    assert "potato start" in run("export", study, "--to", "potato", "--out", tmp_path / "po")


def test_what_is_refused(study: Path, tmp_path: Path) -> None:
    for arguments, told in [
        (["score", study], "nobody has answered yet"),
        (["score", tmp_path], "holds no study.json"),
        (["serve", tmp_path], "holds no study.json"),
        (["make", tmp_path / "mine.jsonl", "--ask", "both", "--out", tmp_path / "x"], "expected rank or pairs"),
        (["make", tmp_path / "mine.jsonl", "--n", 5, "--out", tmp_path / "x"], "--images"),
        (["import", study, tmp_path / "none.json"], "no such file"),
        (["page", study, "--annotator", " ", "--out", tmp_path / "a.html"], "expected a name"),
    ]:
        with pytest.raises(UserError, match=told):
            CliRunner().invoke(app, ["study", *map(str, arguments)], catch_exceptions=False)
