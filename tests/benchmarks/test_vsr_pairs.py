"""VSR's entailed pairs: only true statements, only rewordings that follow."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from equipoise.benchmarks import vsr
from equipoise.benchmarks.base import splits_of
from equipoise.core.errors import UserError
from equipoise.data.items import Item


def _load(folder: Path, *statements: tuple[str, str, int]) -> list[Item]:
    rows = [
        {
            "image": "7.jpg",
            "image_link": "http://x/val2017/7.jpg",
            "caption": text,
            "relation": relation,
            "label": label,
        }
        for text, relation, label in statements
    ]
    (folder / "test.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return vsr.load_pairs(folder, [])


def _texts(item: Item) -> tuple[str, str, str]:
    (positive,), (negative,) = item.positives, item.negatives
    return item.caption, positive.text, negative.text


def test_an_inverse_relation_is_turned_with_its_word(tmp_path: Path) -> None:
    above, below, contains, inside = _load(
        tmp_path, ("The kite is above the potted plant.", "above", 1), ("The bag contains the hat.", "contains", 1)
    )
    assert _texts(above) == (
        "The kite is above the potted plant.",
        "The potted plant is below the kite.",
        "The potted plant is above the kite.",
    )
    assert _texts(contains) == ("The bag contains the hat.", "The hat is inside the bag.", "The hat contains the bag.")
    assert (above.id, above.tags["law"]) == ("vsr-pairs-random/0", "inverse")
    assert _texts(below) == (*_texts(above)[:2], "The kite is below the potted plant.")
    assert (below.id, below.tags["law"]) == ("vsr-pairs-random/0-complement", "complement")
    assert _texts(inside)[2] == "The bag is inside the hat."
    assert above.image is not None and above.image.path == "val2017/7.jpg"


def test_a_symmetric_relation_is_turned_and_denied_by_its_contrary(tmp_path: Path) -> None:
    (near,) = _load(tmp_path, ("The kite is near the bag.", "near", 1))
    assert _texts(near) == (
        "The kite is near the bag.",
        "The bag is near the kite.",
        "The kite is far away from the bag.",
    )
    assert near.tags == {"split": "random", "law": "symmetric", "relation": "near"}


def test_what_does_not_follow_is_left_out(tmp_path: Path) -> None:
    """Nothing follows from a false statement; front and left depend on who looks."""
    items = _load(
        tmp_path,
        ("The kite is above the bag.", "above", 0),
        ("The kite is touching the bag.", "touching", 0),
        ("The kite is in front of the bag.", "in front of", 1),
        ("The kite is left of the bag.", "left of", 1),
        ("The kite is under the bag.", "under", 1),
    )
    assert [item.id for item in items] == ["vsr-pairs-random/4", "vsr-pairs-random/4-complement"]


def test_a_statement_in_another_form_is_refused_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r'line 2: .*expected a caption "The A is near the B."'):
        _load(tmp_path, ("The kite is near the bag.", "near", 1), ("Kites near bags.", "near", 1))


def test_a_relation_has_one_law_and_its_contrary_is_symmetric_too() -> None:
    assert not vsr.INVERSE.keys() & vsr.SYMMETRIC.keys()
    assert {phrase.removeprefix("is ") for phrase in vsr.SYMMETRIC.values()} <= vsr.SYMMETRIC.keys()


def test_the_whole_file(shared_data: Path) -> None:
    items = vsr.load_pairs(shared_data / "vsr", [])
    assert len(items) == splits_of("vsr-pairs")["random"]
    assert Counter(item.tags["law"] for item in items) == {"symmetric": 339, "inverse": 321, "complement": 321}
    assert {item.tags["relation"] for item in items} == vsr.INVERSE.keys() | vsr.SYMMETRIC.keys()
    assert all(len(set(_texts(item))) == 3 for item in items)
