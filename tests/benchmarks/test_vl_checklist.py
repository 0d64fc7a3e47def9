from __future__ import annotations

import json
from pathlib import Path

import pytest

from equipoise.benchmarks import registry, vl_checklist
from equipoise.core.errors import UserError


@pytest.mark.parametrize(
    ("split", "expected"),
    [
        ("Attribute/vaw/color", ("Attribute", "Attribute_color", "vaw", "color")),
        ("Relation/vg/spatial", ("Relation", "Relation_spatial", "vg", "spatial")),
        ("Relation/hake_action", ("Relation", "Relation_action", "hake", "hake_action")),
        ("Object/Size/vg_size/vg_subj_large", ("Object", "Object_Size_large", "vg", "vg_subj_large")),
        (
            "Object/Location/swig_location/swig_tool/swig_tool_mid",
            ("Object", "Object_Location_mid", "swig", "swig_tool_mid"),
        ),
    ],
)
def test_tags_by_which_it_averages(split: str, expected: tuple[str, ...]) -> None:
    assert split in vl_checklist.SPLITS
    tags = vl_checklist.tags_of(split)
    assert tuple(tags[name] for name in registry.get("vl-checklist").macro) == expected


def test_thirteen_tests_as_in_published_tables() -> None:
    assert len(vl_checklist.SPLITS) == 56
    assert len({vl_checklist.tags_of(split)["test"] for split in vl_checklist.SPLITS}) == 13


def test_only_the_first_of_several_captions_is_used(tmp_path: Path) -> None:
    folder = tmp_path / "Object" / "Size" / "swig_size" / "swig_item"
    folder.mkdir(parents=True)
    record = ["hitting_1.jpg", {"POS": ["a", "b", "c"], "NEG": ["x", "y", "z"]}]
    (folder / "swig_item_small.json").write_text(json.dumps([record]))
    (item,) = vl_checklist.load(tmp_path, [])
    assert (item.caption, [text.text for text in item.negatives]) == ("a", ["x"])
    assert item.image is not None and item.image.path == "swig/hitting_1.jpg"


def test_broken_records(tmp_path: Path) -> None:
    (tmp_path / "Relation").mkdir()
    (tmp_path / "Relation" / "hake_action.json").write_text(
        json.dumps([["a.jpg", {"POS": ["a"], "NEG": []}], ["b.jpg"]])
    )
    with pytest.raises(UserError, match=r"(?s)2 problems.*record 0: 1\.NEG.*record 1: 1: field required"):
        vl_checklist.load(tmp_path, [])
