"""Which models cannot be told apart, and what others reported of them."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from equipoise.benchmarks import registry
from equipoise.cli import app
from equipoise.core.errors import UserError
from equipoise.evaluation.averages import measure
from equipoise.evaluation.outcomes import outcomes_of
from equipoise.evaluation.record import ItemCounts, RunRecord
from equipoise.evaluation.results import write_run
from equipoise.evaluation.scores import ImageScores, ItemScores
from equipoise.evaluation.task import benchmark_id
from equipoise.report.chapters import Chapter, Point, lines, read_chapters, read_points
from equipoise.report.tables import render

MODELS = {"weak": 0.3, "strong": 0.8, "like-strong": 0.8}
MakeRuns = Callable[..., Path]


@pytest.fixture
def make_runs(tmp_path: Path, make_record: Callable[..., RunRecord]) -> MakeRuns:
    """A folder of runs: model -> share of items that it gets right, drawn by its name, on `count` items a split."""

    def make(
        right: Mapping[str, float],
        benchmark: str = "sugarcrepe",
        count: int = 40,
        specs: Mapping[str, str] | None = None,
        folder: str = "runs",
        **changes: Any,
    ) -> Path:
        facts = registry.get(benchmark)
        for place, (model, share) in enumerate(right.items()):
            rng = np.random.default_rng(place)
            rows = []
            for split in facts.splits:
                for number in range(count):
                    wins = rng.random(2) < share
                    tags = {"split": split, "group": split.partition("_")[0]}
                    common = {"id": f"{split}/{number}", "image": f"{number}.jpg", "tags": tags}
                    rows.append(_paired(common, *wins) if benchmark == "winoground" else _pair(common, wins[0]))
            outcomes = outcomes_of(rows)
            golden = make_record(benchmark, items_sha256="0" * 64)
            spec = (specs or {}).get(model, f"py:{model}")
            about = benchmark_id([], facts).model_copy(
                update={"splits": list(facts.splits), "items_sha256": "0" * 64} | changes
            )
            record = golden.model_copy(
                update={
                    "benchmark": about,
                    "metrics": measure(outcomes, facts, resamples=100),
                    "n": ItemCounts(items=len(rows), scored=len(rows), skipped=0),
                    "model": golden.model.model_copy(update={"spec": spec, "weight_sha256": f"{place:064}"}),
                }
            )
            write_run(tmp_path / folder / model / benchmark, record, outcomes, {})
        return tmp_path / folder

    return make


def _pair(common: dict[str, Any], right: bool) -> ItemScores:
    return ItemScores(**common, caption=0.3, positives=[], negatives=[0.2 if right else 0.4])


def _paired(common: dict[str, Any], text: bool, image: bool) -> ItemScores:
    """Winoground's two by two: text score where each image prefers its own text, image score the other way round."""
    own, wrong = 0.5, 0.4
    negative = wrong if text else 0.6
    other = ImageScores(image=f"other-{common['image']}", caption=wrong if image else 0.7, negatives=[0.9])
    return ItemScores(**common, caption=own, positives=[], negatives=[negative], negative_images=(other,), paired=True)


def only(folder: Path, *points: Point) -> Chapter:
    (chapter,) = read_chapters([folder], points)
    return chapter


def letters(chapter: Chapter, metric: str = "original") -> dict[str, str | None]:
    return {entry.label: entry.letters.get(metric) for entry in chapter.entries}


def reported(label: str, value: float, **fields: Any) -> Point:
    return Point(
        **{"label": label, "benchmark": "sugarcrepe", "metrics": {"original": value}, "average": "vl_compo"} | fields
    )


def test_groups_in_place_of_ranks(make_runs: MakeRuns) -> None:
    chapter = only(make_runs(MODELS))
    assert letters(chapter) == {"strong": "a", "like-strong": "a", "weak": "b"}
    (weak,) = [line for line in lines([chapter]) if line.label == "weak"]
    assert weak.letters == {"original": "b"} and weak.to_json()["letters"] == {"original": "b"}


