"""studies/page_numbers.py: a page with another number than its home fails, and writing puts it right."""

from __future__ import annotations

import functools
import re
from pathlib import Path

import pytest

from studies import page_numbers
from studies.page_numbers import check, pages

ROOT = Path(__file__).resolve().parents[2]
PAGES = pages(ROOT)
TABLE = "| model | right |\n| --- | ---: |\n| ours | +5.8 [+4.1, +7.6]\\* |\n| few | -3.3 [-4.8, -1.8] (p = 0.11) |"
HOME = f"<!-- numbers: coco-short -->\n\n{TABLE}\n\n<!-- end -->\n"


@functools.cache
def quick() -> dict[str, str]:
    """The output of the quick commands, made only by the process that runs these tests."""
    return {name: out for name in page_numbers.ON_NO_PAGE if (out := page_numbers.printed(name))}


def said(*quotes: str) -> list[str]:
    return [one.what for one in check({"x.md": HOME + "\n".join(quotes)}, {})[1]]


def test_every_quote_on_the_pages_is_what_its_home_says() -> None:
    assert not list(map(str, check(PAGES, quick())[1]))


@pytest.mark.parametrize("page", ["README.md", "docs/coco.md"])
def test_a_changed_digit_is_named_by_page_line_and_both_values(page: str) -> None:
    before = PAGES[page]
    place = next(re.finditer(r"(?<=-->)27\.6", before)).start()
    after = f"{before[:place]}27.5{before[place + 4 :]}"
    found, wrong = check({**PAGES, page: after}, quick())
    line = before.count("\n", 0, place) + 1
    assert [(one.page, one.line) for one in wrong] == [(page, line)]
    assert "27.5" in wrong[0].what and "27.6" in wrong[0].what
    assert found == PAGES  # as it is written


def test_a_changed_digit_in_the_table_of_coco_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_numbers, "today", lambda: pytest.fail("a source distribution has no git"))
    page = "docs/coco.md"
    block = next(one for one in page_numbers.HOME.finditer(PAGES[page]) if one[1] == "coco-short")
    row = block[2].splitlines()[-1]
    after = {**PAGES, page: PAGES[page].replace(row, row.replace(".", ".9", 1))}
    found, wrong = check(after, {**quick(), "coco-short": block[2]})
    assert len(wrong) == 1 and wrong[0].page == page and row in wrong[0].what and found == PAGES
    assert PAGES[page].splitlines()[wrong[0].line - 1] == row


def test_signs_losses_and_verdicts() -> None:
    where = "coco-short: ours > right"
    right = (
        f"gains <!--{where}-->5.8 points [4.1, 7.6]",
        f"<!--{where}; significant-->+5.8 [+4.1, +7.6]",
        f"loses <!--{where}; lost-->-5.8 [-7.6, -4.1]",
        f"about <!--{where}; 1-->5.8",
        "<!--coco-short: model > ours > *-->5.8 [4.1, 7.6]",
    )
    assert said(*right) == []
    assert len(said(f"loses <!--{where}-->-5.8 [4.1, 7.6]")) == 1
    assert "not significant" in said(f"<!--{where}; not significant-->5.8 [4.1, 7.6]")[0]
    assert "names 0 cells" in said("<!--coco-short: theirs > right-->5.8")[0]
    assert "'nobody'" in said("<!--nobody: ours > right-->5.8")[0]
    assert "no number" in said(f"<!--{where}-->none")[0]


def test_where_the_interval_excludes_zero_and_nothing_is_significant_p_stands_next_to_it() -> None:
    where = "coco-short: few > right"
    assert not said(
        f"<!--{where}; lost; not significant; p-->3.3 [1.8, 4.8] (not significant, p = 0.11)", f"<!--{where}; 1-->-3.3"
    )
    assert "corrected p" in said(f"<!--{where}; not significant-->-3.3 [-4.8, -1.8]")[0]
    assert "0.12" in said(f"<!--{where}; not significant; p-->-3.3 [-4.8, -1.8], p = 0.12")[0]


def test_a_result_on_the_menu_has_a_home() -> None:
    for text in ("rises by 5.8 [4.1, 7.6]", "right on 95.9 % of it"):
        wrong = check({**PAGES, "README.md": f"{PAGES['README.md']}\n{text}\n"}, quick())[1]
        assert [(one.page, one.line) for one in wrong] == [("README.md", PAGES["README.md"].count("\n") + 2)]


def test_numbers_that_ci_cannot_compute_have_a_date_and_a_commit() -> None:
    block = "<!-- numbers: speed -->\n\n| a | 1.0 |\n\nComputed{}.\n\n<!-- end -->\n"
    assert check({"x.md": block.format(" on 18 November 2026 at commit 9648ca45")}, {})[1] == []
    assert "at which commit" in check({"x.md": block.format("")}, {})[1][0].what


@pytest.mark.parametrize("model", ["CLIP", "ViLT", "ViLBERT", "LXMERT"])
def test_two_pages_print_one_interval_for_one_fact(model: str) -> None:
    called = {"CLIP": "CLIP (ViT-B/32)"}.get(model, model)
    other = PAGES["docs/appendix/published_numbers.md"]
    found = page_numbers.quoted(other, f"model, photos > {called}, whole > right in one")
    assert found == page_numbers.quoted(page_numbers.homes(PAGES)["ledger"], f"Predicate-noun > {model} > changes")


# ---------------------------------------------------------------------------- tables that are files

FILE = "docs/appendix/tables/coco/minilm.tsv"
PRINTED = "| MiniLM | right |\n| --- | ---: |\n| `ours` | +5.8 [+4.1, +7.6]\\* |"
SHOWN = "[x](tables/coco/minilm.tsv)\n<!-- table: coco/minilm -->\n\n| x |\n\n<!-- end -->\n"


def test_a_table_is_written_as_a_file_shown_on_its_page_and_quoted() -> None:
    quote = "<!--coco: MiniLM > `ours` > right; significant-->5.8 points [4.1, 7.6]"
    found, wrong = check({"x.md": SHOWN + quote}, {"coco": PRINTED})
    assert found[FILE] == "MiniLM\tright\nours\t+5.8 [+4.1, +7.6]*\n"
    assert PRINTED.replace("`", "") in found["x.md"]
    assert {one.page for one in wrong} == {FILE, "x.md"}
    assert check(found, {"coco": PRINTED}) == (found, [])


def test_a_changed_digit_in_a_file_is_named_and_put_right() -> None:
    found = check({"x.md": SHOWN}, {"coco": PRINTED})[0]
    after, wrong = check({**found, FILE: found[FILE].replace("5.8", "5.9")}, {"coco": PRINTED})
    assert [(one.page, one.line) for one in wrong] == [(FILE, 2)] and "5.9" in wrong[0].what
    assert after == found


def test_a_file_that_no_command_prints_goes_and_one_without_a_link_is_named() -> None:
    stale = FILE.replace("minilm", "old")
    found, wrong = check({"x.md": "", stale: "a\tb\n"}, {"coco": PRINTED})
    assert stale not in found and [one.what for one in wrong if one.page == FILE][-1] == "no page links to it"
