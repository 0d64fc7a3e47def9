from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from equipoise.benchmarks import registry
from equipoise.core.errors import UserError

NAMES = registry.names()
FILED = [name for name in NAMES if not registry.get(name).drawn]  # those that need somebody's files


def test_the_literatures_names_are_all_there() -> None:
    expected = "replace replace-clean swap sugarcrepe sugarcrepe-pp valse vl-checklist winoground crepe negclip"
    assert {*expected.split(), *registry.expand("aro")} <= set(NAMES)
    assert registry.expand("valse") == ("valse",)
    assert set(registry.expand("world")) == {name for name in NAMES if registry.get(name).drawn}


@pytest.mark.parametrize("name", NAMES)
def test_facts_are_filled(name: str) -> None:
    benchmark = registry.get(name)
    assert benchmark.name == name
    for fact in ("title", "ties", "licence", "citation", "url", "get"):
        assert len(getattr(benchmark, fact)) > 2, fact
    assert benchmark.drawn or benchmark.url.startswith("https://")
    assert benchmark.chance or "chance" in benchmark.notes
    assert all(0 < value < 1 for value in benchmark.chance.values())
    assert benchmark.splits and all(count is None or count > 0 for count in benchmark.splits.values())
    assert callable(benchmark.load)
    if "item" in registry.stored(name):
        return  # its record is described there; no module
    module = importlib.import_module("equipoise." + registry.stored(name)["place"].partition(":")[0])
    assert module.__doc__ and len(module.__doc__) > 80


@pytest.mark.parametrize("name", FILED)
def test_a_folder_without_its_files_is_an_error_for_people(name: str, tmp_path: Path) -> None:
    with pytest.raises(UserError):
        registry.load(name, tmp_path)
    with pytest.raises(UserError, match="no-such-split"):
        registry.load(name, tmp_path, ["no-such-split"])


def test_unknown_names() -> None:
    with pytest.raises(UserError, match=r"no benchmark 'sugercrepe'\. Did you mean sugarcrepe.*equipoise bench list"):
        registry.get("sugercrepe")
    with pytest.raises(UserError, match="aro is 4 benchmarks; name one of aro-vg-r, aro-vg-a"):
        registry.get("aro")
    with pytest.raises(UserError, match=r"no split 'swap_at'\. Did you mean swap_att"):
        registry.load("sugarcrepe", Path(), ["swap_at"])


def test_a_source_must_be_named_and_a_path_must_be_items(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="valse: name the folder of its annotation files with --source"):
        registry.load("valse")
    with pytest.raises(UserError, match="no such file"):
        registry.load(str(tmp_path / "x.jsonl"))
    with pytest.raises(UserError, match="neither a benchmark nor a file of items"):
        registry.load(str(tmp_path))


def test_every_metric_of_a_paper_is_computed() -> None:
    from equipoise.benchmarks import base
    from equipoise.evaluation import paper_metrics

    assert set(base.PAPER_METRICS) == set(paper_metrics.FUNCTIONS)
    assert {metric for name in NAMES for metric in registry.get(name).metrics} <= set(base.PAPER_METRICS)
