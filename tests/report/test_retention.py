"""Retention against composition: found below the runs or named, matched by weights, drawn with its table."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.evaluation.sets.helpers import COLOURS, Blind, Eye, paint

from equipoise.evaluation.results import record_hash
from equipoise.evaluation.run import evaluate_set, model_card
from equipoise.evaluation.sets.kinds import open_set
from equipoise.report.chapters import read_chapters
from equipoise.report.page import report_page, write_page
from equipoise.report.tradeoff import with_retention

Runs = Callable[..., list[Path]]


@pytest.fixture
def runs(make_runs: Runs, tmp_path: Path) -> list[Path]:
    """Two runs whose models are Eye and Blind, with their standard evaluations below the runs."""
    folders = make_runs(16)
    for colour in COLOURS:
        for number in range(3):
            paint(tmp_path / "colours" / colour / f"{number}.png", colour, 10 * number)
    data = open_set("zeroshot:" + str(tmp_path / "colours"))
    for folder, model in zip(folders, (Eye(), Blind()), strict=True):
        evaluate_set(model, data, out=folder / "colours-zeroshot", workers=1)
        change(folder / "made", model_card(model, probe=False).model_dump(mode="json"))
    return folders


def change(folder: Path, card: dict[str, Any]) -> None:
    path = folder / "result.json"
    record = json.loads(path.read_text())
    record["model"] = card
    record["record_sha256"] = record_hash(record)
    path.write_text(json.dumps(record))


def test_it_is_found_below_the_runs(runs: list[Path], tmp_path: Path) -> None:
    (chapter,) = with_retention(read_chapters(runs), runs)
    (drawn,) = chapter.kept
    numbers = [json.loads((run / "colours-zeroshot" / "result.json").read_text())["metrics"]["overall"] for run in runs]
    first, second = (one["metrics"]["accuracy@1"] for one in numbers)
    assert first["value"] > second["value"] == 0  # ties are never a win, so Blind has nothing
    words = re.sub(r"<[^>]+>", " ", drawn)
    assert "What was kept? colours-zeroshot (classification)" in words and "accuracy@1" in words
    low, high = first["interval"]
    assert f"{100 * first['value']:.1f} [{100 * low:.1f}, {100 * high:.1f}]" in words
    assert f"{100 * (second['value'] - first['value']):+.1f} [" in words, "the change, paired"
    assert drawn.count("<svg x=") == 2, "a mark for each model"
    write_page(tmp_path / "page.html", report_page([chapter]))
    assert "What was kept?" in (tmp_path / "page.html").read_text()


def test_a_metric_of_an_older_version_keeps_its_name(runs: list[Path]) -> None:
    for run in runs:
        path = run / "colours-zeroshot" / "result.json"
        record = json.loads(path.read_text())
        found = record["metrics"]["overall"]["metrics"]
        found["kendall_tau_b"] = found["accuracy@1"]
        record["record_sha256"] = record_hash(record)
        path.write_text(json.dumps(record))
    assert "kendall tau b" in with_retention(read_chapters(runs), runs)[0].kept[0]


def test_folders_may_be_named(runs: list[Path], tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    for run in runs:
        (run / "colours-zeroshot").rename(kept / run.name)
    chapters = read_chapters(runs)
    assert not with_retention(chapters, runs)[0].kept
    assert len(with_retention(read_chapters([*runs, kept]), [*runs, kept])[0].kept) == 1


def test_another_models_evaluation_is_not_ours(runs: list[Path]) -> None:
    change(runs[1] / "made", {"spec": "eye", "device": "cpu", "digest": "1", "activation": "gelu"})
    (chapter,) = with_retention(read_chapters(runs), runs)
    assert not chapter.kept, "one model alone is no comparison"
    assert "No run of the model, so not shown" in chapter.notes[-1] and "second" in chapter.notes[-1]
