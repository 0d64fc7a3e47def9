"""The study's page in a real browser: Debian's Chromium, driven by Playwright. Skipped where one is absent."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests import browsing
from tests.browsing import Visit, visiting
from tests.study.conftest import Make, answers_file

from equipoise.data.items import texts
from equipoise.study.page import write_page
from equipoise.study.questions import in_study_order, page_of, read_answers, read_study, screen

pytestmark = browsing.NEEDED
browser = browsing.browser
LONG = "a " + "very-" * 40 + "long-word and <script>alert(1)</script><img src=x onerror=alert(2)>"


@pytest.fixture
def visit(browser: Any) -> Iterator[Visit]:
    with visiting(browser) as opened:
        yield opened


def begin(page: Any) -> None:
    page.click("#begin")
    page.wait_for_selector("#ask:not([hidden])")


def press(page: Any, keys: str) -> None:
    for key in keys.split():
        page.keyboard.press(key)


def done(page: Any, count: str) -> None:
    # By the clock: a tab in the background draws no frames to wait for.
    page.wait_for_function("words => document.getElementById('count').textContent === words", arg=count, polling=100)


def said(page: Any, words: str) -> None:
    page.wait_for_function("words => document.getElementById('told').textContent.includes(words)", arg=words)


def write(folder: Path, annotator: str = "anna") -> str:
    write_page(folder, read_study(folder), annotator, folder.parent / "page.html")
    return (folder.parent / "page.html").as_uri()


def download(page: Any, path: Path) -> Path:
    with page.expect_download() as found:
        page.click("#download")
    assert found.value.suggested_filename == "answers-anna.json"
    found.value.save_as(path)
    return path


def given(page: Any, folder: Path) -> list[Any]:
    """The given answers, in the order of anna's screen; None where there is none."""
    rows = json.loads(download(page, folder.parent / "answers.json").read_text())["answers"]
    values = {row["question"]: row["value"] for row in rows}
    return [values.get(question["question"]) for question in screen(read_study(folder), "anna")]


def test_ranking_by_keyboard(make: Make, visit: Visit) -> None:
    folder = make()
    page = visit(write(folder))
    begin(page)
    done(page, "0 of 8")
    assert page.locator("#texts .words").all_inner_texts() == screen(read_study(folder), "anna")[0]["texts"]
    press(page, "2 1")
    assert page.locator("#order").inner_text() == "Your order: 2 > 1 > …"
    press(page, "Enter")  # one is missing: nothing is kept
    assert "every caption" in page.locator("#told").inner_text() and given(page, folder) == [None] * 8
    press(page, "3 Enter")
    done(page, "1 of 8")
    press(page, "3 t 1 2 Enter")  # a tie at the top
    done(page, "2 of 8")
    press(page, "1 2 3 t Enter")  # after all are placed: the last two tie
    done(page, "3 of 8")
    press(page, "1 1 9 x t t 2 3 Enter")  # again, nobody, nothing, and back
    done(page, "4 of 8")
    assert given(page, folder)[:5] == [[2, 1, 3], [1, 2, 1], [1, 2, 2], [1, 2, 3], None]
    image = page.locator("#picture")
    assert image.evaluate("one => one.decode().then(() => one.naturalWidth)") == 360


def test_undo(make: Make, visit: Visit) -> None:
    folder = make()
    page = visit(write(folder))
    begin(page)
    press(page, "1 2 u u 3 2 1 Enter")  # two steps back before it was saved
    done(page, "1 of 8")
    assert given(page, folder)[0] == [3, 2, 1]
    press(page, "2 u u")  # one step back, then into the question before
    done(page, "0 of 8")
    assert given(page, folder)[0] is None
    assert "Taken back" in page.locator("#told").inner_text()
    assert page.locator("#order").inner_text() == "Your order: 3 > 2 > 1"  # as it was, to be changed
    press(page, "u u 1 2 Enter")
    done(page, "1 of 8")
    assert given(page, folder)[0] == [2, 3, 1]


