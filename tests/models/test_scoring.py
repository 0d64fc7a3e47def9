"""Scoring with real towers: an embedding must not depend on its neighbours: order, subset, batch size."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from equipoise.data.items import ImageRef, Item, texts
from equipoise.embedding.cache import EmbeddingCache
from equipoise.evaluation.outcomes import outcomes_of
from equipoise.evaluation.scores import ItemScores
from equipoise.evaluation.scoring import score_items
from equipoise.models.clip import ClipModel

WORDS = "a red blue old dog cat tree house under beside on top of near the walking sleeping with two small".split()


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Item]]:
    """60 items on 20 photos, with captions of 1 to 60 words."""
    folder = tmp_path_factory.mktemp("photos")
    rng = np.random.default_rng(0)
    for index in range(20):
        pixels = rng.integers(0, 255, (3, 4, 3), dtype=np.uint8)
        Image.fromarray(pixels).resize((50, 40)).save(folder / f"{index}.png")
    items = []
    for index in range(60):
        caption, positive, negative = (
            " ".join(rng.choice(WORDS, size=rng.integers(1, 12 if index % 10 else 60))) for _ in range(3)
        )
        image = ImageRef(path=f"{index % 20}.png", box=(5.0, 5.0, 30.0, 20.0) if index % 3 == 0 else None)
        items.append(
            Item(id=str(index), image=image, caption=caption, positives=texts(positive), negatives=texts(negative))
        )
    return folder, items


def by_id(rows: list[ItemScores]) -> dict[str, ItemScores]:
    return {row.id: row for row in rows}


def test_order_and_subset_change_no_bit(tiny_clip: ClipModel, world: tuple[Path, list[Item]]) -> None:
    folder, items = world
    whole = by_id(score_items(tiny_clip, items, images=folder, batch_size=16).rows)
    backwards = by_id(score_items(tiny_clip, items[::-1], images=folder, batch_size=16).rows)
    some = by_id(score_items(tiny_clip, items[7:19], images=folder, batch_size=16).rows)
    assert backwards == whole
    assert some == {name: whole[name] for name in some}


@pytest.mark.slow
def test_batch_size_and_workers_change_no_outcome(tiny_clip: ClipModel, world: tuple[Path, list[Item]]) -> None:
    folder, items = world
    reference = score_items(tiny_clip, items, images=folder, batch_size=16, workers=1).rows
    for batch_size in (1, 7, 64):
        rows = score_items(tiny_clip, items, images=folder, batch_size=batch_size, workers=3).rows
        for one, other in zip(reference, rows, strict=True):
            values = [[row.caption, *row.positives, *row.negatives] for row in (one, other)]
            assert values[0] == pytest.approx(values[1], abs=1e-6)
        assert outcomes_of(rows).brittle.tolist() == outcomes_of(reference).brittle.tolist()
        assert outcomes_of(rows).augmented.tolist() == outcomes_of(reference).augmented.tolist()


def test_spellings_that_the_tokenizer_cannot_tell_apart_tie_exactly(
    tiny_clip: ClipModel, world: tuple[Path, list[Item]]
) -> None:
    item = Item(id="1", image=ImageRef(path="0.png"), caption="A dog ON a  cat", negatives=texts("a dog on a cat"))
    scoring = score_items(tiny_clip, [item], images=world[0])
    assert scoring.counts["texts"] == 1
    assert outcomes_of(scoring.rows).tie.tolist() == [True]


def test_long_texts_are_cut_and_counted(tiny_clip: ClipModel, world: tuple[Path, list[Item]]) -> None:
    long = " ".join(["dog"] * 200)
    item = Item(id="1", image=ImageRef(path="0.png"), caption=long, negatives=texts("a cat"))
    assert score_items(tiny_clip, [item], images=world[0]).counts["texts_cut"] == 1


def test_the_cache_gives_the_same_bits(tiny_clip: ClipModel, world: tuple[Path, list[Item]], tmp_path: Path) -> None:
    folder, items = world
    fresh = score_items(tiny_clip, items, images=folder, cache=EmbeddingCache(tmp_path))
    again = score_items(tiny_clip, items, images=folder, cache=EmbeddingCache(tmp_path))
    assert again.rows == fresh.rows
    assert again.counts["images_encoded"] == again.counts["texts_encoded"] == 0


def test_siglip_is_always_read_at_its_full_length(tiny_siglip: ClipModel, world: tuple[Path, list[Item]]) -> None:
    """Its text tower sees the padding it was trained with, so a score must equal the one of the model's own method."""
    item = Item(id="1", image=ImageRef(path="0.png"), caption="a photo of the dog", negatives=texts("cat"))
    row = score_items(tiny_siglip, [item], images=world[0]).rows[0]
    image = tiny_siglip.embed_images([Image.open(world[0] / "0.png").convert("RGB")])[0]
    expected = tiny_siglip.embed_texts(["a photo of the dog", "cat"]) @ image
    assert [row.caption, *row.negatives] == pytest.approx(expected.tolist(), abs=1e-6)
