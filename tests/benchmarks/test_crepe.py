from __future__ import annotations

import logging
from pathlib import Path

import pytest

from equipoise.benchmarks import crepe
from equipoise.errors import UserError

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
    with pytest.raises(UserError, match=r"(?s)line 2: hard_negs: expected a list such as.*line 3: x: input should be"):
        crepe.load(tmp_path, [])
    assert not trap.exists()


def test_a_missing_column_is_said_once(tmp_path: Path) -> None:
    write(
        tmp_path, "prod_hard_negatives/atom/prod_vg_hard_negs_atom_complexity_4.csv", "image_id,caption", "1,a", "2,b"
    )
    with pytest.raises(UserError, match=r"line 1: expected the columns .*; x, y, width, height, hard_negs missing"):
        crepe.load(tmp_path, [])
