from __future__ import annotations

import json
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from equipoise.benchmarks import registry
from equipoise.core.errors import UserError

winoground = registry.get("winoground")

EXAMPLE = {
    "id": 7,
    "image_0": "ex_7_img_0",
    "image_1": "ex_7_img_1",
    "caption_0": "some plants surrounding a lightbulb",
    "caption_1": "a lightbulb surrounding some plants",
    "tag": "Noun",
    "secondary_tag": "",
    "num_main_preds": 1,
    "collapsed_tag": "Object",
}


def test_an_example_is_one_item_of_two_images_and_two_captions(tmp_path: Path) -> None:
    (tmp_path / "examples.jsonl").write_text(json.dumps(EXAMPLE) + "\n")
    (item,) = winoground.load(tmp_path, [])
    assert item.id == "winoground-test/7"
    assert item.tags == {"split": "test", "tag": "Noun", "collapsed_tag": "Object"}
    assert (item.caption, item.negatives[0].text) == (EXAMPLE["caption_0"], EXAMPLE["caption_1"])
    assert [ref.path for ref in item.images()] == ["ex_7_img_0.png", "ex_7_img_1.png"]
    assert item.positive_images == () and item.paired


def test_images_go_by_the_names_of_the_file(tmp_path: Path) -> None:
    examples = [
        EXAMPLE | {"image_0": "a/left.jpg", "image_1": "right"},
        EXAMPLE | {"id": 8, "image_0": "", "image_1": "b"},
    ]
    (tmp_path / "examples.jsonl").write_text("".join(json.dumps(one) + "\n" for one in examples))
    paths = [[ref.path for ref in item.images()] for item in winoground.load(tmp_path, [])]
    assert paths == [["a/left.jpg", "right.png"], ["ex_8_img_0.png", "b.png"]]


def test_the_hubs_parquet_file_reads_the_same(tmp_path: Path) -> None:
    (tmp_path / "jsonl").mkdir()
    (tmp_path / "jsonl" / "examples.jsonl").write_text(json.dumps(EXAMPLE) + "\n")
    image = {"bytes": b"png", "path": None}
    (tmp_path / "hub" / "data").mkdir(parents=True)
    pyarrow.parquet.write_table(
        pyarrow.Table.from_pylist([{**EXAMPLE, "image_0": image, "image_1": image}]),
        tmp_path / "hub" / "data" / "test-00000-of-00001.parquet",
    )
    assert winoground.load(tmp_path / "hub", ["test"]) == winoground.load(tmp_path / "jsonl", [])


def test_broken_lines_are_all_said(tmp_path: Path) -> None:
    (tmp_path / "examples.jsonl").write_text(json.dumps(EXAMPLE) + '\n{"id": 1\n' + json.dumps({"id": 2}) + "\n")
    with pytest.raises(UserError, match=r"(?s)line 2: not JSON.*line 3: caption_0: field required"):
        winoground.load(tmp_path, [])
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "x.parquet").write_bytes(b"no parquet")
    with pytest.raises(UserError, match="not a Parquet file"):
        winoground.load(tmp_path / "bad", [])
