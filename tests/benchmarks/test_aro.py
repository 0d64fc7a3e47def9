from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from equipoise.benchmarks import aro, registry
from equipoise.core.errors import UserError

BOX = {"bbox_x": 10, "bbox_y": 20, "bbox_w": 30, "bbox_h": 40}


def test_the_scored_relations_are_48() -> None:
    assert Counter(aro.KINDS.values()) == {"spatial": 13, "verb": 32, "not in the paper's table": 3}


def test_symmetric_relations_are_left_out_and_boxes_kept(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    texts = {"true_caption": "the horse is eating the grass", "false_caption": "the grass is eating the horse"}
    records = [
        {"image_path": "1.jpg", "relation_name": relation, **BOX, **texts} for relation in ("near", "eating", "pulling")
    ]
    records += [{**records[0], "relation_name": relation} for relation in ("near", "by")]
    (tmp_path / "visual_genome_relation.json").write_text(json.dumps(records))
    with caplog.at_level("INFO"):
        items = aro.load_relation(tmp_path, [])
    assert "2 items; 3 of 2 other relations left out" in caplog.text
    assert [(item.id, item.tags["relation"]) for item in items] == [
        ("aro-vg-r-test/1", "eating"),
        ("aro-vg-r-test/2", "pulling"),
    ]
    assert items[0].image is not None and items[0].image.box == (10, 20, 30, 40)
    assert items[0].caption == texts["true_caption"] and items[0].negatives[0].text == texts["false_caption"]
    assert registry.get("aro-vg-r").macro == ("relation",)


def test_attribute_pairs_are_ordered(tmp_path: Path) -> None:
    texts = {"true_caption": "the red car and the old man", "false_caption": "the old car and the red man"}
    records = [{"image_path": "1.jpg", "attributes": pair, **BOX, **texts} for pair in (["red", "old"], ["old", "red"])]
    (tmp_path / "visual_genome_attribution.json").write_text(json.dumps(records))
    assert [item.tags["pair"] for item in registry.get("aro-vg-a").load(tmp_path, ["test"])] == ["red_old", "old_red"]
    assert (registry.get("aro-vg-a").macro, registry.get("aro-vg-a").least) == (("pair",), 25)


def test_a_box_without_width_is_a_problem(tmp_path: Path) -> None:
    record = {
        "image_path": "1.jpg",
        "attributes": ["red"],
        **BOX,
        "bbox_w": 0,
        "true_caption": "a",
        "false_caption": "b",
    }
    (tmp_path / "visual_genome_attribution.json").write_text(json.dumps([record, {**record, "attributes": ["a", "b"]}]))
    with pytest.raises(UserError, match=r"(?s)record 0: attributes.*record 1: box: expected x, y, width, height"):
        registry.get("aro-vg-a").load(tmp_path, [])
