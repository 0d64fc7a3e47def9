import json
import logging
from pathlib import Path
from typing import Any

import pytest

from equipoise.benchmarks import aro, registry, swap
from equipoise.core.errors import UserError


def record(
    true: str = "the white cat and the brown dog",
    false: str = "the brown cat and the white dog",
    attributes: tuple[str, str] = ("white", "brown"),
    **more: Any,
) -> dict[str, Any]:
    box = {"bbox_x": 10, "bbox_y": 20, "bbox_w": 100, "bbox_h": 50}
    texts = {"true_caption": true, "false_caption": false, "attributes": list(attributes)}
    return {"image_path": "2361911.jpg", **box, **texts, **more}


def folder(tmp_path: Path, *records: Any) -> Path:
    (tmp_path / "visual_genome_attribution.json").write_text(json.dumps(list(records)))
    return tmp_path


def test_conjuncts_swap_for_the_positive_and_attributes_for_the_negative(tmp_path: Path) -> None:
    (item,) = swap.load(folder(tmp_path, record(image_id="2361911")))
    assert item.id == "swap-swap/00001"
    assert item.caption == "the white cat and the brown dog"
    assert [text.text for text in item.positives] == ["the brown dog and the white cat"]
    assert [text.text for text in item.negatives] == ["the brown cat and the white dog"]
    assert item.image is not None
    assert item.image.path == "2361911.jpg"
    assert item.image.box == (10, 20, 100, 50)
    assert item.tags == {"split": "swap", "pair": "white_brown", "image_id": "2361911"}
    positive, negative = item.positives[0].edit, item.negatives[0].edit
    assert positive is not None
    assert negative is not None
    assert (positive.op, positive.target, positive.source, positive.to) == ("swap", "order", "white cat", "brown dog")
    assert (negative.op, negative.target, negative.source, negative.to) == ("swap", "attribute", "white", "brown")


@pytest.mark.parametrize(
    ("true", "false", "attributes", "names", "positive"),
    [
        (  # an attribute of two words
            "the light blue sky and the green tree",
            "the green sky and the light blue tree",
            ("light blue", "green"),
            {},
            "the green tree and the light blue sky",
        ),
        (  # an object of several words
            "the old clock tower and the parked fire truck",
            "the parked clock tower and the old fire truck",
            ("old", "parked"),
            {},
            "the parked fire truck and the old clock tower",
        ),
        (  # "and the" inside an object: only one place is followed by the second attribute
            "the red salt and the pepper and the blue plate",
            "the blue salt and the pepper and the red plate",
            ("red", "blue"),
            {},
            "the blue plate and the red salt and the pepper",
        ),
        (  # "and the" inside an attribute
            "the black and the white cow and the green grass",
            "the green cow and the black and the white grass",
            ("black and the white", "green"),
            {},
            "the green grass and the black and the white cow",
        ),
        (  # the names decide between two places
            "the red pot and the blue lid and the blue plate",
            "the blue pot and the red lid and the blue plate",
            ("red", "blue"),
            {"obj1_name": "pot", "obj2_name": "lid and the blue plate"},
            "the blue lid and the blue plate and the red pot",
        ),
        (  # the attributes listed the other way round
            "the white cat and the brown dog",
            "the brown cat and the white dog",
            ("brown", "white"),
            {"obj1_name": "cat", "obj2_name": "dog"},
            "the brown dog and the white cat",
        ),
    ],
)
def test_the_records_fields_decide_where_to_divide(
    tmp_path: Path, true: str, false: str, attributes: tuple[str, str], names: dict[str, str], positive: str
) -> None:
    items = swap.load(folder(tmp_path, record(true, false, attributes, **names)))
    assert items[0].positives[0].text == positive


@pytest.mark.parametrize(
    ("misfit", "why"),
    [
        (record("a white cat and a brown dog"), 'expected "the A1 O1 and the A2 O2"'),
        (record("the white cat near the brown dog"), 'expected "the A1 O1 and the A2 O2"'),
        (record(attributes=("white", "black")), "'black'"),
        (record("the white and the brown dog", "the brown and the white dog"), 'expected "the A1 O1'),
        (record(false="the brown dog and the white cat"), "swapping the attributes gives"),
        (record(obj1_name="cat", obj2_name="horse"), "'horse'"),
        (
            record(
                "the red pot and the red lid and the red cup",
                "the red pot and the red lid and the red cup",
                ("red",) * 2,
            ),
            "2 ways to divide it",
        ),
    ],
)
def test_what_does_not_fit_is_listed_with_its_index(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, misfit: dict[str, Any], why: str
) -> None:
    items = swap.load(folder(tmp_path, record(), misfit, record()))
    assert [item.id for item in items] == ["swap-swap/00001", "swap-swap/00003"]
    assert "1 records do not fit" in caplog.text and "record 1 (" in caplog.text and why in caplog.text


@pytest.mark.parametrize(("count", "end"), [(5, "  record 5"), (6, "  ... and 1 more")])
def test_five_that_do_not_fit_are_shown_and_the_others_counted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, count: int, end: str
) -> None:
    swap.load(folder(tmp_path, record(), *[record("a red car", "a red man")] * count))
    assert f"{count} records do not fit" in caplog.text
    assert caplog.records[0].getMessage().rsplit("\n", 1)[1].startswith(end)


def test_load_warns_with_the_count_and_the_first_five(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    bad = [record(f"nothing of the kind, {number}") for number in range(7)]
    with caplog.at_level(logging.WARNING):
        items = swap.load(folder(tmp_path, record(), *bad), ["swap"])
    assert len(items) == 1
    (message,) = [entry.getMessage() for entry in caplog.records]
    assert "7 records do not fit" in message
    assert "record 5 " in message
    assert "record 6 " not in message
    assert "2 more" in message


def test_fitting_records_warn_of_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        swap.load(folder(tmp_path, record()))
    assert caplog.records == []


def test_a_file_where_nothing_fits_says_why(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"(?s)no record.*record 0 \('a cat'\)"):
        swap.load(folder(tmp_path, record("a cat")))


def test_bad_fields_are_reported_together(tmp_path: Path) -> None:
    bad = [record(attributes=("white",)), record(bbox_w=0), {"image_path": "1.jpg"}, record(image_path="../1.jpg")]  # type: ignore[arg-type]
    with pytest.raises(UserError) as error:
        swap.load(folder(tmp_path, *bad))
    for part in ("record 0", "attributes", "record 1", "width", "record 2", "true_caption", "record 3", "../1.jpg"):
        assert part in str(error.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"visual_genome_attribution\.json"):
        swap.load(tmp_path)


def test_one_file_two_benchmarks_the_same_images(tmp_path: Path) -> None:
    """Whoever has ARO's folder images has SWAP's, and `get` says so; REPLACE's folder does not fit."""
    source = folder(tmp_path, record())
    assert swap.load(source)[0].image == aro.load_attribution(source, [])[0].image
    assert (
        "--images is its folder images" in registry.get("swap").get
        and "--images is its folder images" in registry.get("aro-vg-a").get
    )
    assert "VG_100K/ and VG_100K_2/ that REPLACE wants does not fit" in registry.get("swap").get
