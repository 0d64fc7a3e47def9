"""MMVP-VLM: two rows are a pair. The published file is not to be had here."""

from __future__ import annotations

from pathlib import Path

import pytest

from equipoise.benchmarks import mmvp_vlm
from equipoise.errors import UserError
from equipoise.evaluation.paper_metrics import groups
from equipoise.evaluation.scores import ItemScores

HEADER = "Question ID,Type,Statement\n"
ROWS = "1,Quantity,one dog\n2,Quantity,two dogs\n3,Text,a sign\n4,Text,no sign\n"


def test_two_rows_are_a_pair(tmp_path: Path) -> None:
    (tmp_path / "Questions.csv").write_text(HEADER + ROWS)
    items = mmvp_vlm.load(tmp_path, [])
    assert [item.tags["pair"] for item in items] == ["1-2", "1-2", "3-4", "3-4"]
    second = items[1]
    assert second.image is not None and second.image.path == "Quantity/2.jpg"
    assert (second.caption, second.negatives[0].text) == ("a photo of two dogs", "a photo of one dog")


def test_the_official_number_is_the_image_score(tmp_path: Path) -> None:
    (tmp_path / "Questions.csv").write_text(HEADER + ROWS)
    own, other = [3.0, 2.0, 1.0, 1.0], [1.0, 2.5, 1.0, 0.0]  # each photo with its statement, and with the other's
    rows = [
        ItemScores(id=item.id, caption=a, negatives=[b], tags=item.tags)
        for item, a, b in zip(mmvp_vlm.load(tmp_path, []), own, other, strict=True)
    ]
    found = groups(rows)
    assert (found["n"], found["image"], found["text"]) == (2, 0.5, 0.0)


def test_rows_that_are_no_pairs_are_refused(tmp_path: Path) -> None:
    (tmp_path / "Questions.csv").write_text(HEADER + ROWS.partition("\n")[2])
    with pytest.raises(UserError, match=r"questions 2 and 3 .* two patterns"):
        mmvp_vlm.load(tmp_path, [])
    (tmp_path / "Questions.csv").write_text(HEADER + ROWS + "5,Text,a word\n")
    with pytest.raises(UserError, match="question 5 has no second one"):
        mmvp_vlm.load(tmp_path, [])
