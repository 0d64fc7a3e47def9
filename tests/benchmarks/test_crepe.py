from __future__ import annotations

import logging
from collections import Counter
from pathlib import Path

import pytest

from equipoise.benchmarks import crepe, registry
from equipoise.benchmarks.check import check
from equipoise.core.errors import UserError

PLACE = "2318112,a dog on a mat,1,2.5,30,40"


def write(folder: Path, name: str, *lines: str) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n")


def test_productivity(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write(
        tmp_path,
        "prod_hard_negatives/swap/prod_vg_hard_negs_swap_complexity_5.csv",
        "image_id,caption,x,y,width,height,hard_negs",
        PLACE + ',"[\'a mat on a dog\', ""a \'cat\' on a mat""]"',
        PLACE + ",[]",
    )
    with caplog.at_level(logging.WARNING):
        (item,) = crepe.load(tmp_path, [])
    assert "1 rows have no negative" in caplog.text
    assert item.id == "crepe-prod_swap_5/0"
    assert item.tags == {"split": "prod_swap_5", "kind": "productivity", "type": "swap", "complexity": "5"}
    assert [text.text for text in item.negatives] == ["a mat on a dog", "a 'cat' on a mat"]
    assert item.image is not None and item.image.box == (1, 2.5, 30, 40) and item.image.path == "2318112.jpg"


def test_systematicity_has_two_splits_a_table_and_finds_the_image_folder(tmp_path: Path) -> None:
    write(
        tmp_path / "crepe",
        "syst_hard_negatives/syst_vg_hard_negs_unseen_compounds_in_laion.csv",
        "image_id,caption,x,y,width,height,valid_hard_negs_atom,valid_hard_negs_comp",
        PLACE + ",['a cat on a mat'],['a mat on a cat']",
    )
    write(tmp_path, "VG_100K_2/2318112.jpg", "")
    items = crepe.load(tmp_path, [])
    assert [(item.tags["split"], item.negatives[0].text) for item in items] == [
        ("syst_unseen_laion_atom", "a cat on a mat"),
        ("syst_unseen_laion_comp", "a mat on a cat"),
    ]
    assert {item.image.path for item in items if item.image} == {"VG_100K_2/2318112.jpg"}


def test_lists_are_never_run(tmp_path: Path) -> None:
    trap = tmp_path / "trap"
    write(
        tmp_path,
        "prod_hard_negatives/atom/prod_vg_hard_negs_atom_complexity_4.csv",
        "image_id,caption,x,y,width,height,hard_negs",
        PLACE + f",\"[open('{trap}', 'w').write('x')]\"",
        "2,a,x,1,1,1,['b']",
    )
    with pytest.raises(UserError, match=r"(?s)line 2: expected a list such as.*line 3: x: input should be"):
        crepe.load(tmp_path, [])
    assert not trap.exists()


def test_negatives_that_are_no_texts_are_refused(tmp_path: Path) -> None:
    write(
        tmp_path,
        "prod_hard_negatives/atom/prod_vg_hard_negs_atom_complexity_4.csv",
        "image_id,caption,x,y,width,height,hard_negs",
        PLACE + ",\"['a cat', 3]\"",
        PLACE + ",[None]",
    )
    with pytest.raises(
        UserError, match=r"(?s)2 problems.*line 2: expected a list of texts.*line 3: expected a list of"
    ):
        crepe.load(tmp_path, [])


def test_a_missing_column_is_said_once(tmp_path: Path) -> None:
    write(
        tmp_path, "prod_hard_negatives/atom/prod_vg_hard_negs_atom_complexity_4.csv", "image_id,caption", "1,a", "2,b"
    )
    with pytest.raises(UserError, match=r"line 1: expected the columns .*; x, y, width, height missing"):
        crepe.load(tmp_path, [])


def test_sets_have_one_order_and_forced_ties_are_counted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write(
        tmp_path,
        "prod_hard_negatives/negate/prod_vg_hard_negs_negate_complexity_4.csv",
        "image_id,caption,x,y,width,height,hard_negs",
        PLACE + ",\"{'z', 'b', 'A  dog on a MAT', 'c', 'a'}\"",
        PLACE + ",\"{'b': 1}\"",
    )
    with pytest.raises(UserError, match="line 3: expected a list"):
        crepe.load(tmp_path, [])
    path = tmp_path / "prod_hard_negatives/negate/prod_vg_hard_negs_negate_complexity_4.csv"
    path.write_text("\n".join(path.read_text().splitlines()[:2]) + "\n")
    with caplog.at_level(logging.WARNING):
        (item,) = crepe.load(tmp_path, [])
    assert [text.text for text in item.negatives] == ["A  dog on a MAT", "a", "b", "c", "z"]
    assert "1 rows have their caption among their negatives" in caplog.text


def test_all_rows_of_the_real_files(shared_data: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        items = crepe.load(shared_data / "crepe", [])
    assert Counter(item.tags["split"] for item in items) == {
        "prod_atom_4": 1258, "prod_atom_6": 1805, "prod_atom_8": 2241,
        "prod_swap_4": 27, "prod_swap_6": 262, "prod_swap_8": 991,
        "prod_negate_4": 1262, "prod_negate_6": 1798, "prod_negate_8": 2244,
    }  # fmt: skip
    assert {len(item.negatives) for item in items} == {5}
    assert registry.get("crepe").chance == {"original": 1 / (1 + 5)}
    assert "67 rows have their caption among their negatives" in caplog.text
    ties = [item for item in items if item.caption in [text.text for text in item.negatives]]
    assert Counter(item.tags["type"] for item in ties) == {"swap": 11}, "the others differ by a capital"
    found = {finding.what: finding.count for finding in check(items, registry.get("crepe")).findings}
    assert found["forced ties: a right caption reads the same as a negative"] == 67


def test_facts_and_loader_have_the_same_splits() -> None:
    assert list(registry.get("crepe").splits) == list(crepe.TABLES)
