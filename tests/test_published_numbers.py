"""published_numbers.md has what studies/published_numbers.py prints, and the numbers are those that were printed."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return importlib.import_module("studies.published_numbers")


def rounded(numbers: Any, names: tuple[str, ...], digits: int) -> tuple[float, ...]:
    return tuple(round(100 * numbers[name], digits) for name in names)


def test_winoground_as_printed(script: ModuleType, shared_data: Path) -> None:
    for name in script.WINOGROUND:
        printed = tuple(map(float, script.PRINTED["winoground, paper"][name]))
        assert rounded(script.winoground(shared_data, name), ("text", "image", "group"), 2) == printed


def test_bivlc_as_printed(script: ModuleType, shared_data: Path) -> None:
    for name in script.BIVLC:
        printed = tuple(map(float, script.PRINTED["bivlc"][name]))
        assert rounded(script.bivlc(shared_data, name).overall, ("text", "image", "group"), 2) == printed
    swapped = script.bivlc(shared_data, "ViT-B-32").by["type"]["swap"]
    assert rounded(swapped, ("text", "image", "group"), 2) == (46.52, 16.16, 13.65)


@pytest.mark.slow
def test_valse_as_printed(script: ModuleType, shared_data: Path) -> None:
    ties = {"x-vlm_16m": 0, "blip2_itm_pretrain": 11}
    for name in script.VALSE_MODELS:
        *printed, mean = map(float, script.PRINTED["valse"][name])
        found = script.valse(shared_data, name)
        splits = [found.by["split"][split]["original"] for split in script.VALSE]
        assert [round(100 * value, 1) for value in splits] == printed
        assert round(100 * found.overall["original"], 1) == mean and found.overall.ties == ties[name]
    assert round(100 * found.headline["original"], 2) == 72.76


@pytest.mark.slow
def test_predicate_noun(script: ModuleType, shared_data: Path) -> None:
    lxmert = script.predicate_noun(shared_data, "lxmert", False)
    first = lxmert.by["split"]["first"]
    assert rounded(first, ("original", "augmented", "brittleness"), 1) == (76.4, 72.9, 6.4)
    assert (first.n, first.images) == (2584, 1673)
    assert rounded(lxmert.overall, ("pair_first", "both_wordings", "one_wording"), 2) == (56.81, 72.1, 7.62)
    clip = script.predicate_noun(shared_data, "clip", False)
    names = ("pair_first", "noun_first", "predicate_first", "one_wording")
    assert rounded(clip.overall, names, 2) == (20.28, 21.49, 19.38, 19.43)
    assert rounded(clip.by["split"]["first"], ("original", "augmented", "brittleness"), 2) == (52.09, 42.69, 19.43)
    cropped = script.predicate_noun(shared_data, "clip", True)
    assert rounded(cropped.overall, ("pair_first",), 2) == (59.13,)
    for name, pair in {"vilbert": 27.55, "vilt": 40.33}.items():
        assert rounded(script.predicate_noun(shared_data, name, False).overall, ("pair_first",), 2) == (pair,)


@pytest.mark.slow
def test_sugarcrepe_as_printed(script: ModuleType, shared_data: Path) -> None:
    found, printed = script.sugarcrepe(shared_data), script.vl_compo(shared_data)
    for split, numbers in found.by["split"].items():
        assert 100 * numbers["original"] == pytest.approx(printed[split], abs=0.005)
    assert found.overall.ties is None and found.overall.n == 7511


def test_vsr_in_two_wordings(script: ModuleType, shared_data: Path) -> None:
    found = script.vsr(shared_data, "zero_shot", "sorev")
    assert (found.n, *rounded(found, ("original", "augmented", "brittleness"), 1)) == (603, 76.8, 68.0, 18.1)


@pytest.mark.slow
def test_the_page_has_the_tables_of_the_script(script: ModuleType, shared_data: Path) -> None:
    written = (ROOT / "docs" / "appendix" / "published_numbers.md").read_text(encoding="utf-8")
    for table in script.tables(shared_data):
        assert table in written, "python -m studies.published_numbers prints it"
