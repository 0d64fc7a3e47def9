"""MMVP-VLM: two rows are a pair. The published file is not to be had here."""

from __future__ import annotations

from pathlib import Path

import pytest

from equipoise.benchmarks import mmvp_vlm
from equipoise.core.errors import UserError
from equipoise.evaluation.outcomes import image_outcomes
from equipoise.evaluation.scores import ImageScores, ItemScores, Scores

HEADER = "Question ID,Type,Statement\n"
ROWS = "1,Quantity,one dog\n2,Quantity,two dogs\n3,Text,a sign\n4,Text,no sign\n"


def test_two_rows_are_a_pair(tmp_path: Path) -> None:
    (tmp_path / "Questions.csv").write_text(HEADER + ROWS)
    items = mmvp_vlm.load(tmp_path, [])
    assert [item.id for item in items] == ["mmvp-vlm-test/1-2", "mmvp-vlm-test/3-4"]
    first = items[0]
    assert [image.path for image in first.images()] == ["Quantity/1.jpg", "Quantity/2.jpg"] and first.paired
    assert (first.caption, first.negatives[0].text) == ("a photo of one dog", "a photo of two dogs")
    assert first.tags["pattern"] == "Quantity"


def test_the_official_number_is_the_image_score(tmp_path: Path) -> None:
    (tmp_path / "Questions.csv").write_text(HEADER + ROWS)
    # of each pair: the first photo with both statements, then the second photo with both
    scores = [((3.0, 1.0), (2.5, 2.0)), ((1.0, 1.0), (0.0, 1.0))]
    rows = [
        ItemScores(
            id=item.id,
            caption=first[0],
            negatives=[first[1]],
            negative_images=(ImageScores(caption=second[0], negatives=[second[1]]),),
            paired=True,
            tags=item.tags,
        )
        for item, (first, second) in zip(mmvp_vlm.load(tmp_path, []), scores, strict=True)
    ]
    found = image_outcomes(Scores(rows))
    assert (found.image.tolist(), found.text.tolist()) == ([True, False], [False, False])


def test_rows_that_are_no_pairs_are_refused(tmp_path: Path) -> None:
    (tmp_path / "Questions.csv").write_text(HEADER + ROWS.partition("\n")[2])
    with pytest.raises(UserError, match=r"questions 2 and 3 .* two patterns"):
        mmvp_vlm.load(tmp_path, [])
    (tmp_path / "Questions.csv").write_text(HEADER + ROWS + "5,Text,a word\n")
    with pytest.raises(UserError, match="question 5 has no second one"):
        mmvp_vlm.load(tmp_path, [])
