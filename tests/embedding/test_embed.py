"""Photos and texts embedded as they come: whichever is first, the same bits; what is held back is given free again."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from equipoise.data.images import open_source
from equipoise.data.items import ImageRef, Item, texts
from equipoise.embedding import embed as inputs
from equipoise.embedding.cache import CacheWriter, EmbeddingCache, ScoringOptions
from equipoise.evaluation.scoring import score_items
from equipoise.models.inputs import clip_preprocess


class Tokens:
    """A model by its pieces; notes what it is asked, in order."""

    context_length = 8
    causal_text = True
    device = "cpu"

    def __init__(self) -> None:
        self.card: dict[str, Any] = {"dtype": "float32"}
        self.preprocess = clip_preprocess(8)
        self.asked: list[tuple[str, int, int]] = []

    def tokenize(self, strings: Any) -> list[list[int]]:
        return [[ord(letter) for letter in string] for string in strings]

    def truncate(self, ids: Any) -> list[int]:
        return list(ids[: self.context_length])

    def encode_texts(self, ids: Any, pad_to: int | None = None) -> Any:
        self.asked.append(("text", len(ids), pad_to or 0))
        return np.stack([np.bincount(np.array(row) % 4, minlength=4) + 1.0 for row in ids])

    def send_pixels(self, pixels: Any) -> Any:
        return pixels.copy()

    def begin_images(self, parts: Any, rows: int) -> Any:
        pixels = np.concatenate([*parts, *[parts[0][:1]] * (rows - sum(map(len, parts)))])
        self.asked.append(("image", len(pixels), 0))
        found = np.asarray(pixels, dtype=float).reshape(len(pixels), -1)[:, :4] + 1
        return lambda: found

    def encode_images(self, pixels: Any) -> Any: ...
    def embed_images(self, images: Any) -> Any: ...
    def embed_texts(self, strings: Any) -> Any: ...


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Item]]:
    folder = tmp_path_factory.mktemp("photos")
    rng = np.random.default_rng(0)
    for index in range(12):
        Image.fromarray(rng.integers(0, 255, (9, 9, 3), dtype=np.uint8)).save(folder / f"{index}.png")
    words = ["".join(rng.choice(list("abcdefg"), size=rng.integers(1, 12))) for _ in range(90)]
    return folder, [
        Item(
            id=str(n), image=ImageRef(path=f"{n % 12}.png"), caption=words[n], negatives=texts(words[n + 1], words[89])
        )
        for n in range(80)
    ]


def test_shapes_depend_on_the_length_of_a_text_alone(
    world: tuple[Path, list[Item]], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, items = world
    for at_once, some in ((7, items), (1000, items), (1000, items[:3])):
        monkeypatch.setattr(inputs, "AT_ONCE", at_once)
        model = Tokens()
        scoring = score_items(model, some, images=folder, batch_size=2)
        asked = {(rows, length) for kind, rows, length in model.asked if kind == "text"}
        assert asked <= {(32, 2), (16, 4), (10, 6), (8, 8)}
        strings = {text for item in some for text in item.texts()}
        assert scoring.counts["texts"] == scoring.counts["texts_encoded"] == len({text[:8] for text in strings})
        assert scoring.counts["texts_cut"] == sum(len(text) > 8 for text in strings)


def test_the_last_write_is_waited_for_on_leaving_alone() -> None:
    wrote, may = [], threading.Event()

    class Slow(EmbeddingCache):
        def put(self, vectors: Any) -> None:
            assert may.wait(10)
            wrote.extend(vectors)

    with CacheWriter(Slow(None)) as keeper:
        keeper.add({b"1": np.zeros(2, np.float32)})
        keeper.flush()
        assert not wrote
        may.set()
    assert wrote == [b"1"]


def test_models_that_differ_in_their_text_towers_share_embedded_images(tmp_path: Path) -> None:
    from equipoise.models import load_model
    from equipoise.world.splits import DrawnImages, world_items

    items = list(world_items("test", 6))
    cache = EmbeddingCache(tmp_path)

    def encoded(change: str) -> tuple[int, bool]:
        model = load_model("world", device="cpu")
        for name, weights in model.network.named_parameters():
            if change and name.startswith(change):
                weights.data += 0.01
        model.card["weight_sha256"] = f"world, {change} changed"
        shown = [ref for item in items for ref in item.images()], [text for item in items for text in item.texts()]
        counts = inputs.embed(model, *shown, DrawnImages(), ScoringOptions(8, 1), cache).counts
        return counts["images_encoded"], counts["texts_encoded"] > 0

    assert encoded("") == (6, True)
    assert encoded("text_model") == (0, True)
    assert encoded("vision_model.encoder.layers.3") == (6, True)
    assert encoded("visual_projection") == (6, True)


def test_an_answer_that_is_a_view_of_the_pictures_is_right(world: tuple[Path, list[Item]]) -> None:
    """The memory of a batch is used again for the next."""
    folder, _ = world

    class Views(Tokens):
        def __init__(self) -> None:
            super().__init__()
            self.preprocess: Any = lambda image: np.asarray(image.resize((2, 2)), dtype=float)

        def encode_images(self, pixels: Any) -> Any:
            return pixels.reshape(len(pixels), -1)

    model, refs = Views(), [ImageRef(path=f"{number}.png") for number in range(12)]
    found = inputs.embed(model, refs, [], open_source(folder), ScoringOptions(2, 1), EmbeddingCache(None))
    for ref in refs:
        with Image.open(folder / ref.path) as image:
            expected = model.preprocess(image).ravel()
        assert found.images[found.image[ref]] == pytest.approx(expected / np.linalg.norm(expected))


def test_decoding_begins_before_anything_is_written(
    world: tuple[Path, list[Item]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that was forked while SQLite wrote waited for a lock forever."""
    folder, items = world
    model, whole, asked = Tokens(), inputs.decoded, []

    def begun(*given: Any) -> Any:
        asked.append(list(model.asked))
        return whole(*given)

    monkeypatch.setattr(inputs, "decoded", begun)
    score_items(model, items, images=folder, batch_size=2)
    assert asked == [[]]
    assert model.asked


@pytest.mark.parametrize("method", ["encode_images", "embed_images"])
def test_an_answer_in_memory_that_the_model_uses_again_is_right(
    world: tuple[Path, list[Item]], method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, _ = world
    answer = np.empty((2, 12))

    def same_memory(pictures: Any) -> Any:
        answer[:] = [np.asarray(picture, dtype=float).ravel()[:12] for picture in pictures]
        return answer

    model, refs = Tokens(), [ImageRef(path=f"{number}.png") for number in range(4)]
    model.preprocess = lambda image: np.asarray(image, dtype=float)  # type: ignore[assignment]
    setattr(model, method, same_memory)
    if method == "embed_images":
        monkeypatch.setattr(inputs, "kind_of", lambda _: "embeds")
    found = inputs.embed(model, refs, [], open_source(folder), ScoringOptions(2, 1), EmbeddingCache(None))
    assert len(np.unique(found.images, axis=0)) == 4