def test_image_scores_have_groups_too(make_runs: MakeRuns) -> None:
    found = letters(only(make_runs(MODELS, "winoground", count=200)), "image")
    assert found["strong"] == found["like-strong"] == "a" and found["weak"] == "b"


def test_one_or_two_models_have_no_letters(make_runs: MakeRuns) -> None:
    """`compare` says everything about two models."""
    assert letters(only(make_runs({"one": 0.3, "two": 0.9}))) == {"one": None, "two": None}


# ---------------------------------------------------------------------------- reported numbers


def test_reported_numbers_are_rows_without_a_letter(make_runs: MakeRuns) -> None:
    chapter = only(make_runs(MODELS), reported("Strong", 0.75, source="their Table 3"), reported("Others", 0.9))
    table = render(lines([chapter]), "md")
    assert re.search(r"\| Others \(reported\) \| - \| 90\.0 \|", table)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"metrics": {"original": 83.7}}, "83.7 is no fraction; 76.6 percent is 0.766"),
        ({"metrics": {"correctness": 0.8}}, r"no metric 'correctness' \(original, augmented"),
        ({"more": 1}, "more"),
        ({"benchmark": 1}, "benchmark"),
    ],
)
def test_a_file_that_is_none(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    given = {"label": "a", "benchmark": "b", "metrics": {"original": 0.5}} | changes
    (tmp_path / "p.json").write_text(json.dumps([given]))
    with pytest.raises(UserError, match=message):
        read_points(tmp_path / "p.json")


# ---------------------------------------------------------------------------- the verb, and the formats


def call(*arguments: str) -> str:
    found = CliRunner().invoke(app, ["report", *arguments], catch_exceptions=False)
    assert found.exit_code == 0
    return found.stdout


def test_the_numbers_of_all_formats_are_equal(make_runs: MakeRuns, tmp_path: Path) -> None:
    """Every number, interval and letter of the JSON is in each of the other forms, and what others reported."""
    folder = make_runs(MODELS)
    given = [{"label": "other", "benchmark": "sugarcrepe", "metrics": {"original": 0.9}, "source": "<b>them</b>"}]
    (tmp_path / "p.json").write_text(json.dumps(given))
    options = [str(folder), "--points", str(tmp_path / "p.json")]
    forms = {form: call(*options, "--format", form) for form in ("csv", "md", "latex", "text")}
    forms["json"] = call(*options, "--json")
    call(*options, "--out", str(tmp_path / "b.html"))
    html = (tmp_path / "b.html").read_text()
    forms["html"] = re.sub(r"<[^>]+>", " ", html.partition('<section id="chapter-0">')[0])
    rows = json.loads(forms["json"])
    written = {line["label"]: line for line in csv.DictReader(io.StringIO(forms["csv"]))}
    for row in rows[:-1]:
        one, line = row["metrics"]["original"], written[row["label"]]
        found = [float(line[name]) for name in ("original", "original_low", "original_high")]
        assert found == [one["value"], *one["interval"]] and line["original_letters"] == row["letters"]["original"]
        low, high = (f"{100 * end:.1f}" for end in one["interval"])
        shown = rf"{row['label']}\b.*?{100 * one['value']:.1f}.*?\[{low}, {high}\].*?\b{row['letters']['original']}\b"
        for form in ("md", "latex", "text"):
            assert re.search(shown, forms[form]), form
        page = rf"{row['label']}\b.*?{100 * one['value']:.1f}.*?\b{row['letters']['original']}\b.*?\[{low}, {high}\]"
        assert re.search(page, forms["html"], re.DOTALL)
    assert rows[-1]["reported"] == "<b>them</b>" and written["other"]["original"] == "0.9"
    for form in ("md", "latex", "text", "html"):
        assert "90.0" in forms[form]
    assert "letters hold for this list of models" in forms["md"] and "&lt;b&gt;them" in html


def test_same_runs_same_page(make_runs: MakeRuns, tmp_path: Path) -> None:
    folder = str(make_runs(MODELS))
    for name in ("a.html", "b.html"):
        call(folder, "--out", str(tmp_path / name))
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()
