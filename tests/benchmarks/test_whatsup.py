"""What's Up: options, places read from names, pairs and sets. The published files are not to be had here."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from equipoise.benchmarks import whatsup
from equipoise.core.errors import UserError
from equipoise.data.items import Item
from equipoise.evaluation.outcomes import outcomes_of
from equipoise.evaluation.paper_metrics import sets
from equipoise.evaluation.scores import ItemScores


def _staged(folder: Path, places: tuple[str, ...] = ("left_of", "right_of", "on", "under")) -> list[Item]:
    rows = [
        {
            "image_path": f"data/controlled_images/{thing}_{place}_table.jpeg",
            "caption_options": [f"A {thing} {word} a table" for word in (place, "w", "x", "y")],
        }
        for thing in ("mug", "beer-bottle")
        for place in places
    ]
    (folder / "controlled_images_dataset.json").write_text(json.dumps(rows))
    return whatsup.load(folder, ["controlled_a"])


def _scores(items: list[Item], wrong: set[int]) -> list[ItemScores]:
    return [
        ItemScores(id=item.id, caption=0.0 if index in wrong else 2.0, negatives=[1.0] * 3, tags=item.tags)
        for index, item in enumerate(items)
    ]


def test_staged_photos(tmp_path: Path) -> None:
    items = _staged(tmp_path)
    assert [item.tags["relation"] for item in items[:4]] == ["left", "right", "on", "under"]
    assert items[4].tags["set"] == "controlled_a beer-bottle table"
    assert items[0].image is not None and items[0].image.path == "controlled_images/mug_left_of_table.jpeg"
    assert items[0].caption == "A mug left_of a table"
    assert len(items[0].negatives) == 3


def test_pairs_and_sets_need_all_of_their_photos(tmp_path: Path) -> None:
    items = _staged(tmp_path)
    found = sets(_scores(items, wrong={6}))  # one "on" of the second set
    assert (found["controlled_a_pair"].value, found["controlled_a_pair"].n) == (3 / 4, 4)
    assert (found["controlled_a_set"].value, found["controlled_a_set"].n) == (1 / 2, 2)
    assert found["incomplete"].value == 0


def test_a_set_without_all_its_photos_is_counted_apart(tmp_path: Path) -> None:
    found = sets(_scores(_staged(tmp_path, ("left_of", "right_of", "on")), wrong=set()))
    assert found["controlled_a_pair"].n == 2 and "controlled_a_set" not in found
    assert found["incomplete"].value == 2


def test_a_constant_score_wins_no_pair(tmp_path: Path) -> None:
    rows = [ItemScores(id=i.id, caption=1.0, negatives=[1.0] * 3, tags=i.tags) for i in _staged(tmp_path)]
    assert not outcomes_of(rows).original.any()
    assert (sets(rows)["controlled_a_pair"].value, sets(rows)["controlled_a_set"].value) == (0.0, 0.0)


def test_found_photos_are_lists_of_three(tmp_path: Path) -> None:
    one = [[397133, "A photo of a dog on the left", "A photo of a dog on the right"]]
    (tmp_path / "coco_qa_one_obj.json").write_text(json.dumps(one))
    (tmp_path / "coco_qa_two_obj.json").write_text(json.dumps([[1, "a dog below a cat", "a dog above a cat"]]))
    (tmp_path / "vg_qa_two_obj.json").write_text(json.dumps([["2401814", "a dog behind a cat", "a dog in front of"]]))
    items = whatsup.load(tmp_path, [])
    assert [item.image.path for item in items if item.image] == [
        "val2017/000000397133.jpg",
        "val2017/000000000001.jpg",
        "vg_images/2401814.jpg",
    ]
    assert [item.tags["relation"] for item in items] == ["left", "below", "behind"]
    assert [item.tags["group"] for item in items] == ["coco", "coco", "vg"]


def test_another_shape_is_refused(tmp_path: Path) -> None:
    (tmp_path / "vg_qa_one_obj.json").write_text(json.dumps([[1, "a"], {"a": 1}]))
    with pytest.raises(UserError, match="2 problems"):
        whatsup.load(tmp_path, [])
