"""Numbers that others printed, as they are read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from equipoise import registry
from equipoise.board import vl_compo
from equipoise.board.reported import read_reported
from equipoise.errors import UserError

HEAD = "arch,pretrained,family,sugarcrepe,winoground,imagecode"


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_json(tmp_path: Path) -> None:
    given = [
        {"model": "NegCLIP", "benchmark": "sugarcrepe", "value": 0.837, "average": "vl_compo", "source": "Table 3"}
    ]
    (one,) = read_reported([write(tmp_path / "x.json", json.dumps(given))])
    assert (one.model, one.metric, one.value, one.what) == ("NegCLIP", "original", 0.837, "Original (vl_compo)")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "x.json",
            '[{"model": "a", "benchmark": "valse", "value": 61.6}]',
            "61.6 is no fraction; 76.6 percent is 0.766",
        ),
        ("x.json", '[{"model": "a", "benchmark": "valse", "score": 1}]', "score"),
        ("x.json", '{"model": "a"}', "Expected a list"),
        ("x.csv", "a,b\n1,2\n", "not a table of vl_compo: expected the columns arch, pretrained, family"),
        ("x.csv", f"{HEAD}\na,b,c,50,x,1\n", "line 2, winoground: 'x' is no number"),
        ("x.csv", f"{HEAD}\na,b,c,500,1,1\n", "line 2, sugarcrepe: 500 is no percentage"),
        ("x.csv", f"{HEAD}\na,b,c,50\n", "None is no number"),
        ("x.csv", f"{HEAD}\na,b,c,50,1,1\na,b,c,51,1,1\n", "A model has one number of a kind"),
        ("none.csv", "", "not a table of vl_compo"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, name: str, text: str, message: str) -> None:
    with pytest.raises(UserError) as error:
        read_reported([write(tmp_path / name, text)])
    assert message in str(error.value)


def test_two_families_of_one_name_are_two_models(tmp_path: Path) -> None:
    table = write(tmp_path / "x.csv", f"{HEAD}\na,b,SLIP,50,1,1\na,b,LaCLIP,51,1,1\nc,d,SLIP,52,1,1\n")
    assert list(dict.fromkeys(one.model for one in read_reported([table]))) == ["a b (SLIP)", "a b (LaCLIP)", "c d"]


def test_vl_compo(shared_data: Path) -> None:
    results = read_reported([shared_data / "published" / "vl_compo_results.csv"])
    assert len({one.model for one in results}) == 202 and len(results) == 202 * 21
    clip = {one.benchmark: one for one in results if one.model == "ViT-B-32 openai"}
    assert (clip["sugarcrepe"].value, clip["sugarcrepe"].average) == (pytest.approx(0.7302574342), "vl_compo")
    assert (clip["winoground"].value, clip["winoground"].metric) == (pytest.approx(0.0875), "group")
    assert clip["imagecode"].metric == "score"  # not ours

    parts = read_reported([shared_data / "published" / "vl_compo_individual_results.csv"])
    assert len(parts) == 202 * 136 and len({one.model for one in parts}) == 202
    negclip = {(one.benchmark, one.split, one.metric): one.value for one in parts if one.model == "NegCLIP coco-ft"}
    assert round(100 * negclip["aro-vg-r", None, "original"], 1) == 81.8  # as the reference rows have it
    known = {one.benchmark for one in parts} & set(registry.names())
    assert known >= {"aro-vg-r", "sugarcrepe", "valse", "winoground", "colorswap", "eqben", "whatsup"}
    for one in parts:  # a misspelt split would never be set beside a run
        if one.benchmark in {"sugarcrepe", "valse", "whatsup", "eqben"}:
            assert one.split in registry.get(one.benchmark).splits
    rules = {(one.benchmark, one.average) for one in results if one.average and one.benchmark not in {"crepe", "eqben"}}
    for benchmark, rule in rules:
        assert rule in registry.get(benchmark).averages
    both = read_reported([shared_data / "published" / f"vl_compo{name}results.csv" for name in ("_", "_individual_")])
    assert len(both) == len(results) + len(parts) - 2 * 202  # winoground's and colorswap's group score are in both


def test_rules_of_vl_compo_are_ours(shared_data: Path) -> None:
    """What's Up as one number is the mean of its six files: our rule, so that a run may be set beside it."""
    table = [shared_data / "published" / f"vl_compo{name}results.csv" for name in ("_", "_individual_")]
    found = read_reported(table)
    whole = {one.model: one.value for one in found if one.benchmark == "whatsup" and one.split is None}
    for model, value in whole.items():
        parts = [one.value for one in found if one.benchmark == "whatsup" and one.split and one.model == model]
        assert sum(parts) / 6 == pytest.approx(value, abs=1e-8)


@pytest.mark.parametrize(
    ("spec", "names"),
    [
        ("openclip:ViT-B-32/laion2b_s34b_b79k", ["ViT-B-32 laion2b_s34b_b79k"]),
        ("openclip:ViT-B-32/file.pt?act=gelu", []),
        ("hf:openai/clip-vit-base-patch32", ["ViT-B-32 openai"]),
        ("hf:/home/me/model", []),
        ("paper:negclip@negclip.pth", ["NegCLIP coco-ft"]),
        ("paper:negclip@negclip.pth?act=gelu", []),
        ("paper:dac@dac_llm.pt", []),
    ],
)
def test_whose_numbers(spec: str, names: list[str]) -> None:
    assert list(vl_compo.names_of(spec)) == names
