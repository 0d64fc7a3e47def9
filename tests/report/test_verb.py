"""`equipoise report` from the command line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from equipoise.cli import app
from equipoise.errors import UserError


@pytest.fixture
def runs(make_runs: Callable[..., list[Path]]) -> list[str]:
    return [str(folder) for folder in make_runs(16)]


def call(*arguments: str) -> str:
    found = CliRunner().invoke(app, ["report", *arguments], catch_exceptions=False)
    assert found.exit_code == 0
    return found.stdout


def test_a_page_and_tables(runs: list[str], tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert call(*runs, "--out", str(page)).strip() == f"open {page}"
    assert "second" in page.read_text()
    for form, start in (("md", "|  | n |"), ("latex", "% percent"), ("csv", "benchmark,label")):
        text = call(*runs, "--format", form)
        assert text.startswith(start) and "first" in text and "second" in text
        call(*runs, "--format", form, "--out", str(tmp_path / "table"))
        assert (tmp_path / "table").read_text() == text
    assert call(*runs, "--json") == call(*runs, "--format", "json")
    assert call(str(Path(runs[0]).parent), "--format", "md") == call(*runs, "--format", "md"), "a folder of runs"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "--out: name the page to write"),
        (["--format", "pdf"], "--format pdf: expected one of html, text"),
        (["--out", "x.html", "--images", "nowhere"], "nowhere: no such folder of images"),
        (["--out", "x.html", "--points", "none.json"], "none.json: no such file"),
        (["--format", "md", "--images", "photos"], "--images is for the page"),
    ],
)
def test_errors(runs: list[str], options: list[str], message: str) -> None:
    with pytest.raises(UserError, match=message):
        CliRunner().invoke(app, ["report", *runs, *options], catch_exceptions=False)


def test_a_folder_without_runs(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no finished run in it"):
        CliRunner().invoke(app, ["report", str(tmp_path), "--out", "x.html"], catch_exceptions=False)
