"""The study in a real browser: Debian's Chromium, driven by Playwright. Skipped, with a reason, where one is absent."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests import browsing
from tests.browsing import Visit, visiting
from tests.study.asking import answer, serving
from tests.study.conftest import Make

from equipoise.items import texts
from equipoise.study.importing import import_answers
from equipoise.study.page import write_file_page
from equipoise.study.questions import read_study, screen
from equipoise.study.server import StudyServer
from equipoise.study.store import Store

pytestmark = browsing.NEEDED
browser = browsing.browser
LONG = "a " + "very-" * 40 + "long-word and <script>alert(1)</script><img src=x onerror=alert(2)>"


@pytest.fixture
def visit(browser: Any) -> Iterator[Visit]:
    with visiting(browser) as opened:
        yield opened


def begin(page: Any, name: str = "Anna") -> None:
    page.fill("#name", name)
    page.keyboard.press("Enter")
    page.wait_for_selector("#ask:not([hidden])")


def press(page: Any, keys: str) -> None:
    for key in keys.split():
        page.keyboard.press(key)


def done(page: Any, count: str) -> None:
    page.wait_for_function("words => document.getElementById('count').textContent === words", arg=count)


def told(page: Any, words: str) -> None:
    page.wait_for_function("words => document.getElementById('told').textContent.includes(words)", arg=words)


def asked(server: StudyServer, name: str, place: int) -> dict[str, Any]:
    """The question at this place of somebody's order, with what is stored now, as their screen shows it."""
    return screen(server.study, name, server.store.latest(name))[place]


def test_ranking_by_keyboard(make: Make, visit: Visit) -> None:
    with serving(make()) as server:
        page = visit(server.url)
        begin(page)
        done(page, "0 of 8")
        assert page.locator("#texts .words").all_inner_texts() == asked(server, "anna", 0)["texts"]
        press(page, "2 1")
        assert page.locator("#order").inner_text() == "Your order: 2 > 1 > …"
        press(page, "Enter")  # one is missing: nothing is sent
        assert "every caption" in page.locator("#told").inner_text() and not server.store.history()
        press(page, "3 Enter")
        done(page, "1 of 8")
        assert asked(server, "anna", 0)["value"] == [2, 1, 3]
        press(page, "3 t 1 2 Enter")  # a tie at the top
        done(page, "2 of 8")
        assert asked(server, "anna", 1)["value"] == [1, 2, 1]
        press(page, "1 2 3 t Enter")  # after all are placed: the last two tie
        done(page, "3 of 8")
        assert asked(server, "anna", 2)["value"] == [1, 2, 2]
        press(page, "1 1 9 x t t 2 3 Enter")  # again, nobody, nothing, and back
        done(page, "4 of 8")
        assert asked(server, "anna", 3)["value"] == [1, 2, 3]
        image = page.locator("#picture")
        assert image.evaluate("one => one.decode().then(() => one.naturalWidth)") == 360


def test_undo(make: Make, visit: Visit) -> None:
    with serving(make()) as server:
        page = visit(server.url)
        begin(page)
        press(page, "1 2 u u 3 2 1 Enter")  # two steps back before it was saved
        done(page, "1 of 8")
        first = asked(server, "anna", 0)
        assert first["value"] == [3, 2, 1] and first["revision"] == 1
        press(page, "2 u u")  # one step back, then into the question before
        done(page, "0 of 8")
        assert asked(server, "anna", 0)["value"] is None
        assert "Taken back" in page.locator("#told").inner_text()
        assert page.locator("#order").inner_text() == "Your order: 3 > 2 > 1"  # as it was, to be changed
        press(page, "u u 1 2 Enter")
        done(page, "1 of 8")
        assert asked(server, "anna", 0)["value"] == [2, 3, 1]
        values = [row.value is None for row in server.store.history("anna")]
        assert values == [False, True, False]  # and nothing was forgotten


