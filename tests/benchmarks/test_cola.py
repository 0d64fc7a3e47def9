from __future__ import annotations

import json
from pathlib import Path

import pytest

from equipoise.benchmarks import cola, registry
from equipoise.benchmarks.check import check
from equipoise.core.errors import UserError
from equipoise.evaluation.outcomes import outcomes_of
from equipoise.evaluation.scores import ImageScores, ItemScores

FILE = "COLA_multiobjects_matching_benchmark.json"


def test_photos_go_by_visual_genomes_names(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(json.dumps([["https://x.edu/a/7.jpg", "red cup", "https://x.edu/a/8.jpg", "cup"]]))
    (item,) = cola.load(tmp_path, [])
    assert item.id == "cola-multi-objects/0" and (item.caption, item.negatives[0].text) == ("red cup", "cup")
    assert [ref.path for ref in item.images()] == ["7.jpg", "8.jpg"]


def test_the_whole_file(shared_data: Path) -> None:
    items = cola.load(shared_data / "cola", [])
    assert len(items) == 210
    assert len({ref.path for item in items for ref in item.images()}) == 218
    assert len({text for item in items for text in item.texts()}) == 294
    assert sum(sorted(item.caption.split()) == sorted(item.negatives[0].text.split()) for item in items) == 10
    report = check(items, registry.get("cola"))
    assert report.ok and not report.findings, "no duplicate, no forced tie, no pair right here and wrong there"


def test_items_that_share_a_photo_are_resampled_together(shared_data: Path) -> None:
    rows = [
        ItemScores(
            id=item.id,
            image=item.images()[0].path,
            caption=1,
            negatives=[0],
            negative_images=(ImageScores(image=item.images()[1].path, caption=0, negatives=[1]),),
        )
        for item in cola.load(shared_data / "cola", [])
    ]
    assert len(set(outcomes_of(rows).cluster.tolist())) == 88


def test_bad_records(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(json.dumps([["a.jpg", "x", "b.jpg"], {"image": 1}, ["a.jpg", 3, "b.jpg", "y"]]))
    with pytest.raises(UserError) as refused:
        cola.load(tmp_path, [])
    for part in ("record 0: 3: field required", "record 1: the record: input should be", "record 2: 1: "):
        assert part in str(refused.value)
