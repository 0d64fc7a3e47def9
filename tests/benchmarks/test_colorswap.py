"""On made-up rows in the documented layout: the dataset asks for a login."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from equipoise.benchmarks import registry
from equipoise.core.errors import UserError

colorswap = registry.get("colorswap")

ROW = {
    "id": 9,
    "caption_1": "a red ball and a blue cup",
    "caption_2": "a blue ball and a red cup",
    "image_source": "midjourney",
    "caption_source": "human",
}


def test_a_row_is_two_images_and_two_captions(tmp_path: Path) -> None:
    (tmp_path / "test.jsonl").write_text(json.dumps(ROW) + "\n")
    (item,) = colorswap.load(tmp_path, [])
    assert item.id == "colorswap-test/9"
    assert item.texts() == [ROW["caption_1"], ROW["caption_2"]]
    assert [ref.path for ref in item.images()] == ["9_1.png", "9_2.png"] and item.paired
    assert item.tags == {"split": "test", "image_source": "midjourney", "caption_source": "human"}


def test_only_the_test_split_is_read_of_the_hubs_files(tmp_path: Path) -> None:
    image = {"bytes": b"png", "path": None}
    for name, number in (("train", 1), ("test", 9)):
        rows = [{**ROW, "id": number, "image_1": image, "image_2": image}]
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / f"{name}-00000-of-00001.parquet")
    assert [item.id for item in colorswap.load(tmp_path, [])] == ["colorswap-test/9"]


def test_a_missing_caption_has_its_place(tmp_path: Path) -> None:
    (tmp_path / "test.jsonl").write_text(json.dumps({"id": 1, "caption_1": "a"}) + "\n")
    with pytest.raises(UserError, match="line 1: caption_2: field required"):
        colorswap.load(tmp_path, [])
