"""`equipoise compare X X` and a cell such as 1_0: what is meant is said."""

from __future__ import annotations

from pathlib import Path

from typer.testing import CliRunner

from equipoise.cli import app


def test_a_run_against_itself_is_named_and_python_only_numbers_are_refused(tmp_path: Path) -> None:
    items, scores, run = tmp_path / "b.csv", tmp_path / "s.csv", tmp_path / "run"
    items.write_text("id,image,caption,negative\n1,a.jpg,a cat,a dog\n2,b.jpg,a hen,a pig\n")
    scores.write_text("id,caption,negative\n1,1.0,0.5\n2,0.1,0.5\n")
    asked = ["metrics", str(scores), "--bench", str(items), "--out", str(run)]
    assert CliRunner().invoke(app, asked).exit_code == 0
    found = CliRunner().invoke(app, ["compare", str(run), str(run)])
    assert found.exit_code == 0 and "the first run itself" in found.output
    scores.write_text("id,caption,negative\n1,1_0,0.5\n2,0.1,0.5\n")
    assert "'1_0' is no number" in str(CliRunner().invoke(app, asked[:4]).exception)