def test_to_the_end_and_back(make: Make, visit: Visit) -> None:
    page = visit(write(make(n=3)))
    begin(page)
    for count in range(3):
        press(page, "1 2 3 Enter")
        done(page, f"{count + 1} of 3")
    page.wait_for_selector("#end:not([hidden])")
    assert "All 3 are answered" in page.locator("#end").inner_text()
    press(page, "1 Enter u")
    page.wait_for_selector("#ask:not([hidden])")
    done(page, "2 of 3")
    press(page, "Enter")
    done(page, "3 of 3")


def test_pairs_by_keyboard(make: Make, visit: Visit) -> None:
    folder = make(ask="pairs")
    page = visit(write(folder))
    begin(page)
    assert not page.locator("#picture").count()
    press(page, "1 y n Enter")
    assert "all five" in page.locator("#told").inner_text()
    press(page, "u 2 3 1 Enter")
    done(page, "1 of 8")
    assert given(page, folder)[0] == {"same": "yes", "grammatical": ["yes", "no"], "plausible": ["unsure", "yes"]}
    page.locator(".row").nth(0).get_by_text("No").click()
    for row in range(1, 5):
        page.locator(".row").nth(row).get_by_text("Yes").click()
    page.locator(".row").nth(1).get_by_text("Can’t tell").click()  # changed before saving
    page.click("#save")
    done(page, "2 of 8")
    assert given(page, folder)[1]["grammatical"] == ["unsure", "yes"]


def test_by_touch(make: Make, visit: Visit) -> None:
    folder = make()
    phone = visit(write(folder), 390)
    assert phone.locator("#start .touch").is_visible() and not phone.locator("#start .typed").is_visible()
    begin(phone)
    phone.locator("#texts button").nth(2).click()
    phone.click("#tie")
    phone.locator("#texts button").nth(0).click()
    phone.locator("#texts button").nth(1).click()
    phone.click("#save")
    done(phone, "1 of 8")
    assert given(phone, folder)[0] == [1, 2, 1]


def test_kept_downloaded_and_read_back(make: Make, visit: Visit, tmp_path: Path) -> None:
    study = read_study(folder := make(n=3, caption=LONG))
    address = write(folder)
    text = (tmp_path / "page.html").read_text()
    assert '"role"' not in text and "made/" not in text and ".png" not in text and "<script>alert" not in text
    page = visit(address)
    begin(page)
    press(page, "2 1 t 3 Enter")
    done(page, "1 of 3")
    press(page, "u u u u 1 2 3 Enter")
    done(page, "1 of 3")
    press(page, "1 2")  # not saved
    page.reload()  # what was saved is kept in the browser
    begin(page)
    done(page, "1 of 3")
    early = download(page, tmp_path / "early.json")
    press(page, "1 2 3 Enter 3 2 1 Enter")
    page.wait_for_selector("#end:not([hidden])")
    late = download(page, tmp_path / "late.json")
    order = [study.questions[row["question"]] for row in screen(study, "anna")]
    ranks = zip(order, ([1, 2, 3], [1, 2, 3], [3, 2, 1]), strict=True)
    expected = {question.number: in_study_order(study, "anna", question, value) for question, value in ranks}
    assert read_answers(study, [late]) == {"anna": expected}
    other = visit(address)  # another device, with the file
    begin(other)
    done(other, "0 of 3")
    other.set_input_files("#load", early)
    done(other, "1 of 3")
    (tmp_path / "not.json").write_text(json.dumps({"study": "another"}))
    other.set_input_files("#load", tmp_path / "not.json")
    said(other, "does not hold")
    other.set_input_files("#load", late)
    done(other, "3 of 3")
    other.set_input_files("#load", early)
    said(other, "0 answers were added")
    done(other, "3 of 3")


def test_two_tabs_keep_the_answers_of_both(make: Make, visit: Visit) -> None:
    folder = make(n=4)
    one = visit(address := write(folder))
    two = visit(address, context=one.context)
    begin(one)
    begin(two)
    press(one, "1 2 3 Enter 2 1 3 Enter 3 2 1 Enter")
    done(one, "3 of 4")
    done(two, "3 of 4")
    press(two, "3 1 2 Enter")  # the same question, the first, answered again
    two.wait_for_selector("#ask:not([hidden])")
    press(one, "1 2 3 Enter")
    done(two, "4 of 4")
    two.reload()
    two.click("#begin")
    done(two, "4 of 4")
    assert given(two, folder) == [[2, 3, 1], [2, 1, 3], [3, 2, 1], [1, 2, 3]]