def test_resume_anywhere(make: Make, visit: Visit) -> None:
    folder = make()
    with serving(folder) as server:
        page = visit(server.url)
        begin(page)
        press(page, "1 2 3 Enter")
        done(page, "1 of 8")
        press(page, "1 2")  # not saved
        page.reload()  # the name is in the address
        page.wait_for_selector("#ask:not([hidden])")
        done(page, "1 of 8")
        assert page.locator("#texts .words").all_inner_texts() == asked(server, "anna", 1)["texts"]
        phone = visit(server.url, 390)  # another device
        begin(phone, "  ANNA ")
        done(phone, "1 of 8")
        phone.locator("#texts button").nth(2).click()
        phone.click("#tie")
        phone.locator("#texts button").nth(0).click()
        phone.locator("#texts button").nth(1).click()
        phone.click("#save")
        done(phone, "2 of 8")
        assert asked(server, "anna", 1)["value"] == [1, 2, 1]
        page.allowed.append("409")  # the first window does not know yet
        press(page, "2 1 3 Enter")
        told(page, "another window")
        done(page, "2 of 8")
        assert asked(server, "anna", 1)["value"] == [1, 2, 1]
        ben = visit(server.url)
        begin(ben, "ben")
        done(ben, "0 of 8")


def test_to_the_end_and_back(make: Make, visit: Visit) -> None:
    with serving(make(n=3)) as server:
        page = visit(server.url)
        begin(page)
        for count in range(3):
            press(page, "1 2 3 Enter")
            done(page, f"{count + 1} of 3")
        page.wait_for_selector("#end:not([hidden])")
        assert "All 3 answers are saved" in page.locator("#end").inner_text()
        press(page, "1 Enter u")
        page.wait_for_selector("#ask:not([hidden])")
        done(page, "2 of 3")
        press(page, "Enter")
        done(page, "3 of 3")


def test_a_server_that_went_away(make: Make, visit: Visit) -> None:
    folder = make()
    with serving(folder) as server:
        page = visit(server.url)
        port = server.port
        begin(page)
        press(page, "1 2 3")
    page.allowed.append("refused")
    press(page, "Enter")
    told(page, "Not saved yet")
    assert page.locator("#count").inner_text() == "0 of 8"
    with serving(folder, port=port) as server:
        done(page, "1 of 8")
        assert len(server.store.history("anna")) == 1


def test_pairs_by_keyboard(make: Make, visit: Visit) -> None:
    with serving(make(ask="pairs")) as server:
        page = visit(server.url)
        begin(page)
        assert not page.locator("#picture").count()
        press(page, "1 y n Enter")
        assert "all five" in page.locator("#told").inner_text()
        press(page, "u 2 3 1 Enter")
        done(page, "1 of 8")
        said = {"same": "yes", "grammatical": ["yes", "no"], "plausible": ["unsure", "yes"]}
        assert asked(server, "anna", 0)["value"] == said
        page.locator(".row").nth(0).get_by_text("No").click()
        for row in range(1, 5):
            page.locator(".row").nth(row).get_by_text("Yes").click()
        page.locator(".row").nth(1).get_by_text("Can’t tell").click()  # changed before saving
        page.click("#save")
        done(page, "2 of 8")
        assert asked(server, "anna", 1)["value"]["grammatical"] == ["unsure", "yes"]


def test_with_a_token(make: Make, visit: Visit) -> None:
    with serving(make(), "0.0.0.0") as server:
        page = visit(f"http://127.0.0.1:{server.port}/?token={server.token}")
        assert page.url == f"http://127.0.0.1:{server.port}/"  # the token is out of the address line
        begin(page)
        press(page, "1 2 3 Enter")
        done(page, "1 of 8")
        assert page.locator("#picture").evaluate("one => one.decode().then(() => one.naturalWidth)") == 360


