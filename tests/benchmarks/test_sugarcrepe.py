from __future__ import annotations

import json
from pathlib import Path

import pytest

from equipoise.benchmarks import registry
from equipoise.core.errors import UserError

sugarcrepe = registry.get("sugarcrepe")


def test_records_in_the_published_layout(samples: Path) -> None:
    items = sugarcrepe.load(samples / "sugarcrepe", [])
    counts = {split: sum(item.tags["split"] == split for item in items) for split in sugarcrepe.splits}
    assert counts == {**dict.fromkeys(sugarcrepe.splits, 30), "swap_obj": 0}
    assert len({item.id for item in items}) == 180
    assert sum(item.tags["group"] == "add" for item in items) == 60
    last = items[-1]
    assert last.id == "sugarcrepe-swap_att/87"
    assert last.image is not None and last.image.path == "000000007899.jpg"
    assert last.caption == "A wild duck swimming across a frozen pond."
    assert [text.text for text in last.negatives] == ["A frozen duck swimming across a wild pond."]


def test_captions_keep_their_outer_spaces(samples: Path) -> None:
    items = sugarcrepe.load(samples / "sugarcrepe", [])
    files = [
        json.loads((samples / "sugarcrepe" / f"{split}.json").read_text())
        for split in sugarcrepe.splits
        if split != "swap_obj"
    ]
    assert [item.caption for item in items] == [record["caption"] for file in files for record in file.values()]
    assert any(item.caption.endswith(" ") for item in items)


def test_keys_name_the_items_and_the_split_tells_the_edit(tmp_path: Path) -> None:
    record = {"filename": "000000000139.jpg", "caption": "a red car", "negative_caption": "a blue car", "more": 1}
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "swap_obj.json").write_text(json.dumps({"0": record, "245": record}))
    items = sugarcrepe.load(tmp_path, ["swap_obj"])
    assert [item.id for item in items] == ["sugarcrepe-swap_obj/0", "sugarcrepe-swap_obj/245"]
    assert items[0].image is not None and items[0].image.path == "000000000139.jpg"
    edit = items[0].negatives[0].edit
    assert edit is not None and (edit.op, edit.target) == ("swap", "object")
    assert items[0].tags == {"split": "swap_obj", "group": "swap"}


def test_every_problem_of_every_file_is_said(tmp_path: Path) -> None:
    good = {"filename": "a.jpg", "caption": "a", "negative_caption": "b"}
    (tmp_path / "add_att.json").write_text(json.dumps({"3": {**good, "caption": 7}, "4": {"filename": "../a.jpg"}}))
    (tmp_path / "add_obj.json").write_text(json.dumps({"0": {**good, "filename": "../a.jpg"}, "1": good}))
    with pytest.raises(UserError) as caught:
        sugarcrepe.load(tmp_path, [])
    message = str(caught.value)
    assert "4 problems" in message
    assert "add_att.json, record '3': caption: input should be a valid string; found 7" in message
    assert "add_att.json, record '4': negative_caption: field required" in message
    assert "add_obj.json, record '0': path: expected a path below the image folder" in message
