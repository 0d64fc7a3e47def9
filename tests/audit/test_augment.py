"""Hard positives for benchmarks that have none: checked against the negatives beside them, marked as ours."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from typer.testing import CliRunner

from equipoise.audit.augment import BY, VERSION, augment
from equipoise.benchmarks import registry
from equipoise.cli import app
from equipoise.core.errors import UserError
from equipoise.data.items import Item, load_items, texts
from equipoise.perturb.recipes import get_recipe

RECIPE = get_recipe("hard_positives_rules")


def _benchmark() -> registry.Benchmark:
    return dataclasses.replace(registry.get("sugarcrepe"), splits={"add_att": None})


def _item(caption: str, *negatives: str) -> Item:
    return Item(id="sugarcrepe-add_att/1", caption=caption, negatives=texts(*negatives), tags={"split": "add_att"})


def test_a_positive_is_added_and_says_whose_it_is() -> None:
    made = augment([_item("a man riding a bicycle", "a woman riding a bicycle")], _benchmark(), RECIPE)
    (item,) = made.items
    assert item.positives and item.caption == "a man riding a bicycle" and item.negatives[0].text.startswith("a woman")
    assert all(text.edit is not None and (text.edit.by or "").startswith(f"{BY}:") for text in item.positives)
    assert item.tags["positives"] == f"{BY}-{VERSION}"
    assert item.id == "sugarcrepe-augmented-add_att/1" and made.benchmark.name == "sugarcrepe-augmented"
    assert f"augment {VERSION}, recipe {RECIPE.name}, seed 0" in made.benchmark.notes


def test_a_positive_may_not_bring_in_a_negatives_word() -> None:
    caption = "a man riding a bicycle"
    free = augment([_item(caption, "a woman riding a bicycle")], _benchmark(), RECIPE).items[0].positives[0]
    assert free.edit is not None and free.edit.to
    word = free.edit.to.split()[-1]
    with pytest.raises(UserError, match="no hard positive"):
        augment([_item(caption, f"a man beside a {word}", free.text)], _benchmark(), RECIPE)


def test_a_benchmark_with_positives_is_refused() -> None:
    item = _item("a dog", "a cat").model_copy(update={"positives": texts("a hound")})
    with pytest.raises(UserError, match="all 1 items have hard positives already"):
        augment([item], _benchmark(), RECIPE)


def test_items_without_positives_are_filled_and_the_others_kept() -> None:
    own = _item("a dog", "a cat").model_copy(update={"id": "sugarcrepe-add_att/2", "positives": texts("a hound")})
    made = augment([own, _item("a man riding a bicycle", "a woman riding a bicycle")], _benchmark(), RECIPE)
    assert made.ours == 1 and made.items[0].positives == own.positives and made.items[1].positives
    assert [item.tags["positives"] for item in made.items] == ["original", f"{BY}-{VERSION}"]


@pytest.mark.parametrize("name", ["sugarcrepe", "valse"])
def test_the_verb_writes_items_facts_and_an_audit(name: str, samples: Path, tmp_path: Path) -> None:
    out = tmp_path / "more.jsonl"
    arguments = ["perturb", name, "--add-positives", "--source", str(samples / name), "--out", str(out)]
    found = CliRunner().invoke(app, arguments)
    assert found.exit_code == 0, found.output
    items = load_items(out)
    with_one = [item for item in items if item.positives]
    assert len(with_one) > len(items) / 4
    assert f"{len(with_one):,} of {len(items):,} items" in found.output
    loaded, benchmark = registry.load(str(out))
    assert benchmark.name == f"{name}-augmented" and benchmark.averages == registry.get(name).averages
    assert (tmp_path / "more.audit.md").read_text().count(f"{name}-augmented")
    before = out.read_bytes()
    again = CliRunner().invoke(app, arguments)
    assert again.exit_code == 0 and "already holds these" in again.output and out.read_bytes() == before
    assert len(loaded) == len(items)


def test_a_users_file_under_the_audits_name_stays(samples: Path, tmp_path: Path) -> None:
    mine = tmp_path / "more.audit.md"
    mine.write_text("my notes")
    arguments = ["perturb", "sugarcrepe", "--add-positives", "--source", str(samples / "sugarcrepe")]
    found = CliRunner().invoke(app, [*arguments, "--out", str(tmp_path / "more.jsonl")])
    assert found.exit_code != 0 and mine.read_text() == "my notes"
    assert not (tmp_path / "more.jsonl").exists()
