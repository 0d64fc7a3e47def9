"""`equipoise report` from the command line."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from equipoise.cli import app
from equipoise.core.errors import InTheWay, UserError


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
        for _ in range(2):  # the same command again finds its own
            call(*runs, "--format", form, "--out", str(tmp_path / f"table.{form}"))
        assert (tmp_path / f"table.{form}").read_text().endswith(text)
    assert [row["label"] for row in json.loads(call(*runs, "--json"))] == ["first", "second"]
    assert call(str(Path(runs[0]).parent), "--format", "md") == call(*runs, "--format", "md"), "a folder of runs"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "--out: name the page to write"),
        (["--format", "pdf"], "--format pdf: expected one of html, text"),
        (["--format", "json"], r"--format json: expected one of html, text.*\(for programs: --json\)"),
        (["--out", "x.html", "--images", "nowhere"], "nowhere: no such folder of images"),
        (["--out", "x.html", "--points", "none.json"], "none.json: no such file"),
        (["--format", "md", "--images", "photos"], "--images is for the page"),
    ],
)
def test_errors(runs: list[str], options: list[str], message: str) -> None:
    with pytest.raises(UserError, match=message):
        CliRunner().invoke(app, ["report", *runs, *options], catch_exceptions=False)


@pytest.mark.parametrize("form", ["html", "latex", "md", "csv", "json", "text"])
def test_nothing_that_a_user_wrote_is_overwritten(form: str, runs: list[str], tmp_path: Path) -> None:
    out = tmp_path / f"notes.{form}"
    asked = ["report", *runs, *(["--json"] if form == "json" else ["--format", form]), "--out", str(out)]
    for mine in ("precious notes on equipoise report\n", "<html><head></head>mine</html>"):
        out.write_text(mine)
        with pytest.raises(InTheWay, match=r"notes\.\w+:"):
            CliRunner().invoke(app, asked, catch_exceptions=False)
        assert out.read_text() == mine
    out.write_text("")
    assert CliRunner().invoke(app, asked, catch_exceptions=False).exit_code == 0, "an empty file holds nothing"
    first = out.read_bytes()
    assert CliRunner().invoke(app, asked, catch_exceptions=False).exit_code == 0 and out.read_bytes() == first


def test_a_page_of_ours_is_replaced(runs: list[str], tmp_path: Path) -> None:
    for name in ("page.html", "table.md", "table.tex"):
        form = {".html": "html", ".md": "md", ".tex": "latex"}[Path(name).suffix]
        out = ["--format", form, "--out", str(tmp_path / name)]
        call(runs[0], *out)
        before = (tmp_path / name).read_text()
        call(*runs, *out)
        assert (tmp_path / name).read_text() != before


def test_a_page_ends_in_html(runs: list[str]) -> None:
    place = Path(runs[0]) / "made" / "result.json"
    before = place.read_bytes()
    with pytest.raises(UserError, match=r"result\.json: the page is HTML; name a file that ends in \.html"):
        CliRunner().invoke(app, ["report", *runs, "--out", str(place)], catch_exceptions=False)
    assert place.read_bytes() == before


@pytest.mark.parametrize(
    ("verb", "more"),
    [
        ("report", ["--format", "csv"]),
        ("report", ["--out", "page.html"]),
        ("compare", []),
        ("report", ["--to", "eval-results", "--out", "exported"]),
        ("report", ["--to", "every-eval-ever", "--out", "exported"]),
    ],
)
@pytest.mark.parametrize("edited", ["number", "share of a tag", "scores"])
def test_what_was_edited_by_hand_is_not_printed(
    verb: str, more: list[str], edited: str, runs: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result, items = Path(runs[0]) / "made" / "result.json", Path(runs[0]) / "made" / "items.jsonl"
    value = json.loads(result.read_text())
    if edited == "number":
        value["metrics"]["overall"]["metrics"]["original"]["value"] = 0.93
    elif edited == "share of a tag":
        value["metrics"]["by"]["type"]["size"]["metrics"]["brittleness"]["value"] = 0.01
    else:
        items.write_text(items.read_text().replace("0.3", "0.25", 1))
    result.write_text(json.dumps(value))
    wanted = runs if verb == "compare" else runs[:1]
    with pytest.raises(UserError, match="changed after the run"):
        CliRunner().invoke(app, [verb, *wanted, *more], catch_exceptions=False)
    assert not (tmp_path / "page.html").exists() and not (tmp_path / "exported").exists()


def test_a_folder_without_runs(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no finished run in it"):
        CliRunner().invoke(app, ["report", str(tmp_path), "--out", "x.html"], catch_exceptions=False)


def test_the_plane_alone(runs: list[str], tmp_path: Path) -> None:
    """It stands alone: no variable of the page, every model and number that the page's figure has."""
    out = tmp_path / "plane.svg"
    for _ in range(2):  # the same command again finds its own
        assert call(*runs, "--figure", "plane", "--out", str(out)).strip() == f"open {out}"
    text = out.read_text()
    ElementTree.fromstring(text)
    assert "var(" not in text and "@" not in text and text.startswith("<svg ")
    call(*runs, "--out", str(tmp_path / "page.html"))
    page = (tmp_path / "page.html").read_text()
    titles = re.findall(r"<title>((?:first|second|chance): [^<]+)</title>", text)
    assert len(titles) == 3 and all(title in page for title in titles)
    out.write_text("mine")
    with pytest.raises(InTheWay, match=out.name):
        call(*runs, "--figure", "plane", "--out", str(out))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--figure", "pie", "--out", "x.svg"], "--figure pie: expected plane"),
        (["--figure", "plane"], "ends in .svg or .png"),
        (["--figure", "plane", "--out", "x.pdf"], "ends in .svg or .png"),
        (["--figure", "plane", "--out", "x.png"], "pip install cairosvg"),
    ],
)
def test_figures_that_cannot_be_written(
    runs: list[str], options: list[str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "cairosvg", None)
    with pytest.raises(UserError, match=message):
        call(*runs, *options)


def test_a_png_is_written_by_cairosvg(runs: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = SimpleNamespace(svg2png=lambda bytestring, scale: b"PNG" + bytestring[:4])
    monkeypatch.setitem(sys.modules, "cairosvg", fake)
    out = tmp_path / "plane.png"
    for _ in range(2):
        call(*runs, "--figure", "plane", "--out", str(out))
    assert out.read_bytes() == b"PNG<svg"
    out.write_bytes(b"mine")
    with pytest.raises(InTheWay, match=out.name):
        call(*runs, "--figure", "plane", "--out", str(out))
