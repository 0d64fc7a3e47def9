"""The page as a leaderboard: a title, a description, and what every model must beat; pictures found from elsewhere."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from equipoise.cli import app
from equipoise.world.splits import make_world


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EQUIPOISE_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    make_world(24, 0, "photos", "test")
    asked = ["eval", "world", "--bench", "photos/test-0.jsonl", "--images", "photos", "--out", "runs/world"]
    assert CliRunner().invoke(app, asked).exit_code == 0
    return tmp_path


def test_title_description_chance_and_blind(runs: Path) -> None:
    asked = ["report", "runs", "board.html", "--title", "Our <board>", "--about", "Ranks our models."]
    found = CliRunner().invoke(app, asked)
    assert found.exit_code == 0, found.output
    page = (runs / "board.html").read_text()
    assert "<h1>Our &lt;board&gt;</h1>" in page and "Ranks our models." in page
    rows = re.findall(r'<th scope="row">([^<]+)', page)
    assert rows[:3] == ["world", "chance", "without the image"]
    assert CliRunner().invoke(app, ["report", "runs", "--format", "md", "--title", "x"]).exit_code != 0


def test_made_from_another_folder_it_keeps_its_pictures_and_names_no_path(runs: Path) -> None:
    elsewhere = runs / "elsewhere"
    elsewhere.mkdir()
    os.chdir(elsewhere)
    assert CliRunner().invoke(app, ["report", str(runs / "runs"), "--out", "page.html"]).exit_code == 0
    page = (elsewhere / "page.html").read_text()
    assert "data:image/jpeg" in page and str(runs) not in page
