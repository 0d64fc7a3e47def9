"""FG-OVD: a box, its description, ten others."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from equipoise.benchmarks import fg_ovd
from equipoise.benchmarks.check import check
from equipoise.core.errors import UserError

RECORD = {
    "img_path": "val2017/000000056288.jpg",
    "bbox": [0.0, 114.24, 62.27, 31.5],
    "pos_expression": ["A black telephone."],
    "neg_expression": ["A brown telephone.", "a  black telephone."],
    "category_id": 11,
}


def test_a_region_is_an_item_with_its_box(tmp_path: Path) -> None:
    (tmp_path / "m_attributes_llava.jsonl").write_text(json.dumps(RECORD) + "\n")
    (item,) = fg_ovd.load(tmp_path, ["medium"])
    assert item.id == "fg-ovd-medium/0"
    assert item.image is not None and item.image.box == (0.0, 114.24, 62.27, 31.5)
    assert item.tags == {"split": "medium", "side": "under 32 px", "negatives": "2"}
    (tied,) = [finding for finding in check([item]).findings if "forced ties" in finding.what]
    assert tied.count == 1  # the description is among its negatives, as in four rows of the published file


def test_a_box_without_extent_is_refused(tmp_path: Path) -> None:
    (tmp_path / "e_attributes_llava.jsonl").write_text(json.dumps({**RECORD, "bbox": [1.0, 2.0, 0.0, 3.0]}) + "\n")
    with pytest.raises(UserError, match="width and height above 0"):
        fg_ovd.load(tmp_path, [])


def test_the_whole_file(shared_data: Path) -> None:
    items = fg_ovd.load(shared_data / "fg_ovd", [])
    assert len(items) == fg_ovd.SPLITS["easy"]
    assert {len(item.negatives) for item in items} == {10}
    assert Counter(item.tags["side"] for item in items) == {"32 px or more": 1003, "under 32 px": 296}
    assert max(len(item.caption.split()) for item in items) == 49
    assert {item.image.path.split("/")[0] for item in items if item.image} == {"train2017", "val2017"}
