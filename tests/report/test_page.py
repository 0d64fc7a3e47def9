"""The page as a file: self-contained, escaped, of a size that can be mailed; its words follow the numbers."""

from __future__ import annotations

import base64
import hashlib
import itertools
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from equipoise.data.items import ImageRef, texts
from equipoise.evaluation.averages import summarise
from equipoise.evaluation.outcomes import outcomes_of
from equipoise.evaluation.record import Interval
from equipoise.evaluation.results import record_hash
from equipoise.report.chapters import Chapter, Point, read_chapters
from equipoise.report.html import templates
from equipoise.report.page import Page, Table, finding, report_page, write_page
from equipoise.report.tradeoff import HEIGHT, Mark, scatter

Runs = Callable[..., list[Path]]
HOSTILE = '</script><script>document.title="owned"</script><img src=x onerror=alert(1)>'


def hostile(number: int) -> dict[str, Any]:
    return {
        "caption": f"{number} {HOSTILE}",
        "positives": texts("[x](javascript:alert(1)) \u202e turned"),
        "tags": {"type": HOSTILE if number % 2 else "plain", "\"><script>alert(2)</script>": str(number % 3)},
    }  # fmt: skip


def written(chapters: list[Chapter], path: Path) -> str:
    write_page(path, report_page(chapters))
    return path.read_text(encoding="utf-8")


def test_nothing_is_fetched_and_only_our_script_runs(make_runs: Runs, tmp_path: Path) -> None:
    text = written(read_chapters(make_runs()), tmp_path / "page.html")
    assert not re.search(r"https?://|<link|<iframe|@import|url\((?!#)", text)
    scripts = re.findall(r"<script>(.*?)</script>", text, flags=re.DOTALL)
    assert len(scripts) == 1 and len(re.findall("<script", text)) == 2, "ours, and the data"
    digest = base64.b64encode(hashlib.sha256(scripts[0].encode()).digest()).decode()
    assert f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{digest}'" in text
    for part in ("The numbers of this figure", "py:first", "c &gt; n &gt; p", "One item, to begin with", "By type"):
        assert part in text
    assert text.count("<figure") == text.count("The numbers of this figure") >= 5


def test_what_strangers_wrote_stays_text(make_runs: Runs, tmp_path: Path) -> None:
    text = written(read_chapters(make_runs(change=hostile)), tmp_path / "page.html")
    assert "<img src=x" not in text and 'document.title="owned"</script>' not in text
    assert len(re.findall("<script", text)) == 2
    assert "\u202e" not in text and "\\u202e turned" in text, "shown, not obeyed"


def test_items_without_a_rewording_do_not_make_two_denominators(make_runs: Runs, tmp_path: Path) -> None:
    """Brittleness is one number on a page, and the drop is the bar, with the n that both are of."""
    chapters = read_chapters(make_runs(60, change=lambda number: {} if number % 5 else {"positives": ()}))
    text = written(chapters, tmp_path / "page.html")
    numbers = [entry.numbers for entry in chapters[0].entries]
    shown = [f"{100 * (one['brittleness'] or 0):.1f}" for one in numbers]
    assert re.findall(r"([\d.]+) brittle<", text) == shown
    assert text.count("of 60, 48 with a reworded caption</small>") == len(numbers)
    assert "The drop covers only items that have a reworded caption" in text
    by_type = chapters[0].entries[0].by["type"]
    for value in ("colour", "size"):
        assert f"{value} (n {by_type[value].n_positives})" in text and by_type[value].n_positives != by_type[value].n
    dumbbell = next(part for part in text.split("<figure")[1:] if "The drop covers only items" in part)
    bars = [
        (float(left), float(right)) for left, right in re.findall(r'x1="([\d.]+)%" x2="([\d.]+)%"[^>]*bar"', dumbbell)
    ]
    drops = [100 * (one["drop"] or 0) for one in numbers]
    assert [right - left for left, right in bars] == pytest.approx(drops, abs=0.02)
    assert drops != pytest.approx(
        [100 * ((one["original"] or 0) - (one["augmented"] or 0)) for one in numbers], abs=0.5
    )


def test_the_same_input_gives_the_same_bytes(make_runs: Runs, tmp_path: Path) -> None:
    chapters = read_chapters(make_runs())
    assert written(chapters, tmp_path / "a.html") == written(chapters, tmp_path / "b.html")


def test_a_page_keeps_to_its_size(make_runs: Runs, tmp_path: Path) -> None:
    chapters = read_chapters(make_runs(400))
    sizes = []
    for size in (110_000, 160_000):
        write_page(tmp_path / "page.html", Page("t", ["l"], chapters, size=size))
        sizes.append((tmp_path / "page.html").stat().st_size)
    assert sizes[0] <= 110_000 and sizes[0] < sizes[1] <= 160_000


