"""Made-up records in the published layout: object arrays of dicts, saved by numpy."""

from __future__ import annotations

import logging
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from equipoise.benchmarks import ce_clip, registry
from equipoise.core.errors import UserError
from equipoise.train.recipes import get_recipe

CAPTION = "A gray cat sits on a wooden chair"


def record(number: int = 0, **changed: Any) -> dict[str, Any]:
    return {
        "image_id": 57870,
        "id": 787980 + number,
        "caption": CAPTION,
        "relation_aug_caption": "A gray chair sits on a wooden cat",
        "adj_aug_caption": "A gray cat sits on a plastic chair",
        "noun_aug_caption": "A gray dog sits on a wooden chair",
        "verb_aug_caption": "A gray cat sleeps on a wooden chair",
        "valid_caption": [1, 1, 1, 1, 1],
        **changed,
    }


def save(path: Path, *records: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    array = np.empty(len(records), dtype=object)
    array[:] = records
    np.save(path, array, allow_pickle=True)


def test_four_types_that_the_training_recipe_takes(tmp_path: Path) -> None:
    save(tmp_path / "generated_data" / "coco_train" / "processed_dataset0.npy", record())
    save(tmp_path / "generated_data" / "coco_train" / "processed_dataset10.npy", record(2))
    flags = np.array([1, 1, 1, 1, 1])
    save(tmp_path / "generated_data" / "coco_train" / "processed_dataset2.npy", record(1, valid_caption=flags))
    items, benchmark = registry.load("ce-clip", tmp_path)
    assert benchmark.name == "ce-clip"
    assert [item.id for item in items] == [f"ce-clip-train/{787980 + number}" for number in range(3)]
    item = items[0]
    assert item.image is not None and item.image.path == "train2014/COCO_train2014_000000057870.jpg"
    slots = get_recipe("ce_clip_zhang_2024").needs.negatives
    filled = {slot.name: [text.text for text in item.negatives if slot.accepts(text.edit)] for slot in slots}
    assert filled == {
        "relation": ["A gray chair sits on a wooden cat"],
        "attribute": ["A gray cat sits on a plastic chair"],
        "object": ["A gray dog sits on a wooden chair"],
        "action": ["A gray cat sleeps on a wooden chair"],
    }


def test_placeholders_and_guesses_that_change_nothing_are_left_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    odd = record(
        relation_aug_caption="###",
        valid_caption=[1, 0, 1, 1, 1],
        adj_aug_caption="white",  # the bare mask, filled, and flagged as valid
        noun_aug_caption=CAPTION.lower(),
    )
    save(tmp_path / "processed_dataset0.npy", odd)
    with caplog.at_level(logging.WARNING):
        (item,) = ce_clip.load(tmp_path, [])
    assert [text.text for text in item.negatives] == ["A gray cat sleeps on a wooden chair"]
    assert "1 flagged as not valid, 1 placeholders, 1 the same as their caption" in caplog.text


class Trap:
    def __reduce__(self) -> Any:
        return os.system, ("touch trapped",)


def test_nothing_in_an_array_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    save(tmp_path / "processed_dataset0.npy", record(caption=Trap()))
    with pytest.raises(UserError, match=r"asks for .*system"):
        ce_clip.load(tmp_path, [])
    assert not (tmp_path / "trapped").exists()


@pytest.mark.parametrize("raw", [b"", b"no array", pickle.dumps([1])])
def test_another_file_is_an_error_for_people(tmp_path: Path, raw: bytes) -> None:
    (tmp_path / "processed_dataset0.npy").write_bytes(raw)
    with pytest.raises(UserError, match="not one of CE-CLIP's arrays"):
        ce_clip.load(tmp_path, [])


def test_a_damaged_or_plain_array(tmp_path: Path) -> None:
    save(tmp_path / "processed_dataset0.npy", record())
    whole = (tmp_path / "processed_dataset0.npy").read_bytes()
    (tmp_path / "processed_dataset0.npy").write_bytes(whole[:-40])
    with pytest.raises(UserError, match="not one of CE-CLIP's arrays"):
        ce_clip.load(tmp_path, [])
    np.save(tmp_path / "processed_dataset0.npy", np.arange(3))
    with pytest.raises(UserError, match="not of records"):
        ce_clip.load(tmp_path, [])
    save(tmp_path / "processed_dataset0.npy", {"image_id": 1}, "text")
    with pytest.raises(UserError, match=r"(?s)record 0: id: field required.*record 1"):
        ce_clip.load(tmp_path, [])
