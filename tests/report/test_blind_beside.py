"""Blind baselines in the report: in the table, the notes and the plane, and not twice."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import pytest
from PIL import Image

from equipoise.data.items import ImageRef, Item, texts
from equipoise.evaluation.run import evaluate
from equipoise.models import load_model
from equipoise.report.chapters import lines, read_chapters
from equipoise.report.footnotes import eval_lines
from equipoise.report.tables import render, result_rows
from equipoise.report.tradeoff import plane


class Guess:
    card = {"spec": "guess", "digest": "1"}  # noqa: RUF012

    def score_pairs(self, images: Sequence[Image.Image], strings: Sequence[str]) -> list[float]:
        return [random.Random(text).random() for text in strings]


def _items() -> list[Item]:
    return [
        Item(
            id=str(number),
            image=ImageRef(path=f"{number % 9}.png"),
            caption=f"a dog {number}",
            positives=texts(f"one dog {number}"),
            negatives=texts(f"a wrong cat {number}"),
            tags={"split": "all"},
        )
        for number in range(45)
    ]


def test_the_best_blind_judge_is_in_the_table_the_notes_and_the_plane(tmp_path: Path) -> None:
    photos = tmp_path / "photos"
    photos.mkdir()
    for number in range(9):
        Image.new("RGB", (4, 4)).save(photos / f"{number}.png")
    evaluate(Guess(), _items(), images=photos, out=tmp_path / "guess")
    (chapter,) = read_chapters([tmp_path / "guess"])
    assert [point.label for point in chapter.points] == ["without the image (length)"]
    assert "without the image (length): Original accuracy 100.0" in plane(chapter)
    (note,) = (note for note in chapter.notes if "never see the picture" in note)
    assert "blind:length 100.0 / 100.0" in note and "Gain over the best of them: guess: Orig. -" in note
    assert "100.0 [" in render(lines([chapter])) and "length" in render(lines([chapter]))
    evaluate(load_model("blind:ngram"), _items(), out=tmp_path / "ngram")
    (both,) = read_chapters([tmp_path / "guess", tmp_path / "ngram"])
    assert not both.points  # it is one of the models
    (note,) = (note for note in both.notes if "never see the picture" in note)  # the judges once, each model's gain
    assert note.count("blind:length 100.0") == 1 and "guess: Orig. -" in note and "; ngram: Orig. +0.0 [" in note


def test_what_the_line_below_has_is_not_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """On a narrow screen the columns go; "no room for gain" below the gain itself would be a riddle."""
    monkeypatch.setenv("COLUMNS", "90")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    for number in range(9):
        Image.new("RGB", (4, 4)).save(tmp_path / f"{number}.png")
    record = evaluate(Guess(), _items(), images=tmp_path).record
    one = " ".join(render(result_rows(record), "text", eval_lines(record, None, True)).split())
    assert one.count("gain over the best:") == 1 and "no room for s(c), s(p), s(n):" in one
    two = " ".join(render(result_rows(record) * 2, "text", eval_lines(record, None, True)).split())
    assert "no room for best blind and gain by line, s(c), s(p), s(n):" in two
    assert "no room for best blind, gain, s(c)" in " ".join(render(result_rows(record)).split()), "no line has them"