def test_the_sentence_follows_the_numbers(make_runs: Runs) -> None:
    (chapter,) = read_chapters(make_runs())
    assert finding(chapter) == (
        "made: first puts the caption above the wrong one on 50.0% of items, "
        "and on 37.5% the reworded caption as well; on 25.0% it accepts one right caption and rejects the other "
        "(brittle). first is not significantly ahead of second (+0.0 [-50.0, +50.0], p = 1.0000) (Original accuracy, "
        "points, paired). No model is significantly above chance (50.0%)."
    )


def test_least_brittle_is_said_of_another_number_only(make_runs: Runs) -> None:
    (chapter,) = read_chapters(make_runs())
    first, second = chapter.entries
    level = replace(second, numbers=second.numbers.model_copy(update={"metrics": first.numbers.metrics}))
    assert "least brittle" not in finding(replace(chapter, entries=[first, level]))
    steadier = replace(
        second,
        numbers=second.numbers.model_copy(
            update={
                "metrics": second.numbers.metrics
                | {"brittleness": second.numbers.metrics["brittleness"].model_copy(update={"value": 0.1})}
            }
        ),
    )
    assert "second is the least brittle: 10.0%" in finding(replace(chapter, entries=[first, steadier]))


def test_a_model_is_called_ahead_only_where_that_is_significant(make_runs: Runs) -> None:
    """Interval and corrected p, as `compare` has it; runs of other items are not paired at all."""
    (chapter,) = read_chapters(make_runs(64, change=lambda number: {"image": ImageRef(path=f"{number}.png")}))
    before, after = chapter.entries
    rows = [row.model_copy(update={"caption": 1.0}) for row in after.run.rows]
    outcomes = outcomes_of(rows)
    better = replace(after, numbers=summarise(outcomes).overall, run=replace(after.run, outcomes=outcomes))
    told = finding(replace(chapter, entries=[before, better], change=None))
    assert re.search(
        r"second is significantly ahead of first \(\+50\.0 \[\+3\d\.\d, \+6\d\.\d\], p ≤ 0\.0001\) \(Original accuracy",
        told,
    ), told
    few = replace(after, run=replace(after.run, outcomes=outcomes_of(after.run.rows[:60])))
    assert "cannot be paired, so whether first is ahead is unknown" in finding(
        replace(chapter, entries=[before, few], change=None)
    )


def test_the_rule_of_a_verdict_is_where_the_table_is(make_runs: Runs, tmp_path: Path) -> None:
    rule = "significant if the interval excludes zero and the corrected p is below 0.05"
    two = written(read_chapters(make_runs()), tmp_path / "page.html")
    assert rule in two.partition('id="table"')[2].partition("<table")[0]
    one = written(read_chapters(make_runs(models=("first",))), tmp_path / "page.html")
    assert rule not in one.partition('id="table"')[2].partition("<table")[0]


def test_a_model_that_was_trained_on_the_items_is_called_so(make_runs: Runs) -> None:
    first, second = make_runs()
    (place,) = second.rglob("result.json")
    record = json.loads(place.read_text())
    record["counts"]["trained_on"] = 60
    record["record_sha256"] = record_hash(record)
    place.write_text(json.dumps(record))
    (chapter,) = read_chapters([first, second])
    told = [note for note in chapter.notes if "trained on" in note]
    assert told == ["second: 60 of 64 items were trained on: no test of this model."]


@pytest.mark.parametrize(
    ("citation", "words"), [("none", "a file of your own, no paper"), ("Ray et al. 2023", "Ray et al. 2023")]
)
def test_where_the_test_set_is_from(make_runs: Runs, tmp_path: Path, citation: str, words: str) -> None:
    (chapter,) = read_chapters(make_runs(models=("first",)))
    run = chapter.entries[0].run
    named = run.records[0].benchmark.model_copy(update={"citation": citation})
    run = replace(run, records=(run.records[0].model_copy(update={"benchmark": named}),))
    chapter = replace(chapter, entries=[replace(chapter.entries[0], run=run)])
    assert f"<dt>from</dt><dd>{words}</dd>" in written([chapter], tmp_path / "page.html")


