"""The pages of `equipoise view` in a real browser, on a screen and on a phone."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests import browsing
from tests.browsing import Visit, visiting
from tests.report.test_page import HOSTILE, hostile
from tests.view.conftest import Serve, copies, put_status, put_training

from equipoise.core import progress as status

pytestmark = browsing.NEEDED
browser = browsing.browser

Runs = Callable[..., list[Path]]
WIDTHS = (1280, 390)
LONGEST = """() => { window.longest = 0;
  new PerformanceObserver((list) => list.getEntries().forEach((one) => {
    window.longest = Math.max(window.longest, one.duration); })).observe({ entryTypes: ["longtask"] }); }"""


@pytest.fixture
def visit(browser: Any) -> Iterator[Visit]:
    with visiting(browser) as opened:
        yield opened


def fits(page: Any, width: int) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth") == width)


def bar(done: int) -> list[dict[str, Any]]:
    return [{"what": "images", "done": done, "total": 40, "unit": "images", "rate": 2.0}]


@pytest.mark.parametrize("width", WIDTHS)
def test_a_run_that_grows_and_one_that_fails(
    tmp_path: Path, make_runs: Runs, serve: Serve, visit: Visit, width: int
) -> None:
    (_, second) = make_runs(count=16)
    second.rename(tmp_path / "later")
    runs = tmp_path / "runs"
    put_status(runs / "second", "running", bars=bar(10))
    put_status(runs / "bad", "failed", error=f"captions.csv, line 3: no caption {HOSTILE}")
    page = visit(serve(runs).address, width)
    row = page.locator("tr[data-at^='second/']")
    row.get_by_text("images: 10 of 40 images, 2.0 images/s, 15 s left").wait_for()
    assert row.locator("progress").evaluate("one => one.value / one.max") == 0.25
    bad = page.locator("section", has_text="Did not finish")
    assert f"captions.csv, line 3: no caption {HOSTILE}" in bad.inner_text() and fits(page, width)
    put_status(runs / "second", "running", bars=bar(30))
    row.get_by_text("30 of 40 images").wait_for()
    shutil.move(tmp_path / "later" / "made", runs / "second" / "made")
    put_status(runs / "second", "finished")
    page.locator("tr[data-at='second/made/result.json']").get_by_text("Original accuracy 50.0").wait_for()
    assert not page.get_by_role("heading", name="Running").count()
    assert page.locator("section", has_text="Finished").locator("tr").count() == 2
    assert not page.evaluate("document.title").startswith("owned")


@pytest.mark.parametrize("width", WIDTHS)
def test_two_runs_compared(tmp_path: Path, make_runs: Runs, serve: Serve, visit: Visit, width: int) -> None:
    make_runs(count=64, models=["first", "second", "third"], change=hostile)
    page = visit(serve(tmp_path).address, width)
    for name in ("third", "first", "second"):  # the last two stay
        page.check(f"tr[data-at='runs/{name}/made/result.json'] input")
    assert page.locator("#runs input:checked").count() == 2
    page.get_by_role("link", name="Compare runs/second/made with runs/first/made").click()
    assert page.locator("h1").inner_text() == "runs/second/made against runs/first/made"
    rows = page.locator("#compared tbody tr")
    assert rows.count() == 4 and "not significant" in rows.first.inner_text()
    page.get_by_role("button", name="Got worse").click()
    page.locator("#cards .card").first.wait_for()
    assert "64 items fit." in page.locator("#count").inner_text() and fits(page, width)
    page.locator("#cards .card button").first.click()
    assert page.locator("dialog[open] img").evaluate("one => one.decode().then(() => one.naturalWidth)") == 160
    assert HOSTILE in page.locator("dialog").inner_text() and page.title() != "owned"
    page.keyboard.press("Escape")
    page.get_by_role("link", name="All runs").click()
    page.locator("tr").first.wait_for()


@pytest.mark.parametrize("width", WIDTHS)
def test_a_curve_that_grows(tmp_path: Path, serve: Serve, visit: Visit, width: int) -> None:
    put_training(tmp_path / "hn", 30)
    page = visit(serve(tmp_path).address, width)
    page.get_by_role("link", name="hn", exact=True).click()
    page.get_by_text("Chosen checkpoint: step 10").wait_for()
    assert page.locator("figure").count() >= 3 and page.locator("svg").get_by_text("chosen").count()
    assert fits(page, width)
    if width == WIDTHS[1]:
        return  # it grows alike on every screen
    page.wait_for_timeout(500)
    put_training(tmp_path / "hn", 300, first=31)
    page.locator("svg text", has_text="300").first.wait_for()


def test_what_is_on_the_screen_is_frozen(tmp_path: Path, make_runs: Runs, serve: Serve, visit: Visit) -> None:
    make_runs(count=16)
    put_status(tmp_path / "runs" / "bad", "failed", error="no caption")
    serve(tmp_path).views.export(tmp_path / "page.html")
    page = visit((tmp_path / "page.html").as_uri())
    assert page.locator("tr").count() == 3 and "no caption" in page.inner_text("#runs")
    assert page.inner_text("#said").startswith("As it was on") and not page.locator("#runs a, #runs input").count()


@pytest.mark.long  # it measures times, and beside other work a browser's longest task was once 225 ms
def test_many_runs_and_many_items(tmp_path: Path, make_runs: Runs, serve: Serve, visit: Visit) -> None:
    make_runs(count=27_443, models=["large"])
    (small,) = make_runs(count=16, models=["small"])
    copies(small / "made", tmp_path / "many", 500)
    listed = 60.0
    for _ in range(2):  # the better of two, both of a server that has read nothing: other tests may run meanwhile
        server = serve(tmp_path)
        page = visit(server.address)
        page.locator("tr").nth(501).wait_for()
        drawn = page.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd / 1000")
        listed = min(listed, drawn)
    page.evaluate(LONGEST)
    put_status(tmp_path / "many" / "model-000", "running")
    page.get_by_role("heading", name="Running").wait_for()  # drawn anew
    page.mouse.wheel(0, 20_000)
    redrawn = page.evaluate("window.longest")
    page.goto(f"{server.address.partition('?')[0]}run?run=runs/large/made/result.json")
    page.locator("#cards .card").first.wait_for()
    page.evaluate(LONGEST)
    for act in (
        *[lambda: page.click("#next")] * 4,
        lambda: page.select_option("#f-outcome", "any"),
        lambda: page.select_option("#f-tag", label="type: size"),
        lambda: page.select_option("#f-outcome", "wrong"),
        *[lambda: page.click("#next")] * 2,
    ):
        before = page.locator("#cards").inner_text()
        act()
        page.wait_for_function("before => document.getElementById('cards').innerText !== before", arg=before)
        page.mouse.wheel(0, 800)
    longest = page.evaluate("window.longest")
    asked = "performance.getEntriesByType('resource').filter((one) => one.name.includes('/items'))"
    sent = page.evaluate(f"{asked}.map((one) => one.duration)")
    print(f"502 runs {listed:.2f} s; longest task {redrawn:.0f} and {longest:.0f} ms; items sent in {max(sent):.0f} ms")
    assert "27,443 items fit." in page.locator("#count").inner_text()
    assert listed < 2 and max(redrawn, longest) < 200


def test_a_killed_process_is_seen(tmp_path: Path, serve: Serve, visit: Visit) -> None:
    put_status(tmp_path / "run", "running", updated=time.time() - status.SILENT + 2)
    page = visit(serve(tmp_path).address)
    page.get_by_role("heading", name="Running").wait_for()
    page.get_by_text("its process ended without a word").wait_for()
