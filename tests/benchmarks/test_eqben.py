"""On made-up files in the three layouts that the authors' code reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from equipoise.benchmarks import eqben, registry
from equipoise.core.errors import UserError
from equipoise.evaluation.averages import measure
from equipoise.evaluation.metrics import shown
from equipoise.evaluation.outcomes import outcomes_of
from equipoise.evaluation.scores import ImageScores, ItemScores


def pair(name: str, folder: str = "eqbensd", caption: Any = "a cat") -> dict[str, Any]:
    return {
        "image0": f"{folder}/{name}_0.png",
        "image1": f"{folder}/{name}_1.png",
        "caption0": caption,
        "caption1": "a dog",
    }


def test_three_layouts(tmp_path: Path) -> None:
    (tmp_path / "eqbensd.json").write_text(json.dumps([pair("a"), pair("b")]))
    (tmp_path / "eqbengebc.json").write_text(json.dumps({"video": [pair("a", "eqbengebc")]}))
    nested = {"video": {"person": [pair("a", "eqbenag", ["the first", "the second"])], "cup": [pair("b", "eqbenag")]}}
    (tmp_path / "eqbenag.json").write_text(json.dumps(nested))
    items = eqben.load(tmp_path, [])
    assert [item.id for item in items] == [
        "eqben-ag/0",
        "eqben-ag/1",
        "eqben-gebc/0",
        "eqben-sd/0",
        "eqben-sd/1",
    ]
    assert items[0].texts() == ["the first", "a dog"]
    assert [ref.path for ref in items[0].images()] == ["eqbenag/a_0.png", "eqbenag/a_1.png"]
    assert [item.id for item in eqben.load(tmp_path, ["gebc"])] == ["eqben-gebc/0"]


def test_one_file_is_sorted_by_the_folders_of_its_images(tmp_path: Path) -> None:
    path = tmp_path / "subset.json"
    path.write_text(json.dumps([pair("a"), pair("b", "eqbenag"), pair("c")]))
    assert [item.id for item in eqben.load(path, [])] == ["eqben-sd/0", "eqben-ag/0", "eqben-sd/1"]
    assert [item.id for item in eqben.load(path, ["sd"])] == ["eqben-sd/0", "eqben-sd/1"]
    path.write_text(json.dumps([pair("a", "photos"), {"image0": 1}]))
    with pytest.raises(UserError) as refused:
        eqben.load(path, [])
    for part in (
        "subset.json, [0]: image0: expected a path below eqbenag",
        "subset.json, [1]: image0: ",
        "[1]: image1",
    ):
        assert part in str(refused.value)


def test_the_headline_is_the_mean_of_the_subsets() -> None:
    """78 % of all pairs are one subset's: it must not be the number of that subset."""

    def row(split: str, number: int, right: bool) -> ItemScores:
        other = ImageScores(image=f"{split}{number}b", caption=0.0, negatives=[1.0 if right else -1.0])
        return ItemScores(
            id=f"eqben-{split}/{number}",
            image=f"{split}{number}a",
            caption=1.0,
            negatives=[0.5],
            negative_images=(other,),
            paired=True,
            tags={"split": split},
        )

    rows = [row("ag", number, True) for number in range(9)] + [row("sd", 0, False)]
    metrics = measure(outcomes_of(rows), registry.get("eqben"), resamples=20)
    assert metrics.headline["group"] == 0.5
    assert {split: one["group"] for split, one in metrics.by["split"].items()} == {"ag": 1, "sd": 0}
    assert not shown([metrics.overall.metrics], "paper"), "group scores over all subsets together are nobody's numbers"


def test_nothing_of_eqben(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="holds none of the files of eqben"):
        eqben.load(tmp_path, [])
    (tmp_path / "x.json").write_text("{}")
    with pytest.raises(UserError, match="no pair of EqBen in it"):
        eqben.load(tmp_path / "x.json", [])
