"""`bench show --samples`: random items on a page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from PIL import Image
from typer.testing import CliRunner

from equipoise.cli import app


@pytest.fixture
def items(tmp_path: Path) -> Path:
    rows = ["image,caption,negative,positive"]
    for number in range(20):
        Image.new("RGB", (30, 20), (10 * number, 0, 0)).save(tmp_path / f"{number}.png")
        rows.append(f"{number}.png,caption {number},<b>wrong</b> {number},also right {number}")
    path = tmp_path / "mine.csv"
    path.write_text("\n".join(rows))
    return path


def test_the_same_seed_draws_the_same_items(items: Path, tmp_path: Path) -> None:
    def drawn(seed: int) -> list[str]:
        out = tmp_path / f"{seed}.html"
        command = ["bench", "show", str(items), "--samples", "5", "--images", str(tmp_path), "--out", str(out)]
        done = CliRunner().invoke(app, [*command, "--seed", str(seed)])
        assert done.exit_code == 0 and "5 of 20 items" in done.output
        page = out.read_text(encoding="utf-8")
        assert page.count("data:image/jpeg;base64,") == 5 and "<b>wrong" not in page and "&lt;b&gt;wrong" in page
        return re.findall(r"✓</b>caption (\d+)", page)

    first = drawn(0)
    assert len(set(first)) == 5 and first == drawn(0) and first != drawn(1)


def test_without_a_page_nothing_is_drawn(items: Path) -> None:
    done = CliRunner().invoke(app, ["bench", "show", str(items), "--samples", "5"])
    assert done.exit_code != 0 and "go together" in str(done.exception)
