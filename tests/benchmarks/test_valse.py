from __future__ import annotations

import json
from pathlib import Path

import pytest

from equipoise.benchmarks import valse
from equipoise.core.errors import UserError


def test_records_in_the_published_layout(samples: Path) -> None:
    """Each file holds 18 valid records and two that the annotators refused."""
    items = valse.load(samples / "valse", [])
    counts = {split: sum(item.tags["split"] == split for item in items) for split in valse.SPLITS}
    assert counts == {**dict.fromkeys(valse.SPLITS, 18), "counting-adversarial": 0, "coreference-hard": 0}
    assert {item.image.path.split("/")[0] for item in items if item.image} == {
        "visual7w",
        "val2017",
        "train2014",
        "val2014",
        "images_512",
    }
    ids = {item.id for item in items}
    assert ids >= {"valse-foil-it/1000000", "valse-plurals/plurals:coco2017:19", "valse-actant-swap/actions_test_0"}
    assert not ids & {
        "valse-foil-it/1000006",
        "valse-plurals/plurals:coco2017:11",
        "valse-actant-swap/actions_test_6",
    }
    first = items[0]
    assert first.id == "valse-existence/existence_0"
    assert first.image is not None and first.image.path == "visual7w/v7w_900.jpg"
    assert first.caption == "There is no woman here."
    assert [text.text for text in first.negatives] == ["There is one woman here."]


def test_seven_phenomena() -> None:
    assert sorted({valse.phenomenon(split) for split in valse.SPLITS}) == [
        "actions",
        "coreference",
        "counting",
        "existence",
        "foil-it",
        "plurality",
        "relations",
    ]
    assert sum(count or 0 for count in valse.SPLITS.values()) == 7702


def test_two_votes_of_three_make_an_item_valid(tmp_path: Path) -> None:
    record = {"dataset": "visual7w", "image_file": "v7w_1.jpg", "caption": "a", "foil": "b"}
    (tmp_path / "existence.json").write_text(
        json.dumps({str(votes): {**record, "mturk": {"caption": votes, "foil": 0, "other": 0}} for votes in range(4)})
    )
    assert [item.id for item in valse.load(tmp_path, [])] == ["valse-existence/2", "valse-existence/3"]


def test_problems_name_the_nested_field(tmp_path: Path) -> None:
    record = {"dataset": "visual7w", "image_file": "v7w_1.jpg", "caption": "a", "foil": ["b"], "mturk": {"foil": 1}}
    (tmp_path / "existence.json").write_text(json.dumps({"k": record}))
    with pytest.raises(UserError, match=r"(?s)record 'k': foil: .*record 'k': mturk.caption: field required"):
        valse.load(tmp_path, [])
