import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from equipoise.benchmarks import registry
from equipoise.benchmarks.replace import build as replace
from equipoise.core.errors import InTheWay, UserError
from equipoise.core.files import sha256_file
from equipoise.data.items import Item

PUBLISHED = {
    "data/vl_checklist_attributes.json": "4c7d262e77e1a1fd5a89ee0de43191fe697d4cf1c044e76c496761f07d824950",
    "data/vl_checklist_relations.json": "f4aee47194df09f73c4bdb13e2f24c17901d71fbb15ab629b40c8667a841d535",
    "swapped_data/vl_checklist_attributes.json": "7f6d2f2614ff8a037780ab4b6243c6e1165ceabc5e4db506ad70c63fd95f6441",
    "swapped_data/vl_checklist_relations.json": "25174b3f0286c124cd7c2c844c1e57bb85179e37cdee0d55fc2857387dede9b5",
}


# ---------------------------------------------------------------------------- with the real annotations


@pytest.fixture(scope="module")
def published(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("published")
    replace.write_published(shared_data / "vl_checklist", out)
    return out


def test_the_four_files_are_the_published_ones_byte_for_byte(published: Path) -> None:
    assert {name: sha256_file(published / name) for name in PUBLISHED} == PUBLISHED


def test_both_sources_give_the_same_items(replace_items: list[Item], published: Path) -> None:
    items = replace.load(published)
    assert items == replace_items
    assert Counter(item.tags["split"] for item in items) == registry.get("replace").splits
    # Counted apart from this code, from the texts of the published files alone, for all of the records.
    assert Counter(item.tags["type"] for item in items if item.tags["split"] == "attributes") == {
        "action": 402,
        "color": 8_557,
        "size": 1_377,
        "state": 239,
    }
    edits = Counter((edit.source, edit.to) for item in items if (edit := item.positives[0].edit))
    assert edits["in", "within"] == 6_173
    assert edits["wearing", "in"] == 3_591
    assert edits["white", "ivory"] == 2_742
    assert edits["riding on", "traveling on"] == 38
    assert len({item.id for item in items}) == len(items)


# ---------------------------------------------------------------------------- the rules, on a few records


def annotation(positive: str, negative: str, image: str = "VG_100K/1.jpg") -> list[Any]:
    return [image, {"POS": [positive], "NEG": [negative]}]


def checklist(root: Path, **files: list[Any]) -> Path:
    """A VL-CheckList folder; `relation_spatial=[...]` fills Relation/vg/spatial.json."""
    for split, kinds in replace.LEXICON.items():
        folder = root / {"relations": "Relation/vg", "attributes": "Attribute/vg"}[split]
        folder.mkdir(parents=True)
        for kind in kinds:
            records = files.get(f"{split}_{kind}", [annotation("a dog", "a cat")])
            (folder / f"{kind}.json").write_text(json.dumps(records))
    return root


def triples(items: list[Any]) -> list[tuple[str, str, str]]:
    return [(item.caption, item.positives[0].text, item.negatives[0].text) for item in items]


def test_relations_by_the_rules_accidents_included(tmp_path: Path) -> None:
    source = checklist(
        tmp_path,
        relations_spatial=[
            annotation("Dog behind behind red Car", "Dog in front of Car"),  # spaces of two matches overlap
            annotation("wall near tree near house", "wall far from house"),  # every occurrence
            annotation("dog BEHIND car", "dog in front of car"),  # lost: upper case
            annotation("hole in the IN house", "hole in the out of house"),  # in both passes
            annotation("man IN red IN boat", "man out of red out of boat"),  # only the first IN; no second pass
            annotation("cat under table in room", "cat above table in room"),  # "in" comes first in the lexicon
            annotation("by", "far from"),
        ],
        relations_action=[
            annotation("man WEARING hat wearing tie", "man EATING hat"),
            annotation("man riding on horse", "man eating horse"),
        ],
    )
    assert triples(replace.load(source, ["relations"])) == [
        ("hole in the in house", "hole within the in house", "hole in the out of house"),
        ("man in red in boat", "man within red in boat", "man out of red out of boat"),
        ("dog behind behind red car", "dog to the rear of behind red car", "dog in front of car"),
        ("wall near tree near house", "wall next to tree next to house", "wall far from house"),
        ("hole in the in house", "hole within the in house", "hole in the out of house"),
        ("cat under table in room", "cat under table within room", "cat above table in room"),
        ("man wearing hat wearing tie", "man in hat wearing tie", "man eating hat"),
        ("man riding on horse", "man traveling on horse", "man eating horse"),
    ]


def test_attributes_by_the_rules_accidents_included(tmp_path: Path) -> None:
    source = checklist(
        tmp_path,
        attributes_color=[
            annotation("white clouds IN blue sky", "white clouds IN brown sky"),  # the wrong word is edited
            annotation("plant covered in green leaf", "plant covered in silver leaf"),  # inside a word
            annotation("red cat", "red cat"),  # lost: nothing gone
            annotation("red old cat", "blue young cat"),  # lost: two words gone
            annotation("Red cat", "blue cat"),  # lost: upper case
            annotation("red cat", "blue cat"),
            annotation("red cat", "blue cat"),  # duplicates stay
        ],
        attributes_action=[annotation("walking elephant", "jumping elephant", "VG_100K_2/2401814.jpg")],
    )
    items = replace.load(source, ["attributes"])
    assert triples(items) == [
        ("walking elephant", "strolling elephant", "jumping elephant"),
        ("white clouds IN blue sky", "ivory clouds IN blue sky", "white clouds IN brown sky"),
        ("plant covered in green leaf", "plant covecrimson in green leaf", "plant covered in silver leaf"),
        ("red cat", "crimson cat", "blue cat"),
        ("red cat", "crimson cat", "blue cat"),
    ]
    assert items[0].to_json() == {
        "id": "replace-attributes/00001",
        "image": {"path": "VG_100K_2/2401814.jpg", "box": None},
        "caption": "walking elephant",
        "positives": [
            {
                "text": "strolling elephant",
                "edit": {
                    "op": "replace",
                    "target": "attribute",
                    "from": "walking",
                    "to": "strolling",
                    "by": "lexicon",
                },
            }
        ],
        "negatives": [{"text": "jumping elephant", "edit": None}],
        "tags": {"split": "attributes", "type": "action", "image_id": "2401814"},
    }


def test_targets_and_types(tmp_path: Path) -> None:
    source = checklist(
        tmp_path,
        relations_spatial=[annotation("dog behind car", "dog in front of car")],
        relations_action=[annotation("man holding cup", "man eating cup")],
    )
    found = [(item.tags["type"], item.positives[0].edit) for item in replace.load(source, ["relations"])]
    assert [(kind, edit.target) for kind, edit in found if edit] == [("spatial", "relation"), ("action", "action")]


def test_the_annotations_may_lie_below_data(tmp_path: Path) -> None:
    checklist(tmp_path / "data", attributes_color=[annotation("red cat", "blue cat")])
    assert triples(replace.load(tmp_path, ["attributes"])) == [("red cat", "crimson cat", "blue cat")]


# ---------------------------------------------------------------------------- bad input


def write(root: Path, split: str, originals: Any, swapped: Any) -> Path:
    for folder, value in (("data", originals), ("swapped_data", swapped)):
        path = root / folder / f"vl_checklist_{split}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(value if isinstance(value, str) else json.dumps(value))
    return root


def entry(caption: str, **other: Any) -> dict[str, Any]:
    fields = {"image_id": "1", "true_caption": caption, "false_caption": "blue cat", "image_path": "data/VG_100K/1.jpg"}
    return {**fields, **other}


def test_the_users_own_edits_are_loaded_without_a_type(tmp_path: Path) -> None:
    source = write(tmp_path, "attributes", [entry("red cat")], [entry("scarlet cat")])
    (item,) = replace.load(source, ["attributes"])
    assert item.positives[0].text == "scarlet cat"
    assert item.tags == {"split": "attributes", "image_id": "1"}


def error_of(source: Path, split: str = "attributes") -> str:
    with pytest.raises(UserError) as error:
        replace.load(source, [split])
    return str(error.value)


def test_all_problems_of_the_published_files_at_once(tmp_path: Path) -> None:
    originals = [
        entry("red cat"),
        entry(" "),
        entry("red cat", image_id=7),
        entry("red cat", image_path="data/../../1.jpg"),
        entry("red cat", image_path="data/VG_100K/2.jpg"),
        "red cat",
    ]
    message = error_of(write(tmp_path, "attributes", originals, [entry("crimson cat")] * 5))
    for part in (
        "vl_checklist_attributes.json, record 1: true_caption",
        "record 2: image_id",
        "record 3: image_path",
        "record 4: image_id",
        "record 5: the record: input should be",
        "--layout published",
    ):
        assert part in message


def test_both_files_hold_as_many_records(tmp_path: Path) -> None:
    message = error_of(write(tmp_path, "attributes", [entry("red cat")] * 2, [entry("crimson cat")]))
    assert "data/ holds 2 records and swapped_data/ 1" in message


def test_twins_must_agree(tmp_path: Path) -> None:
    originals = [entry("red cat"), entry("red cat"), entry("red cat")]
    swapped = [
        entry("crimson cat"),
        entry("crimson cat", false_caption="green cat"),
        entry("crimson cat", image_id="2", image_path="data/VG_100K/2.jpg"),
    ]
    message = error_of(write(tmp_path, "attributes", originals, swapped))
    assert "record 0" not in message
    assert "record 1: false_caption: data/ has 'blue cat' and swapped_data/ 'green cat'" in message
    assert "record 2: image_path" in message


@pytest.mark.parametrize(
    ("originals", "part"),
    [("[{", "not JSON"), ("", "empty"), ("{}", "no record in it"), ("[]", "no record in it")],
)
def test_broken_published_files(tmp_path: Path, originals: str, part: str) -> None:
    assert part in error_of(write(tmp_path, "attributes", originals, [entry("crimson cat")]))


def test_all_problems_of_the_annotations_at_once(tmp_path: Path) -> None:
    source = checklist(
        tmp_path,
        attributes_color=[
            annotation("red cat", "blue cat"),
            ["VG_100K/1.jpg"],
            annotation("red cat", "blue cat", "../1.jpg"),
            ["VG_100K/1.jpg", {"POS": [], "NEG": "blue cat"}],
        ],
        attributes_size=[["VG_100K/1.jpg", {"POS": ["big cat"]}]],
    )
    (source / "Attribute/vg/state.json").unlink()
    message = error_of(source)
    for part in (
        "color.json, record 1: 1: field required",
        "color.json, record 2: 0",
        "color.json, record 3: 1.POS",
        "color.json, record 3: 1.NEG",
        "size.json, record 0: 1.NEG",
        "state.json: no such file",
    ):
        assert part in message
    assert "record 0: 1.POS" not in message


def test_a_folder_with_neither_says_what_was_expected(tmp_path: Path) -> None:
    message = error_of(tmp_path)
    for part in (str(tmp_path), "Relation/vg", "swapped_data/vl_checklist_", "bench fetch replace"):
        assert part in message


def test_an_unknown_split_is_refused(tmp_path: Path) -> None:
    assert "Did you mean relations" in error_of(tmp_path, "relation")


def test_nothing_is_written_when_the_source_is_broken(tmp_path: Path) -> None:
    source = checklist(tmp_path / "in", relations_action=[["x"]])
    with pytest.raises(UserError):
        replace.write_published(source, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_published_files_replace_only_themselves(tmp_path: Path) -> None:
    source, out = checklist(tmp_path / "in"), tmp_path / "out"
    *_, last = replace.write_published(source, out)
    assert replace.write_published(source, out)[-1] == last
    last.write_text("mine")
    others = [path for path in out.rglob("*.json") if path != last]
    stamps = [path.stat().st_mtime_ns for path in others]
    with pytest.raises(InTheWay):
        replace.write_published(source, out)
    assert last.read_text() == "mine" and [path.stat().st_mtime_ns for path in others] == stamps