def loaded(tab: Any, folder: Path, values: list[Any], **fields: Any) -> None:
    """Load a file with these answers to the first questions of anna's screen; None: not answered."""
    study = read_study(folder)
    order = [question["question"] for question in screen(study, "anna")]
    rows = [{"question": order[place], "value": value} for place, value in enumerate(values) if value is not None]
    tab.evaluate("document.getElementById('told').textContent = ''")
    tab.set_input_files("#load", answers_file(folder.parent / "load.json", study, rows, **fields))


def test_loaded_answers_are_merged_and_stored_at_once(make: Make, visit: Visit) -> None:
    folder = make(n=4)
    page = visit(write(folder))
    begin(page)
    loaded(page, folder, [None, [2, 1, 3]])
    said(page, "1 answers were added")
    page.reload()
    begin(page)
    done(page, "1 of 4")
    press(page, "3 2 1 Enter")
    page.evaluate("window.confirm = (words) => { window.asked = words; return false; }")
    loaded(page, folder, [[1, 2, 3], [2, 1, 3], [1, 1, 1]])
    said(page, "1 answers were added, 0 replaced")
    assert "1 answers in this file differ" in page.evaluate("window.asked")
    assert given(page, folder) == [[3, 2, 1], [2, 1, 3], [1, 1, 1], None]
    page.evaluate("window.confirm = () => true")
    loaded(page, folder, [[1, 2, 3]])
    said(page, "0 answers were added, 1 replaced")
    assert given(page, folder) == [[1, 2, 3], [2, 1, 3], [1, 1, 1], None]


@pytest.mark.parametrize(
    ("ask", "value"),
    [
        ("rank", [1, 2]),
        ("rank", [1, 3, 3]),
        ("rank", [0, 1, 2]),
        ("rank", ["1", "2", "3"]),
        ("rank", "123"),
        ("pairs", {"same": "yes", "grammatical": ["yes"], "plausible": ["yes", "no"]}),
        ("pairs", {"same": "yes", "grammatical": ["yes", "no"], "plausible": ["yes", "maybe"]}),
        ("pairs", [1, 2]),
    ],
)
def test_a_damaged_file_changes_nothing(make: Make, visit: Visit, ask: str, value: Any) -> None:
    folder = make(n=4, ask=ask)
    page = visit(write(folder))
    begin(page)
    loaded(page, folder, [value])
    said(page, "damaged")
    page.reload()
    begin(page)
    done(page, "0 of 4")


def test_a_file_with_no_rows_or_of_another_page(make: Make, visit: Visit) -> None:
    folder = make(n=4)
    page = visit(write(folder))
    begin(page)
    for answers in ([None], {"a": 1}, None, [{"question": 99, "value": [1, 2, 3]}]):
        loaded(page, folder, [], answers=answers)
        said(page, "damaged")
    loaded(page, folder, [[1, 2, 3]], page=page_of(read_study(folder), "ben"))
    said(page, "does not hold")


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("ask", ["rank", "pairs"])
def test_it_fits_every_screen(make: Make, visit: Visit, ask: str, width: int) -> None:
    page = visit(write(make(ask=ask, negatives=texts(LONG)), "a name of forty signs, as long as it goes"), width)

    def fits() -> None:
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            assert page.evaluate("document.documentElement.scrollWidth") == width
            paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
            assert (paper == "rgb(255, 255, 255)") == (scheme == "light")

    fits()
    begin(page)
    fits()
    press(page, "1 t 2")
    fits()
    press(page, "3 1 1 1 Enter")
    done(page, "1 of 8")
    fits()


def test_hostile_texts_are_texts(make: Make, visit: Visit) -> None:
    """Nothing runs (the fixture fails on dialogs and on console errors) and everything is shown as it was written."""
    page = visit(write(make(caption=LONG), "<img src=x onerror=alert(3)>"))
    begin(page)
    assert LONG in page.locator("#texts .words").all_inner_texts()
    assert not page.locator("#texts img, #texts script, #who img").count()
