"""The page in a real browser: Debian's Chromium, driven by Playwright. Skipped, with a reason, where one is absent."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests import browsing
from tests.browsing import Visit, visiting
from tests.report.test_page import HOSTILE, hostile
from typer.testing import CliRunner

from equipoise.cli import app
from equipoise.data.items import ImageRef
from equipoise.report.chapters import Chapter, read_chapters
from equipoise.report.orderings import CLASSES, OUTCOMES
from equipoise.report.page import report_page, write_page

pytestmark = browsing.NEEDED
browser = browsing.browser

Runs = Callable[..., list[Path]]


@pytest.fixture
def visit(browser: Any, tmp_path: Path) -> Iterator[Visit]:
    """A page of some chapters, opened."""
    with visiting(browser) as opened:

        def written(chapters: list[Chapter], width: int = 1280) -> Any:
            write_page(tmp_path / "page.html", report_page(chapters))
            return opened((tmp_path / "page.html").as_uri(), width)

        yield written


def shown(page: Any) -> int:
    return int(page.locator("#cards .card").count())


def count(page: Any) -> str:
    return str(page.locator("#count").inner_text())


@pytest.mark.parametrize("width", [390, 1280])
def test_it_fits_every_screen(make_runs: Runs, visit: Callable[..., Any], width: int) -> None:
    names = ("first", "a-folder-with-a-very-long-name-that-somebody-gave-to-a-run-of-theirs-in-2026")
    page = visit(read_chapters(make_runs(change=hostile, models=names)), width)
    for details in page.locator("details").all():
        details.evaluate("one => { one.open = true }")
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        assert page.evaluate("document.documentElement.scrollWidth") == width
        paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (paper == "rgb(255, 255, 255)") == (scheme == "light")


def test_filters(make_runs: Runs, visit: Callable[..., Any]) -> None:
    (chapter,) = chapters = read_chapters(make_runs())
    page = visit(chapters)
    first, second = chapter.codes
    for outcome in ("cnp", "pnc", "right", "wrong"):
        page.select_option("#f-outcome", outcome)
        total = int(np.isin(first, OUTCOMES[outcome][1]).sum())
        assert count(page) == f"{total} of 64 items fit. {total} of {total} shown, drawn at random."
        assert shown(page) == min(12, total)
    right = [np.isin(codes, OUTCOMES["right"][1]) for codes in (first, second)]
    page.select_option("#f-outcome", "right")
    page.select_option("#f-other", "1")  # A right and B wrong
    both = int((right[0] & ~right[1]).sum())
    assert 0 < both < right[0].sum() and count(page).startswith(f"{both} of 64 items fit.")
    for row in page.locator("#cards .card").all():
        assert row.locator("tbody tr").nth(0).inner_text().endswith("right")
        assert not row.locator("tbody tr").nth(1).inner_text().endswith("right")
    page.select_option("#f-run", "1")  # the same model on both sides is no question
    assert page.locator("#f-other").input_value() == "-1"
    page.select_option("#f-tag", label="type: size")
    sizes = np.array([row.tags["type"] == "size" for row in chapter.entries[0].run.rows])
    assert count(page).startswith(f"{int((right[1] & sizes).sum())} of 64")


def test_pages(make_runs: Runs, visit: Callable[..., Any]) -> None:
    page = visit(read_chapters(make_runs()))
    page.select_option("#f-outcome", "any")
    seen = []
    for number in range(1, 7):
        assert page.locator("#where").inner_text() == f"page {number} of 6"
        seen += page.locator("#cards .card p:first-child").all_inner_texts()
        if number < 6:
            page.click("#next")
    assert len(seen) == len(set(seen)) == 64 and page.locator("#next").is_disabled()
    page.click("#back")
    assert page.locator("#where").inner_text() == "page 5 of 6"


def test_from_a_number_to_its_items_to_a_picture(make_runs: Runs, visit: Callable[..., Any]) -> None:
    (chapter,) = chapters = read_chapters(make_runs())
    page = visit(chapters)
    page.click('.headline a[data-run="1"][data-outcome="brittle"]')
    assert page.locator("#f-run").input_value() == "1" and page.locator("#f-outcome").input_value() == "brittle"
    assert count(page).startswith(f"{int(np.isin(chapter.codes[1], OUTCOMES['brittle'][1]).sum())} of 64")
    assert page.locator("#gallery").evaluate("one => one.getBoundingClientRect().top < innerHeight")
    page.locator("#cards .card button").first.click()
    image = page.locator("dialog[open] img")
    assert image.is_visible() and image.evaluate("one => one.naturalWidth") == 160
    assert "made/" in page.locator("dialog").inner_text()
    page.keyboard.press("Escape")
    assert not page.locator("dialog[open]").count()
    page.locator("figure a[data-code='5']").first.click()  # an ordering in the figure
    assert page.locator("#f-outcome").locator("option:checked").inner_text() == "n > c > p"
    page.locator("figure details").first.evaluate("one => { one.open = true }")
    page.locator("figure a[data-run='0'][data-outcome='drop']").click()  # what a rewording costs
    assert count(page).startswith(f"{round(64 * (chapter.entries[0].numbers['drop'] or 0))} of 64")
    page.locator("figure a[data-tag='0']").first.click()  # a tag's value in another
    assert page.locator("#f-tag").locator("option:checked").inner_text() == "type: colour"


def test_hostile_texts_are_shown_as_they_are(make_runs: Runs, visit: Callable[..., Any]) -> None:
    page = visit(read_chapters(make_runs(change=hostile)))
    assert page.title().startswith("Does the model know")
    page.select_option("#f-outcome", "any")
    assert HOSTILE in page.locator("#cards .card").first.inner_text()
    page.locator("#cards .card button").first.click()
    assert HOSTILE in page.locator("dialog").inner_text()
    assert page.locator("img[src='x'], script").count() == 2  # the data and ours


def test_without_pictures(make_runs: Runs, visit: Callable[..., Any], tmp_path: Path) -> None:
    chapters = read_chapters(make_runs())
    (tmp_path / "photos").rename(tmp_path / "gone")
    page = visit(chapters)
    assert shown(page) == 12 and "no picture in this page" in page.locator("#cards").inner_text()
    assert "--images DIR" in page.locator("#gallery .warn").inner_text()


@pytest.mark.parametrize("width", [390, 1280])
def test_boxes_and_other_pictures(make_runs: Runs, visit: Callable[..., Any], width: int) -> None:
    """The box lies where the item has it, on the card and on the large picture; the wrong picture stands beside."""

    def boxed(number: int) -> dict[str, Any]:
        image = ImageRef(path=f"{number % 8}.png", box=(75, 100, 150, 50))
        return {"image": image, "negative_images": (ImageRef(path="7.png"),)}

    page = visit(read_chapters(make_runs(16, change=boxed)), width)
    page.locator("#cards .card button").first.click()
    for place in ("#cards .card >> nth=0", "dialog[open]"):
        picture = page.locator(place).locator(".named.right .pic")
        image, box = picture.locator("img").bounding_box(), picture.locator(".box").bounding_box()
        shares = [(box["x"] - image["x"]) / image["width"], (box["y"] - image["y"]) / image["height"]]
        shares += [box["width"] / image["width"], box["height"] / image["height"]]
        assert shares == pytest.approx([0.25, 0.5, 0.5, 0.25], abs=0.02)
        assert image["width"] / image["height"] == pytest.approx(1.5, abs=0.03), "not squeezed"
        assert page.locator(place).locator(".named.wrong img").is_visible()
    assert "wrong picture" in page.locator("dialog table").nth(1).inner_text()
    assert page.evaluate("document.documentElement.scrollWidth") == width


def test_paper_gets_what_a_screen_folds_away(make_runs: Runs, visit: Callable[..., Any]) -> None:
    page = visit(read_chapters(make_runs()))
    page.emulate_media(media="print")
    assert not page.locator("nav").is_visible() and not page.locator("#filters").is_visible()
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert not page.locator("details:not([open])").count()
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("details:not([open])").count()


def test_what_changed_between_two_models(make_runs: Runs, visit: Callable[..., Any]) -> None:
    (chapter,) = chapters = read_chapters(make_runs())
    was, now = (np.array([CLASSES[code].group for code in codes]) for codes in chapter.codes)
    wanted = {
        "Got worse": (was == "right") & (now != "right"),
        "Became brittle": (was != "brittle") & (now == "brittle"),
        "Fixed": (was != "right") & (now == "right"),
    }
    page = visit(chapters)
    for words, items in wanted.items():
        page.locator("#changes button", has_text=words).click()
        assert 0 < items.sum() < 64 and count(page).startswith(f"{items.sum()} of 64 items fit.")
        assert page.locator("#changes button", has_text=words).inner_text() == f"{words}: {items.sum()}"
    page.select_option("#f-outcome", "right")  # another question
    assert page.locator("#changes [aria-pressed=true]").count() == 0
    page.click('.change a[data-change="brittle"]')
    assert count(page).startswith(f"{wanted['Became brittle'].sum()} of 64")
    assert not visit(read_chapters(make_runs(models=("first",)))).locator("#changes").is_visible()


def test_a_phone_has_the_name_of_each_number_above_it(make_runs: Runs, visit: Callable[..., Any]) -> None:
    """Brittleness stood below the head "Augmented"."""
    page = visit(read_chapters(make_runs()), 390)
    assert not page.locator(".headline thead").is_visible()
    names = page.locator(".headline tbody tr:nth-child(2) td").evaluate_all(
        "all => all.map(one => getComputedStyle(one, '::before').content)"
    )
    heads = page.locator(".headline thead th").evaluate_all("all => all.map(one => one.firstChild.textContent.trim())")
    assert names == [f'"{head}"' for head in heads[1:]] and names[:3] == ['"Original"', '"Augmented"', '"Brittleness"']
    assert page.evaluate("document.documentElement.scrollWidth") == 390


def test_a_card_on_a_phone_has_the_name_of_each_number_above_it(browser: Any, tmp_path: Path) -> None:
    log, said = tmp_path / "m_CCBench.tsv", "A very long answer, " * 40
    rows = ["index question A B answer prediction".split(), ["0", "What?", "cat", "dog", "A", "A"]]
    rows.append(["1", "Who?", "he", "she", "B", said])
    log.write_text("\n".join(map("\t".join, rows)) + "\n")
    run = CliRunner().invoke
    assert run(app, ["metrics", str(log), "--out", str(tmp_path / "run")]).exit_code == 0
    assert run(app, ["report", str(tmp_path / "run"), "--out", str(tmp_path / "card.html")]).exit_code == 0
    with visiting(browser) as opened:
        page = opened((tmp_path / "card.html").as_uri(), 390)
        names = page.locator("tbody tr:first-child td").evaluate_all(
            "all => all.map(one => getComputedStyle(one, '::before').content)"
        )
        assert names[:4] == ['"percent"', '"n"', '"by chance"', '"what it counts"'] and '"said"' in names
        assert page.evaluate("document.documentElement.scrollWidth") == 390
        assert page.locator(".said").evaluate_all("all => Math.min(...all.map(one => one.clientWidth))") > 250
