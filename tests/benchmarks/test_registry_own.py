from __future__ import annotations

import json
from pathlib import Path

import pytest

from equipoise.benchmarks import registry
from equipoise.core.errors import UserError
from equipoise.data.items import Item, texts, write_items


def test_a_table(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text(
        "\ufeffid,image,caption,negative,negative,positive_1,split,mood\n"
        'x,a/b.jpg,"a dog, brown",a cat,a cow,a brown dog,easy,\n'
        "y,,a house,,a hut,,hard,calm\n",
        encoding="utf-8",
    )
    items, benchmark = registry.load(str(path))
    assert [item.to_json() for item in items] == [
        {
            "id": "x",
            "image": {"path": "a/b.jpg", "box": None},
            "caption": "a dog, brown",
            "positives": [{"text": "a brown dog", "edit": None}],
            "negatives": [{"text": "a cat", "edit": None}, {"text": "a cow", "edit": None}],
            "tags": {"split": "easy"},
        },
        {
            "id": "y",
            "image": None,
            "caption": "a house",
            "positives": [],
            "negatives": [{"text": "a hut", "edit": None}],
            "tags": {"split": "hard", "mood": "calm"},
        },
    ]
    assert list(benchmark.splits) == ["easy", "hard"] and benchmark.name == "mine"
    assert benchmark.chance == pytest.approx({"original": 5 / 12, "augmented": 1 / 6, "brittleness": 1 / 3})
    assert [item.id for item in registry.load(str(path), None, ["hard"])[0]] == ["y"]
    with pytest.raises(UserError, match=r"no split 'hart'\. Did you mean hard"):
        registry.load(str(path), None, ["hart"])


def test_a_plain_table_needs_three_columns(tmp_path: Path) -> None:
    path = tmp_path / "mine.tsv"
    path.write_text("image\tcaption\tnegative\na.jpg\ta dog\ta cat\nb.jpg\ta cow\ta pig\n")
    items, benchmark = registry.load(str(path))
    assert [(item.id, item.tags) for item in items] == [("1", {"split": "all"}), ("2", {"split": "all"})]
    assert benchmark.chance == {"original": 1 / 2}


def test_chance_follows_from_the_shape(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    item = Item(id="1", caption="a", positives=texts("b"), negatives=texts("c"))
    write_items(path, [item])
    assert registry.load(str(path))[1].chance == pytest.approx(
        {"original": 1 / 2, "augmented": 1 / 3, "brittleness": 1 / 3}
    )


def test_a_file_that_bench_build_wrote_keeps_its_benchmark(tmp_path: Path) -> None:
    record = {"image_file": "v7w_1.jpg", "dataset": "v", "caption": "a", "foil": "b", "mturk": {"caption": 3}}
    (tmp_path / "existence.json").write_text(json.dumps({"k": record}))
    items, built = registry.load("valse", tmp_path, [])
    write_items(tmp_path / "out.jsonl", items)
    again, benchmark = registry.load(str(tmp_path / "out.jsonl"))
    assert (again, benchmark) == (items, built)
