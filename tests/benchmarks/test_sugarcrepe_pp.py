from __future__ import annotations

import json
from pathlib import Path

import pytest

from equipoise.benchmarks import registry
from equipoise.core.errors import UserError

sugarcrepe_pp = registry.get("sugarcrepe-pp")


def test_records_in_the_published_layout(samples: Path) -> None:
    items = sugarcrepe_pp.load(samples / "sugarcrepe_pp", [])
    counts = {split: sum(item.tags["split"] == split for item in items) for split in sugarcrepe_pp.splits}
    assert counts == {"swap_obj": 0, "swap_att": 30, "replace_obj": 30, "replace_att": 31, "replace_rel": 30}
    assert all(len(item.positives) == len(item.negatives) == 1 for item in items)
    (same,) = [item for item in items if item.caption == item.positives[0].text]
    assert same.id == "sugarcrepe-pp-replace_att/14"
    last = items[-1]
    assert last.id == "sugarcrepe-pp-swap_att/116"
    assert last.image is not None and last.image.path == "000000007899.jpg"
    assert last.caption == "A wild duck swimming across a frozen pond."
    assert last.positives[0].text == "There is a wild duck swimming across a frozen pond."
    assert last.negatives[0].text == "A frozen duck swimming across a wild pond."


def test_the_second_caption_is_a_hard_positive(tmp_path: Path) -> None:
    record = {"id": 9, "filename": "a.jpg", "caption": "one", "caption2": "uno", "negative_caption": "two"}
    (tmp_path / "swap_att.json").write_text(json.dumps([record]))
    (item,) = sugarcrepe_pp.load(tmp_path, [])
    assert item.id == "sugarcrepe-pp-swap_att/9"
    assert (item.caption, item.positives[0].text, item.negatives[0].text) == ("one", "uno", "two")


def test_a_wrong_id_is_a_problem_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "swap_att.json").write_text(json.dumps([{"id": [9], "filename": "a.jpg"}]))
    with pytest.raises(UserError, match=r"record 0: id.*found \[9\]"):
        sugarcrepe_pp.load(tmp_path, [])


def test_a_record_that_stands_there_twice_is_refused(tmp_path: Path) -> None:
    record = {"id": 7, "filename": "a.jpg", "caption": "a", "caption2": "b", "negative_caption": "c"}
    (tmp_path / "swap_att.json").write_text(json.dumps([record, record]))
    with pytest.raises(UserError, match=r"makes the item 'sugarcrepe-pp-swap_att/7', as swap_att.json, record 0 does"):
        sugarcrepe_pp.load(tmp_path, [])
