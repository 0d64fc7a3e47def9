"""The analysis by hand on four items: scores, gaps, similarities, by tag and by edit."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from equipoise import evaluate
from equipoise.items import Edit, ImageRef, Item, Text, load_items, write_items
from equipoise.readers.sets.open import open_items
from equipoise.standard import analysis
from equipoise.standard.run import StandardResult, run_standard

VECTORS = {"c": (0.6, 0.8), "p": (0.8, 0.6), "n": (0.0, 1.0), "m": (1.0, 0.0), "image": (1.0, 0.0)}


class Plane:
    """Texts are the vectors that their first letter names; every photo is (1, 0)."""

    card = {"spec": "plane", "digest": "1"}  # noqa: RUF012

    def embed_images(self, images: Sequence[Image.Image]) -> Any:
        return np.array([VECTORS["image"]] * len(images))

    def embed_texts(self, texts: Sequence[str]) -> Any:
        return np.array([VECTORS[text[0]] for text in texts])


class Head:
    card = {"spec": "head", "digest": "1"}  # noqa: RUF012

    def score_pairs(self, images: Sequence[Image.Image], texts: Sequence[str]) -> Any:
        return [VECTORS[text[0]][0] for text in texts]


def text(string: str, source: str | None = None, to: str | None = None) -> Text:
    return Text(text=string, edit=Edit.model_validate({"op": "replace", "from": source, "to": to}) if source else None)


@pytest.fixture(autouse=True)
def fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    """50,000 resamples of everything would be most of this file's time."""
    from equipoise.standard.run import KINDS

    assert (KINDS["analysis"].level, KINDS["analysis"].resamples) == (0.99, 50_000)  # CE-CLIP, section 4.5
    monkeypatch.setattr("equipoise.stats.RESAMPLES", 200)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in "ab":
        Image.new("RGB", (4, 4)).save(tmp_path / f"{name}.png")
    photo = {name: ImageRef(path=f"{name}.png") for name in "ab"}
    items = [
        Item(id="1", image=photo["a"], caption="c1", positives=(text("p1", "big", "large"),),
             negatives=(text("n1", "big", "small"),), tags={"split": "x"}),
        Item(id="2", image=photo["a"], caption="c2", positives=(text("p2"),), negatives=(text("n2"), text("m2")),
             tags={"split": "x"}),
        Item(id="3", image=photo["b"], caption="c3", negatives=(text("n3", "big", "small"),), tags={"split": "y"}),
        Item(id="4", image=photo["b"], caption="c4", tags={"split": "y"}),
    ]  # fmt: skip
    write_items(tmp_path / "items.jsonl", items)
    return tmp_path


def run(model: object, folder: Path, **options: Any) -> StandardResult:
    result = run_standard(model, open_items(str(folder / "items.jsonl"), data=folder), workers=1, **options)
    assert result is not None
    return result


def test_by_hand(folder: Path) -> None:
    record = run(Plane(), folder).record
    assert (record.intervals.level, record.intervals.resamples) == (0.99, 50_000)
    metrics = record.numbers.metrics
    wanted = {
        "original": (2 / 3, 3),  # the second item has a negative that fits the photo
        "augmented": (1 / 2, 2),
        "brittleness": (0, 2),
        "s(c)": (0.6, 3),
        "s(p)": (0.8, 2),
        "s(n)": (0.5 / 3, 3),  # several negatives of an item are one: 0, 0.5, 0
        "s(c)-s(p)": (-0.2, 2),
        "s(c)-s(n)": (0.6 - 0.5 / 3, 3),
        "cos(c,p)": (0.6 * 0.8 + 0.8 * 0.6, 2),
        "cos(c,n)": ((0.8 + (0.8 + 0.6) / 2 + 0.8) / 3, 3),
    }
    assert list(metrics) == list(wanted)
    for name, (value, n) in wanted.items():
        assert (metrics[name].value, metrics[name].n) == (pytest.approx(value, abs=1e-6), n), name
    assert set(analysis.SHARES) | set(analysis.SCORES) == set(wanted)
    assert record.data.counts["items"] == 3 and record.numbers.images == 2  # the fourth has no negative


def test_the_accuracies_are_those_of_eval(folder: Path) -> None:
    items = [item for item in load_items(folder / "items.jsonl") if item.negatives]
    overall = evaluate(Plane(), items, images=folder).record.metrics.overall
    metrics = run(Plane(), folder).record.numbers.metrics
    for name in ("original", "augmented", "brittleness"):
        assert metrics[name].value == pytest.approx(overall[name])  # type: ignore[index]
    assert metrics["s(n)"].value == pytest.approx(overall.mean_scores.negative)


def test_other_images_of_an_item_need_not_be_there(folder: Path) -> None:
    items = load_items(folder / "items.jsonl")
    more = items[0].model_copy(update={"negative_images": (ImageRef(path="gone.png"),), "paired": True})
    write_items(folder / "items.jsonl", [more, *items[1:]])
    assert run(Plane(), folder).record.numbers.metrics["original"].n == 3


def test_by_tag_and_by_edit(folder: Path) -> None:
    by = run(Plane(), folder).record.by
    assert set(by) == {"split", "positive edit", "negative edit"}
    assert by["split"]["x"].metrics["s(n)"].value == pytest.approx(0.25)
    assert by["split"]["y"].metrics["original"].n == 1 and "s(p)" not in by["split"]["y"].metrics
    assert by["negative edit"]["big -> small"].metrics["original"].n == 2
    assert by["positive edit"]["big -> large"].metrics["s(c)-s(p)"].value == pytest.approx(-0.2)


def test_a_tag_with_a_value_for_each_item_is_no_group_but_edits_are() -> None:
    rows = [
        analysis.AnalysisRow(
            id=str(n), image=str(n), caption=1.0, positives=[], negatives=[0.0], caption_positives=None,
            caption_negatives=None, tags={"name": str(n), "negative edit": "a -> b" if n < 3 else f"a -> {n}"},
        )
        for n in range(150)
    ]  # fmt: skip
    found = analysis.groups(rows)
    assert list(found) == ["negative edit"] and len(found["negative edit"]) == 100
    assert next(iter(found["negative edit"])) == "a -> b" and len(found["negative edit"]["a -> b"]) == 3


def test_a_pair_scorer_has_no_text_similarity(folder: Path) -> None:
    metrics = run(Head(), folder).record.numbers.metrics
    assert metrics["s(c)"].value == pytest.approx(0.6) and "cos(c,n)" not in metrics


def test_it_is_kept_and_read(folder: Path) -> None:
    first = run(Plane(), folder, out=folder / "run")
    again = run(Plane(), folder, out=folder / "run")
    assert again.read_from == folder / "run" and again.record.by == first.record.by
