"""Tables in every format, from one worked result."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable

import pytest

from equipoise.evaluation.comparing.folders import Compared, FlippedItem, Flips
from equipoise.evaluation.record import (
    Change,
    Check,
    Comparison,
    Interval,
    ItemCounts,
    ItemNumbers,
    MacroNumbers,
    Metrics,
    Number,
    Preflight,
    RunRecord,
)
from equipoise.evaluation.results import ItemTexts
from equipoise.report.comparison import render_compared, render_differences
from equipoise.report.footnotes import verdict
from equipoise.report.tables import OF_THOSE, Line, percent, render, result_rows


def measured(n: int = 1234, **values: tuple[float, float, float] | float) -> dict[str, Number]:
    """Metrics by name: value, low, high; or a value without an interval."""
    return {
        name: Number(value=one[0], interval=Interval(*one[1:]), n=n)
        if isinstance(one, tuple)
        else Number(value=one, interval=None, n=n)
        for name, one in values.items()
    }


MEASURED = measured(
    original=(0.616, 0.6, 0.63), augmented=(0.468, 0.45, 0.48), brittleness=(0.232, 0.22, 0.24), drop=(0.148, 0.1, 0.2)
)
NUMBERS = ItemNumbers(n=1234, ties=5, metrics=MEASURED, images=1)
PLAIN = ItemNumbers(n=10, ties=0, metrics=measured(10, original=0.5), images=1)


@pytest.fixture
def record(make_record: Callable[..., RunRecord]) -> RunRecord:
    metrics = Metrics(
        overall=NUMBERS.model_copy(update={"metrics": MEASURED | measured(original=0.9)}),
        by={"split": {"attributes": NUMBERS, "relations": PLAIN}},
        averages={
            "paper": MacroNumbers(
                rule="paper", over=["split"], least=1, groups=2, left_out=0, n=1234, ties=5, metrics=MEASURED
            )
        },
        rule="paper",
    ).also(measured(tot=0.5))
    n = ItemCounts(items=1244, scored=1241, skipped=3)
    return make_record("replace", metrics=metrics, n=n)


def change(difference: float, low: float, high: float) -> Change:
    return Change(difference=difference, interval=Interval(low, high))


def compared(benchmark: str = "x", after: str = "b", **changes: Change) -> Comparison:
    return Comparison(benchmark=benchmark, before="a", after=after, n=10, n_positives=10, runs=(1, 1), changes=changes)


def test_the_headline_is_the_papers_average(record: RunRecord) -> None:
    rows = result_rows(record)
    assert [row.label for row in rows] == ["replace", "  attributes", "  relations"]
    assert rows[0].numbers["original"] == 0.616 and rows[0].average == "paper: mean of 2 split groups"


def test_percent() -> None:
    assert percent(NUMBERS, "original") == "61.6 [60.0, 63.0]"
    assert percent(PLAIN, "original") == "50.0" and percent(PLAIN, "augmented") == "-"


def test_text_and_markdown(record: RunRecord) -> None:
    text = render(result_rows(record), "text", "a note")
    assert "46.8 [45.0, 48.0] (14.8)" in text and "a note" in text and "1,234" in text
    lines = render(result_rows(record), "md").splitlines()
    assert lines[1] == "| --- | --- | --- | --- | --- | --- |"
    assert lines[3].startswith("| attributes | 1,234 | 61.6 [60.0, 63.0] |")
    assert lines[4] == "| relations | 10 | 50.0 | - | - | 0 |"


def test_the_n_with_a_positive_is_said_where_it_is_another(record: RunRecord) -> None:
    """Orig. is of all, Aug. and drop of fewer: without their n nobody could see why they do not add up."""
    fewer = NUMBERS.model_copy(
        update={
            "metrics": MEASURED | measured(1000, augmented=(0.468, 0.45, 0.48), drop=0.148) | measured(original=0.65)
        }
    )
    for form in ("text", "md", "latex"):
        text = render([Line("some", fewer), Line("none", PLAIN)], form)
        row = re.split(r" *[|│&] *", next(line for line in text.splitlines() if "some" in line))
        assert "n pos." in text and row[row.index("1,234") + 1] == "1,000"
        assert OF_THOSE in " ".join(text.split())
    assert "n pos." not in render([Line("all", NUMBERS), Line("none", PLAIN)])
    assert next(iter(csv.DictReader(io.StringIO(render([Line("some", fewer)], "csv")))))["n_positives"] == "1000"


def test_the_drop_has_one_sign_everywhere() -> None:
    """Original minus Augmented: 14.8, in the table as in the JSON and the CSV; a larger drop is a plus in compare."""
    line = Line("x", NUMBERS)
    for form in ("text", "md", "latex"):
        assert "(14.8)" in render([line], form) and "-14.8" not in render([line], form)
    assert json.loads(render([line], "json"))[0]["metrics"]["drop"]["value"] == 0.148
    assert next(iter(csv.DictReader(io.StringIO(render([line], "csv")))))["drop"] == "0.148"
    text = render_differences([compared(drop=change(0.02, 0.01, 0.03))])
    assert "+2.0" in text and "drop: Orig. minus Aug., so + is a larger drop" in " ".join(text.split())


def test_latex_escapes() -> None:
    text = render([Line("swap_att & more", PLAIN)], "latex", "note")
    assert r"swap\_att \& more & 10 & 50.0" in text and text.startswith("% note")


def test_csv_and_json_hold_the_numbers(record: RunRecord) -> None:
    rows = list(csv.DictReader(io.StringIO(render(result_rows(record), "csv"))))
    assert rows[0]["original_low"] == "0.6" and rows[2]["augmented"] == ""
    assert [row["benchmark"] for row in rows] == ["replace"] * 3 and [row["skipped"] for row in rows] == ["3", "", ""]
    headline, split, _ = json.loads(render(result_rows(record), "json"))
    assert split["ties"] == 5 and split["label"] == "attributes" and split["benchmark"] == "replace"
    assert (headline["model"], headline["skipped"], headline["also"]["tot"]["value"]) == ("world", 3, 0.5)
    assert headline["chance"]["original"] == 0.5
    assert render([Line("overall", PLAIN)], "csv").startswith("label,n,n_positives,ties,original")


def test_differences_mark_what_is_not_clear() -> None:
    found = compared(original=change(0.05, 0.01, 0.09), brittleness=change(0.01, -0.01, 0.03))
    text = render_differences([found])
    assert "+5.0 [+1.0, +9.0] " in text and "+1.0 [-1.0, +3.0]~" in text


def test_a_significant_difference_is_marked_and_the_rule_said() -> None:
    """Interval and corrected p must both say so; an interval alone, or p alone, is no finding."""
    both = change(0.05, 0.01, 0.09).model_copy(update={"adjusted": 0.03})
    alone = change(0.06, 0.01, 0.09).model_copy(update={"adjusted": 0.06})
    text = render_compared(Compared([compared(original=both, augmented=alone)], [Flips(0, 0, 0, [], [])]))
    assert "+5.0 [+1.0, +9.0]*" in text and "+6.0 [+1.0, +9.0]*" not in text and "0.0300*" in text
    assert "* significant: the interval excludes zero and the corrected p is below 0.05" in " ".join(text.split())


def test_flips_have_their_image_both_margins_and_how_many_there_are() -> None:
    texts_ = ItemTexts(caption="a dog", positives=[], negatives=["a cat"])
    items = [FlippedItem(str(n), f"{n}.jpg", 1.0, -0.1, 0.2, texts_) for n in range(2)]
    text = render_compared(Compared([compared()], [Flips(5, 0, 5, items, [])]))
    head = next(line for line in text.splitlines() if "became" in line and "image" in line)
    assert [cell.strip() for cell in head.split("┃")[1:-1]] == [
        "became right", "image", "margin before", "margin after", "caption", "negative",
    ]  # fmt: skip
    assert (
        "0.jpg" in text
        and "2 of the 5 that changed, those whose margin moved most (--flips original:N shows more)" in text
    )


def test_the_n_with_a_positive_of_a_comparison() -> None:
    moved = {name: change(0.05, 0.01, 0.09) for name in ("original", "augmented")}
    one = compared(**moved).model_copy(update={"n_positives": 7})
    text = render_differences([one])
    assert "n pos." in text and "are over those" in " ".join(text.split())
    assert "n pos." not in render_differences([one.model_copy(update={"n_positives": 10})])


def test_of_fewer_than_six_images_nothing_can_be_found() -> None:
    few = change(0.05, 0.01, 0.09).model_copy(update={"detectable": 6 / 5})
    text = render_compared(Compared([compared(original=few)], [Flips(0, 0, 0, [], [])]))
    assert "120.00" not in text and "none" in text


@pytest.mark.parametrize("label", ["[/red]", "[bold]x", ":smile:", "a[link=x]b"])
def test_labels_are_no_markup(label: str) -> None:
    assert label in render([Line(label, PLAIN)], "text", f"note {label}").splitlines()[3]
    assert f"note {label}" in render([Line("x", PLAIN)], "text", f"note {label}")
    assert label in render_differences([compared(benchmark=label)])
    assert label in render_differences([compared(after=label)])


@pytest.mark.parametrize("drop", [0.0, -0.0, 0.0004, -0.0004])
def test_no_drop_has_no_minus(drop: float) -> None:
    row = Line("x", NUMBERS.model_copy(update={"metrics": MEASURED | measured(drop=drop)}))
    assert "(0.0)" in render([row], "md")
    none = compared(original=change(-drop, -abs(drop), abs(drop)))
    assert "+0.0 [+0.0, +0.0]~" in render_differences([none])


def test_every_special_character_is_escaped() -> None:
    row = Line(r"a\b~c^d{e}|f", PLAIN)
    assert r"a\textbackslash{}b\textasciitilde{}c\textasciicircum{}d\{e\}\textbar{}f & 10" in render([row], "latex")
    assert r"| a\b~c^d{e}\|f | 10 |" in render([row], "md")
    assert "| two lines | 10 |" in render([Line("two\nlines", PLAIN)], "md")


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> Callable[[int | None], None]:
    """A terminal so many columns wide; None: a pipe, though the environment names a width."""

    def set_to(columns: int | None) -> None:
        monkeypatch.setenv("COLUMNS", str(columns or 40))
        monkeypatch.setattr("sys.stdout.isatty", lambda: columns is not None, raising=False)

    return set_to


@pytest.mark.parametrize(("columns", "shown"), [(200, True), (90, False), (None, True)])
def test_a_narrow_screen_leaves_the_mean_scores_out(
    columns: int | None, shown: bool, screen: Callable[[int | None], None]
) -> None:
    screen(columns)
    scores = measured(mean_score_caption=0.3, mean_score_positive=0.2, mean_score_negative=0.1)
    text = render([Line("mine", NUMBERS.model_copy(update={"metrics": MEASURED | scores}))])
    header, *_ = (line for line in text.splitlines() if "Orig." in line)
    assert ("s(n)" in header) == shown and "ties" in header and "61.6" in text and "[60.0, 63.0]" in text
    assert ("no room for s(c), s(p), s(n)" in text and "--json show them" in text) != shown  # nothing goes unsaid


WIDE = "61.6 [60.0, 63.0]"


@pytest.mark.parametrize("columns", [80, 60, 40])
def test_tables_fit_the_screen_and_lose_nothing(columns: int, screen: Callable[[int | None], None]) -> None:
    moved = {name: change(0.051, 0.012, 0.093) for name in ("original", "augmented", "brittleness", "drop")}
    found = compared("a-benchmark", "runs/there", **moved)
    long = "  a split with words of a name"
    made = {
        "eval": lambda: render([Line("replace", NUMBERS), Line(long, NUMBERS)], "text", "a caption " * 20),
        "compare": lambda: render_compared(Compared([found], [Flips(0, 0, 0, [], [])])),
    }
    for name, make in made.items():
        screen(None)
        full = make()
        screen(columns)
        narrow = make()
        assert max(map(len, full.splitlines())) > 80 >= columns >= max(map(len, narrow.splitlines())), name
        assert len(shown := re.findall(r"[-+]?\d+\.\d+", full)) > 4
        assert sorted(re.findall(r"[-+]?\d+\.\d+", narrow)) == sorted(shown), name
    screen(None)
    assert made["eval"]() == made["eval"]() and WIDE in made["eval"]()


def test_at_80_columns_the_table_of_eval_keeps_its_form(screen: Callable[[int | None], None]) -> None:
    screen(80)
    text = render([Line("replace", NUMBERS), Line("  a split with words of a name", NUMBERS)])
    lines = [[cell.strip() for cell in line.split("│")[1:-1]] for line in text.splitlines() if line.startswith("│")]
    assert lines[0][:4] == ["replace", "1,234", "61.6", "46.8 (14.8)"], lines
    assert lines[1][:4] == ["", "", "[60.0, 63.0]", "[45.0, 48.0]"], lines
    moved = {name: change(0.05, 0.01, 0.09) for name in ("original", "augmented", "brittleness", "drop")}
    both = render_compared(Compared([compared(**moved)], [Flips(0, 0, 0, [], [])]))
    assert "│   Original accuracy  │" in both and "┃   smallest ┃" in both  # heads are folded, it stays a table
    assert "\nOrig.        +5.0 [+1.0, +9.0]\n" in both  # and where that is not enough, a list


def test_a_verdict_near_chance_blames_what_can_be_to_blame(make_record: Callable[..., RunRecord]) -> None:
    """The loading only where no check cleared it."""

    def said(low: float, high: float, checks: str | None) -> str:
        numbers = NUMBERS.model_copy(update={"metrics": measured(40, original=((low + high) / 2, low, high))})
        one = {"name": "sign", "number": None, "found": "", "why": "", "fix": "", "verdict": checks}
        listed = [Check.model_validate(one)] if checks else []
        metrics = Metrics(overall=numbers, by={})
        n = ItemCounts(items=40, scored=40, skipped=0)
        return verdict(make_record(metrics=metrics, n=n, preflight=Preflight(checks=listed)))

    for checks in (None, "suspicious", "wrong"):
        assert "not significantly above chance" in said(0.4, 0.6, checks) and "equipoise doctor" in said(
            0.4, 0.6, checks
        )
    fine = said(0.4, 0.6, "fine")
    assert "not significantly above chance" in fine and "these 40 items are too few to tell" in fine
    assert "doctor" not in fine and "too few" not in said(0.1, 0.3, "fine")
    assert all(" is below chance: " in said(0.1, 0.3, checks) for checks in ("fine", "wrong"))