def test_points_and_tables(make_runs: Runs, tmp_path: Path) -> None:
    people = Point(
        label="people", benchmark="made", metrics={"original": 0.97, "brittleness": 0.02}, source="a study of <ten>"
    )
    (chapter,) = read_chapters(make_runs(), [people])
    rows = [("one", chapter.entries[0].numbers)]
    page = Page("A title", ["A lead & more"], [chapter], tables=[Table("More", "a note", [("group", rows)])])
    write_page(tmp_path / "page.html", page)
    text = (tmp_path / "page.html").read_text()
    assert "people: Original accuracy 97.0, Brittleness 2.0" in text and "a study of &lt;ten&gt;" in text
    assert "A lead &amp; more" in text and "a note" in text and "chance: Original accuracy 50.0" in text


def test_items_with_pictures_as_negatives(make_runs: Runs, tmp_path: Path) -> None:
    """Nothing of the three shares is measured; what is asked of the pictures is shown."""
    items = {"negatives": (), "negative_images": (ImageRef(path="7.png"),)}
    chapters = read_chapters(make_runs(change=lambda _: items))
    text = written(chapters, tmp_path / "page.html")
    assert "made: no wrong captions" in text and "Image-Original accuracy" in text
    value = chapters[0].entries[0].numbers["image_original"]
    assert value is not None and f"<td>{100 * value:.1f} [" in text
    assert "In which order" not in text and "Which scores does it give?" in text


@pytest.mark.parametrize("fields", [{"positives": ()}, {"image": None}, {"tags": {}}])
def test_what_items_may_lack(make_runs: Runs, tmp_path: Path, fields: dict[str, Any]) -> None:
    text = written(read_chapters(make_runs(change=lambda _: fields)), tmp_path / "page.html")
    assert ("Does the accuracy survive" in text) == ("positives" not in fields)
    assert ('src="data:image/jpeg' in text) == ("image" not in fields and "positives" not in fields)
    assert ("By type" in text) == ("image" in fields)


def test_the_plane_holds_the_intervals() -> None:
    wide = Interval(low=0.15, high=0.55)
    drawn = scatter([Mark("one", 0.31, 0.38, "cross", "plain", (wide, wide))], ("Original", "Brittleness"))
    lines = re.findall(r'x1="([-0-9.]+)%" x2="([-0-9.]+)%" y1="([-0-9.]+)" y2="([-0-9.]+)" class="spread', drawn)
    assert len(lines) == 2
    for left, right, low, high in lines:
        assert 0 <= float(left) <= float(right) <= 100 and 0 <= float(high) <= float(low) <= HEIGHT


@pytest.mark.parametrize("ends", [(0.15, 0.88), (0.35, 0.99), (0.02, 0.86), (0.31, 0.55), (0.05, 0.95)])
def test_the_ticks_of_the_plane_are_evenly_apart(ends: tuple[float, float]) -> None:
    marks = [Mark(str(x), x, 0.2, "cross", "plain") for x in ends]
    drawn = scatter(marks, ("Original", "Brittleness"))
    upright = re.findall(r'x1="([-0-9.]+)%" x2="([-0-9.]+)%" y1="0[.0]*" y2="300[.0]*" class="grid"', drawn)
    ticks = [float(left) for left, right in upright if left == right]
    apart = [after - before for before, after in itertools.pairwise(ticks)]
    assert len(ticks) > 2 and max(apart) - min(apart) < 0.1, ticks
    assert (ticks[0], ticks[-1]) == (0, 100)


def test_commands_in_sentences_are_code_and_not_backticks(make_runs: Runs, tmp_path: Path) -> None:
    text = written(read_chapters(make_runs()), tmp_path / "page.html")
    for script in re.findall(r"<script.*?</script>", text, re.DOTALL):
        text = text.replace(script, "")
    assert "<code>equipoise compare" in text and "`" not in text
    environment = templates("equipoise.report")
    shown = environment.from_string("{{ text | code }}").render(text="a `b <i>` <u> c")
    assert shown == "a <code>b &lt;i&gt;</code> &lt;u&gt; c"


def test_two_models_have_a_row_of_what_changed(make_runs: Runs, tmp_path: Path) -> None:
    """Interval, corrected p and the word for every metric; one model, or three, have no such row."""
    (chapter,) = read_chapters(make_runs())
    page = written([chapter], tmp_path / "page.html")
    row = page.partition('<tr class="change">')[2].partition("</tr>")[0]
    assert chapter.change is not None and chapter.change.changes["original"].adjusted == 1.0
    assert row.count("p = 1.0000") >= 4 and row.count("not significant") >= 3 and "drop +" in row
    assert 'data-change="brittle"' in row
    for names in (("first",), ("first", "second", "third")):
        assert '<tr class="change">' not in written(read_chapters(make_runs(models=names)), tmp_path / "page.html")
