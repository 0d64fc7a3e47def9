"""Run folders become chapters: names, groups, and the same numbers in every format."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from equipoise.core.errors import UserError
from equipoise.evaluation.results import read_result, record_hash
from equipoise.report.chapters import labels, lines, read_chapters, read_points
from equipoise.report.page import report_page, write_page
from equipoise.report.tables import caveats, percent, render

Runs = Callable[..., list[Path]]


def test_labels_are_as_short_as_they_can_be() -> None:
    places = {Path("/a/clip/replace"): "replace", Path("/a/neg/replace"): "replace", Path("/a/neg/swap"): "swap"}
    assert list(labels(places).values()) == ["clip", "neg", "neg"]
    twice = {Path("/x/run/replace"): "replace", Path("/y/run/replace"): "replace"}
    assert list(labels(twice).values()) == ["x/run", "y/run"]


def test_runs_of_one_test_set_are_one_chapter(make_runs: Runs) -> None:
    runs = make_runs()
    (chapter,) = read_chapters([runs[0], runs[1], runs[0]])  # a folder named twice is one run
    assert [entry.label for entry in chapter.entries] == ["first", "second"]
    assert len(chapter.ids) == 64 and chapter.tags() == ["type"] and not chapter.notes
    first = chapter.entries[0].numbers
    brittle = sum(3 <= code <= 4 for code in chapter.codes[0])
    assert first["brittleness"] == brittle / 64 == 0.25


def test_the_page_has_every_caveat_that_eval_prints(make_runs: Runs) -> None:
    runs = make_runs()
    path = runs[0] / "made" / "result.json"
    record = json.loads(path.read_text())
    record["counts"] = {"texts_cut": 3, "read_alike": 2}
    record["read_alike"] = ["made/1", "made/2"]
    record["record_sha256"] = record_hash(record)
    path.write_text(json.dumps(record))
    (chapter,) = read_chapters(runs)
    said = " ".join(chapter.notes)
    assert all(f"first: {caveat}." in said for caveat in caveats(read_result(runs[0] / "made")))
    assert "2 items tie" in said and "second:" not in said


def test_other_items_are_another_chapter(make_runs: Runs) -> None:
    runs = make_runs()
    path = runs[1] / "made" / "result.json"
    record = json.loads(path.read_text().replace("0" * 64, "1" * 64))
    record["record_sha256"] = record_hash(record)
    path.write_text(json.dumps(record))
    chapters = read_chapters(runs)
    assert [chapter.title for chapter in chapters] == ["made (0000000)", "made (1111111)"]
    assert "cannot be compared" in chapters[0].notes[0]


def test_the_numbers_are_equal_in_every_format(make_runs: Runs, tmp_path: Path) -> None:
    chapters = read_chapters(make_runs())
    write_page(tmp_path / "page.html", report_page(chapters))
    page = (tmp_path / "page.html").read_text()
    headline = page[page.index('class="headline stack"') : page.index("</table>", page.index('class="headline stack"'))]
    rows = lines(chapters)
    markdown, latex, text = (render(rows, form) for form in ("md", "latex", "text"))
    table = list(csv.DictReader(io.StringIO(render(rows, "csv"))))
    objects = json.loads(render(rows, "json"))
    for line, one, value in zip(rows, table, objects, strict=True):
        assert (one["label"], value["label"]) == (line.label, line.label)
        for metric in ("original", "augmented", "brittleness"):
            shown = percent(line.numbers, metric)
            assert all(shown in form for form in (markdown, latex, text))
            share, _, spread = shown.partition(" ")
            assert f">{share}</a>" in headline and f"<small>{spread}</small>" in headline
            assert f"{100 * float(one[metric]):.1f}" == share == f"{100 * value['metrics'][metric]['value']:.1f}"
    assert len(re.findall(r"<tr><th scope=\"row\">", headline)) == len(rows) + 1 == 3  # and chance


def test_points(make_runs: Runs, tmp_path: Path) -> None:
    file = tmp_path / "points.json"
    file.write_text('[{"label": "people", "benchmark": "made", "metrics": {"original": 0.97}}]')
    (chapter,) = read_chapters(make_runs(), read_points(file))
    assert [point.label for point in chapter.points] == ["people"]
    with pytest.raises(UserError, match="no run of other; measured are made"):
        read_chapters(make_runs(), [chapter.points[0].model_copy(update={"benchmark": "other"})])
    file.write_text('[{"label": "people", "metrics": {"original": "high"}}]')
    with pytest.raises(UserError, match=r"2 problems(?s:.*)points\.0\.benchmark(?s:.*)points\.0\.metrics\.original"):
        read_points(file)
