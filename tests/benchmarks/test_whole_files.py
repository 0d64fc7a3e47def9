"""Counts of the whole annotation files; one skip for all of it where they are absent.

The readers' own tests run on records of ours (tests/own_records.py).
"""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path

import pytest

from equipoise.benchmarks import negclip, registry, valse, vl_checklist
from equipoise.benchmarks.check import check

sugarcrepe_pp = registry.get("sugarcrepe-pp")

sugarcrepe = registry.get("sugarcrepe")

if not Path(os.environ["EQUIPOISE_TEST_DATA"]).is_dir():  # tests/conftest.py sets it
    pytest.skip(
        "counts of the whole annotation files (tests/data/README.md says how to get them)", allow_module_level=True
    )


def test_sugarcrepe(shared_data: Path) -> None:
    items = sugarcrepe.load(shared_data / "sugarcrepe", [])
    counts = {split: sum(item.tags["split"] == split for item in items) for split in sugarcrepe.splits}
    assert counts == {**sugarcrepe.splits, "swap_obj": 0}
    assert len({item.id for item in items}) == 7266
    assert sum(item.tags["group"] == "add" for item in items) == 692 + 2062


def test_sugarcrepe_pp(shared_data: Path) -> None:
    items = sugarcrepe_pp.load(shared_data / "sugarcrepe_pp", [])
    counts = {split: sum(item.tags["split"] == split for item in items) for split in sugarcrepe_pp.splits}
    assert counts == {**sugarcrepe_pp.splits, "swap_obj": 0}
    assert all(len(item.positives) == len(item.negatives) == 1 for item in items)


def test_valid_items_of_valse(shared_data: Path) -> None:
    items = valse.load(shared_data / "valse", [])
    counts = {split: sum(item.tags["split"] == split for item in items) for split in valse.SPLITS}
    assert counts == {**valse.SPLITS, "counting-adversarial": 0, "coreference-hard": 0}
    assert {item.image.path.split("/")[0] for item in items if item.image} == {
        "visual7w",
        "val2017",
        "train2014",
        "val2014",
        "images_512",
    }


def test_negclip(shared_data: Path) -> None:
    items = negclip.load(shared_data / "negclip", [])
    assert len(items) == 4839
    sizes = Counter(len(item.negatives) for item in items)
    assert sizes == {1: 2891, 2: 1418, 3: 480, 4: 47, 5: 3}
    chance = sum(count / (1 + size) for size, count in sizes.items()) / 4839
    assert registry.get("negclip").chance["original"] == pytest.approx(chance, abs=5e-5)
    assert all(len(item.tags["hard_images"].split()) == 3 for item in items)
    hard = json.loads(items[0].tags["hard_images"])
    assert hard == ["negclip-valid/2973", "negclip-valid/1515", "negclip-valid/2235"]
    known = {item.id for item in items}
    assert all(set(json.loads(item.tags["hard_images"])) <= known for item in items)
    assert len(negclip.load(shared_data / "negclip" / "valid_neg_clip.tsv", [])) == 4839


def test_vl_checklist(shared_data: Path) -> None:
    items = vl_checklist.load(shared_data / "vl_checklist", ["Attribute/vg/state", "Attribute/vg/action"])
    assert len(items) == 941 + 1892
    assert items[0].image is not None and items[0].image.path.startswith("vg/VG_100K")


def test_defects_of_vl_checklist(shared_data: Path) -> None:
    """VL-CheckList's colours: 66 records twice, 66 pairs of equal captions, and 2 that differ by a space."""
    items = vl_checklist.load(shared_data / "vl_checklist", ["Attribute/vg/color"])
    report = check(items, registry.get("vl-checklist"))
    assert report.counts == {"Attribute/vg/color": (11_569, 11_569)}
    assert [finding.count for finding in report.findings if "forced ties" in finding.what] == [68]
    assert [finding.count for finding in report.findings if "twice" in finding.what] == [66]
