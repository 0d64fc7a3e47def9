"""The leaderboard in a real browser: sorting, finding, long tables, no request, no error, every width."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests import browsing
from tests.board.conftest import MakeRuns
from tests.browsing import Visit, visiting

from equipoise.board.page import MANY, write_board
from equipoise.board.record import Reported
from equipoise.board.standings import build_board

pytestmark = browsing.NEEDED
browser = browsing.browser
HOSTILE = "<img src=x onerror=alert(1)></script><script>alert(2)</script>" + "w" * 80
MODELS = {"weak": 0.3, "strong": 0.8, "middle": 0.55}


@pytest.fixture
def visit(browser: Any, make_runs: MakeRuns, tmp_path: Path) -> Iterator[Visit]:
    """A board with measured and reported models, opened."""
    folder = make_runs(MODELS, specs={"weak": HOSTILE})
    make_runs(MODELS, "winoground", folder="runs")
    given = [
        Reported(model=name, benchmark="sugarcrepe", value=value, average="vl_compo", source=HOSTILE)
        for name, value in [("strong", 0.75), (HOSTILE, 0.9), *((f"other {n}", n / 100) for n in range(40))]
    ]
    given += [Reported(model="other 1", benchmark=f"benchmark_{n}", value=0.5, metric="score") for n in range(12)]
    with visiting(browser) as opened:

        def written(width: int = 1280, scheme: str = "light") -> Any:
            write_board(tmp_path / "board.html", build_board([str(folder)], given))
            return opened((tmp_path / "board.html").as_uri(), width, scheme)

        yield written


def names(page: Any, table: str = "#test-0 table.board >> nth=0") -> list[str]:
    found = page.locator(f"{table} >> tbody tr:not([hidden]) th")
    return [str(one).split("\n")[0] for one in found.all_inner_texts()]


@pytest.mark.parametrize(("width", "scheme"), [(390, "light"), (390, "dark"), (1280, "light"), (1280, "dark")])
def test_it_fits_every_screen(visit: Callable[..., Any], width: int, scheme: str) -> None:
    page = visit(width, scheme)
    for details in page.locator("details").all():
        details.evaluate("one => { one.open = true }")
    page.locator(".more button").first.click()
    assert page.evaluate("document.documentElement.scrollWidth") == width
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (paper == "rgb(255, 255, 255)") == (scheme == "light")
    assert page.locator("img, script").count() == 1  # ours; what hostile names hold is text


@pytest.mark.parametrize("width", [390, 1280])
def test_sorting(visit: Callable[..., Any], width: int) -> None:
    page = visit(width)
    head = page.locator("#test-0 table.board").first.locator("thead")
    assert names(page)[:3] == ["strong", "middle", "weak"], "measured ones first, the best on top"
    original = head.get_by_role("button", name="Original", exact=True)
    assert head.locator("th[aria-sort=descending]").inner_text().startswith("Original")
    original.click()
    assert names(page)[:3] == ["weak", "middle", "strong"], "reported ones have no measured number: last either way"
    head.get_by_role("button", name="as reported").click()
    assert names(page)[0].startswith("<img src=x") and names(page)[1] == "strong"
    head.get_by_role("button", name="as reported").click()
    assert names(page)[:2] == ["other 0", "other 1"]
    head.get_by_role("button", name="Model").click()
    assert names(page)[1:5] == ["middle", "other 0", "other 1", "other 2"]
    assert head.locator("th[aria-sort]").count() == 1


def test_finding(visit: Callable[..., Any]) -> None:
    page = visit()
    page.fill("#f-name", "STRONG")
    assert names(page) == ["strong"] and page.locator("#count").inner_text() == "2 measured and 0 reported rows fit."
    page.fill("#f-name", "")
    page.select_option("#f-kind", "measured")
    assert sorted(names(page)) == sorted(MODELS) and not names(page, "#reported")
    page.select_option("#f-kind", "reported")
    assert len(names(page)) == MANY and not set(names(page)) & set(MODELS)


def test_long_tables_open(visit: Callable[..., Any]) -> None:
    page = visit()
    assert len(names(page)) == MANY
    button = page.locator("#test-0 .more button")
    assert button.inner_text() == "Show all 44 rows"
    button.click()
    assert len(names(page)) == 44 and not button.is_visible()


def test_reported_rows_look_different(visit: Callable[..., Any]) -> None:
    page = visit()
    row = page.locator("#test-0 tr.reported").first
    assert "reported only" in row.inner_text() and not row.locator(".letters").count()
    assert row.locator("th").evaluate("one => getComputedStyle(one).fontStyle") == "italic"
    assert not row.locator(".spread").count() and row.locator(".hollow").count() == 1
    strong = page.locator("#test-0 tr.measured").first
    assert strong.locator(".letters").inner_text() == "a" and "ours +" in strong.inner_text()


def test_paper_gets_every_row(visit: Callable[..., Any]) -> None:
    page = visit()
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert not page.locator("tr[hidden]").count() and not page.locator("details:not([open])").count()