def test_without_a_server(make: Make, visit: Visit, tmp_path: Path) -> None:
    study = read_study(folder := make(n=3, caption=LONG))
    write_file_page(folder, study, "anna", tmp_path / "anna.html")
    text = (tmp_path / "anna.html").read_text()
    assert '"role"' not in text and "made/" not in text and ".png" not in text and "<script>alert" not in text
    page = visit((tmp_path / "anna.html").as_uri())
    page.click("text=Begin")
    press(page, "2 1 t 3 Enter")
    done(page, "1 of 3")
    press(page, "u u u u 1 2 3 Enter")
    done(page, "1 of 3")
    page.reload()  # kept in the browser
    page.click("text=Begin")
    done(page, "1 of 3")
    with page.expect_download() as early:
        page.click("#download")
    early.value.save_as(tmp_path / "early.json")
    press(page, "1 2 3 Enter 3 2 1 Enter")
    page.wait_for_selector("#end:not([hidden])")
    with page.expect_download() as late:
        page.click("#download")
    assert late.value.suggested_filename == "answers-anna.json"
    late.value.save_as(tmp_path / "late.json")
    order = screen(study, "anna", {})
    store = Store(folder, study.digest)
    assert import_answers(study, store, tmp_path / "early.json") == ("anna", 3, 3)
    assert import_answers(study, store, tmp_path / "late.json") == ("anna", 5, 2)
    assert import_answers(study, store, tmp_path / "late.json") == ("anna", 5, 0)  # twice adds nothing
    after = screen(study, "anna", store.latest("anna"))
    assert [row["value"] for row in after] == [[1, 2, 3], [1, 2, 3], [3, 2, 1]]
    assert [row["question"] for row in after] == [row["question"] for row in order]
    store.close()
    other = visit((tmp_path / "anna.html").as_uri())  # another device, with the file
    other.click("text=Begin")
    done(other, "0 of 3")
    other.set_input_files("#load", tmp_path / "early.json")
    done(other, "1 of 3")
    (tmp_path / "not.json").write_text(json.dumps({"study": "another"}))
    other.set_input_files("#load", tmp_path / "not.json")
    told(other, "does not hold")


@pytest.mark.parametrize(("width", "scheme"), [(390, "light"), (390, "dark"), (1280, "light"), (1280, "dark")])
@pytest.mark.parametrize("ask", ["rank", "pairs"])
def test_it_fits_every_screen(make: Make, visit: Visit, ask: str, width: int, scheme: str) -> None:
    with serving(make(ask=ask, negatives=texts(LONG))) as server:
        page = visit(server.url, width, scheme)

        def fits() -> None:
            assert page.evaluate("document.documentElement.scrollWidth") == width
            paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
            assert (paper == "rgb(255, 255, 255)") == (scheme == "light")

        fits()
        begin(page, "a name of forty signs, as long as it goes")
        fits()
        press(page, "1 t 2")
        fits()
        press(page, "3 1 1 1 Enter")
        done(page, "1 of 8")
        fits()


def test_hostile_texts_are_texts(make: Make, visit: Visit) -> None:
    """Nothing runs (the fixture fails on dialogs and on console errors) and everything is shown as it was written."""
    with serving(make(caption=LONG)) as server:
        page = visit(server.url)
        begin(page, "<img src=x onerror=alert(3)>")
        assert LONG in page.locator("#texts .words").all_inner_texts()
        assert not page.locator("#texts img, #texts script, #who img").count()


def test_two_windows_of_two_people(make: Make, visit: Visit) -> None:
    with serving(make(n=3)) as server:
        anna, ben = visit(server.url), visit(server.url)
        begin(anna, "anna")
        begin(ben, "ben")
        for count in range(3):
            press(anna, "1 2 3 Enter")
            press(ben, "3 2 1 Enter")
            done(anna, f"{count + 1} of 3")
            done(ben, f"{count + 1} of 3")
        answers = server.store.answers()
        assert {name: len(given) for name, given in answers.items()} == {"anna": 3, "ben": 3}
        assert answer(server.port, [1, 2, 3], "anna", 0, 2).status == 200
