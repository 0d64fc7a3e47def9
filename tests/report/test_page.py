"""The page: self-contained, escaped, and its words follow the numbers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from equipoise.evaluation.record import Interval, Numbers
from equipoise.report.page import Example, Page, Row, verdict, write_page

NUMBERS = Numbers(
    n=100,
    ties=1,
    original=0.8,
    augmented=0.5,
    brittleness=0.3,
    drop=0.3,
    intervals={
        "original": Interval(0.7, 0.9),
        "augmented": Interval(0.4, 0.6),
        "brittleness": Interval(0.2, 0.4),
        "drop": Interval(0.2, 0.4),
    },
)


@pytest.mark.parametrize(
    ("scores", "word"),
    [((3, 2, 1), "right"), ((3, 1, 2), "brittle"), ((1, 3, 2), "brittle"), ((1, 2, 3), "wrong"), ((2, 1, 2), "tie")],
)
def test_verdict(scores: tuple[float, float, float], word: str) -> None:
    assert verdict(scores) == word


def test_page(tmp_path: Path) -> None:
    example = Example(b"png", "a <b>cat</b>", "one cat", "a dog", {"base": (0.3, 0.1, 0.2)})
    page = Page(
        title="A title",
        lead="A lead & more",
        columns={"swap": "SWAP"},
        rows=[Row("base", "as it was", {"swap": NUMBERS}), Row("other", "", {})],
        findings=["Brittleness +1.0 points"],
        tables=[("More", "a note", [Row("base", "", {"x": NUMBERS})], {"x": "column x"})],
        examples=[example],
        notes=["careful"],
        provenance={"made by": "a test"},
    )
    write_page(tmp_path / "page.html", page)
    text = (tmp_path / "page.html").read_text()
    for part in (
        "A lead &amp; more",
        "80.0 [70.0, 90.0]",
        "<small>[70.0, 90.0]</small>",
        "(-30.0)",
        "column x",
        "careful",
        "v-brittle",
        "cG5n",
    ):
        assert part in text
    assert "a &lt;b&gt;cat&lt;/b&gt;" in text and "<b>cat</b>" not in text
    # Opens anywhere, for ever: nothing is fetched and nothing runs.
    assert not re.search(r"<script|https?://|<link|url\(", text)
