"""Scoring with small models of our own: what is embedded, how often, and that neighbours never matter."""

from __future__ import annotations

import hashlib
import tarfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from equipoise.core.errors import UserError
from equipoise.data.images import ImageProblem, read_image_bytes
from equipoise.data.items import ImageRef, Item, texts
from equipoise.embedding.cache import EmbeddingCache
from equipoise.evaluation.scoring import cosines, score_items


class Notebook:
    """A model with the two methods, as somebody would write it in a notebook; counts what it is asked."""

    def __init__(self) -> None:
        self.images: list[Any] = []
        self.strings: list[str] = []

    def embed_images(self, images: Sequence[Image.Image]) -> np.ndarray[Any, Any]:
        self.images += images
        return np.stack([np.asarray(image.resize((2, 2)), dtype=float).ravel() + 1 for image in images])

    def embed_texts(self, strings: Sequence[str]) -> np.ndarray[Any, Any]:
        self.strings += strings
        return np.stack([_vector(string) for string in strings])


def _vector(string: str) -> np.ndarray[Any, Any]:
    seed = int.from_bytes(hashlib.sha256(string.encode()).digest()[:4], "little")
    return np.random.default_rng(seed).normal(size=12)


def photo(path: Path, seed: int, size: tuple[int, int] = (8, 6)) -> None:
    pixels = np.random.default_rng(seed).integers(0, 255, (size[1], size[0], 3), dtype=np.uint8)
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path)


def item(
    name: str, path: str, caption: str = "a cat", negative: str = "a dog", positive: str = "", **rest: Any
) -> Item:
    image = ImageRef(path=path, **rest)
    positives = texts(positive) if positive else ()
    return Item(id=name, image=image, caption=caption, positives=positives, negatives=texts(negative))


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    for index in range(4):
        photo(tmp_path / f"{index}.png", index)
    photo(tmp_path / "same.png", 0)
    return tmp_path


def test_each_image_and_text_once(photos: Path) -> None:
    model = Notebook()
    items = [item("1", "0.png"), item("2", "0.png", negative="a cow"), item("3", "same.png"), item("4", "1.png")]
    scoring = score_items(model, items, images=photos)
    assert len(model.images) == 2  # same.png holds the bytes of 0.png
    assert sorted(model.strings) == ["a cat", "a cow", "a dog"]
    assert scoring.rows[0].caption == scoring.rows[1].caption == scoring.rows[2].caption != scoring.rows[3].caption


def test_scores_are_cosines(photos: Path) -> None:
    row = score_items(Notebook(), [item("1", "0.png", positive="one cat")], images=photos).rows[0]
    image = Notebook().embed_images([Image.open(photos / "0.png").convert("RGB")])[0]
    for score, string in zip([row.caption, *row.positives, *row.negatives], ["a cat", "one cat", "a dog"], strict=True):
        vector = _vector(string)
        assert score == pytest.approx(image @ vector / np.linalg.norm(image) / np.linalg.norm(vector), abs=1e-6)


def test_a_box_is_another_image(photos: Path) -> None:
    model = Notebook()
    boxed = item("2", "0.png", box=(1.0, 1.0, 3.0, 2.0))
    rows = score_items(model, [item("1", "0.png"), boxed], images=photos).rows
    assert [image.size for image in model.images] == [(8, 6), (3, 2)]
    assert rows[0].caption != rows[1].caption


def test_text_scores_for_tot(photos: Path) -> None:
    row = score_items(Notebook(), [item("1", "0.png", positive="one cat")], images=photos, text_scores=True).rows[0]
    unit = {string: _vector(string) / np.linalg.norm(_vector(string)) for string in ("a cat", "one cat", "a dog")}
    assert row.text is not None
    assert row.text.caption_positives == pytest.approx([unit["a cat"] @ unit["one cat"]], abs=1e-6)
    assert row.text.positives_negatives == [pytest.approx([unit["one cat"] @ unit["a dog"]], abs=1e-6)]


def test_a_model_that_scores_pairs(photos: Path) -> None:
    class Matcher:
        asked = 0

        def score_pairs(self, images: Sequence[Image.Image], strings: Sequence[str]) -> list[float]:
            Matcher.asked += len(strings)
            return [len(string) / 10 for string in strings]

    items = [item("1", "0.png", "a cat"), item("2", "0.png", "a cat", "a giraffe")]
    rows = score_items(Matcher(), items, images=photos).rows
    assert (rows[1].caption, rows[1].negatives) == (0.5, [0.9])
    assert Matcher.asked == 3


def test_a_table_that_names_the_folder_of_images_too(photos: Path) -> None:
    """photos/0.png, with --images photos."""
    named = item("1", f"{photos.name}/0.png")
    with pytest.raises(UserError, match=f"they are below {photos.parent}: --images {photos.parent}"):
        score_items(Notebook(), [named], images=photos)
    assert score_items(Notebook(), [named], images=photos.parent).rows
    with pytest.raises(UserError) as caught:
        score_items(Notebook(), [item("1", "nowhere/0.png")], images=photos)
    assert "they are below" not in str(caught.value)


def test_missing_images_are_counted_listed_and_optional(photos: Path) -> None:
    items = [item(str(index), f"{index}.png") for index in range(12)]
    with pytest.raises(UserError) as caught:
        score_items(Notebook(), items, images=photos)
    message = str(caught.value)
    assert "8 of 12 images are missing" in message and "--allow-missing" in message and "... and 3 more" in message
    assert message.count(".png") == 5
    scoring = score_items(Notebook(), items, images=photos, allow_missing=True)
    assert [row.id for row in scoring.rows] == ["0", "1", "2", "3"]
    assert scoring.skipped["4"] == "image missing: 4.png"


def test_a_truncated_jpeg_is_named_and_the_rest_is_kept(photos: Path, tmp_path: Path) -> None:
    Image.open(photos / "1.png").resize((64, 64)).save(photos / "whole.jpg")
    (photos / "cut.jpg").write_bytes((photos / "whole.jpg").read_bytes()[:-200])
    items = [item("1", "0.png"), item("2", "cut.jpg")]
    model = Carded()
    cache = EmbeddingCache(tmp_path / "cache")
    with pytest.raises(UserError, match=r"cut\.jpg: corrupt"):
        score_items(model, items, images=photos, cache=cache)
    score_items(model, items, images=photos, cache=cache, allow_missing=True)
    assert len(model.images) == 1  # embedded in the first, refused run


def test_a_huge_header_is_refused(photos: Path) -> None:
    import struct
    import zlib

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    for side in (12_000, 20_000):  # above our limit, and above Pillow's own
        header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
        data = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"\0" * 100))
        (photos / "bomb.png").write_bytes(data)
        with pytest.raises(UserError, match=r"bomb\.png: .* images over 100,000,000 pixels are refused"):
            score_items(Notebook(), [item("1", "bomb.png")], images=photos)


def test_the_owners_links_are_followed_and_written_paths_do_not_leave(photos: Path, tmp_path: Path) -> None:
    folder = tmp_path / "below"
    folder.mkdir()
    (folder / "VG_100K").symlink_to(photos)
    assert len(score_items(Notebook(), [item("1", "VG_100K/0.png")], images=folder).rows) == 1
    with pytest.raises(ImageProblem, match="leaves its folder"):
        read_image_bytes(folder, "../0.png")  # as if nobody had checked the item


def test_a_strip_is_refused_before_it_is_blown_up(photos: Path) -> None:
    Image.new("RGB", (1, 60_000)).save(photos / "strip.png")
    with pytest.raises(UserError, match=r"strip\.png: 1 x 60000 pixels, a strip"):
        score_items(Notebook(), [item("1", "strip.png")], images=photos)


def test_a_model_with_methods_of_its_own_is_asked_by_the_two_that_count(photos: Path) -> None:
    """open_clip's models have `preprocess` and `tokenize` too, of other shapes."""

    class Rich(Notebook):
        def preprocess(self, image: Image.Image) -> Any:
            raise AssertionError("embed_images does its own")

        tokenize = preprocess

    assert score_items(Rich(), [item("1", "0.png")], images=photos).rows


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"embed_texts": lambda self, texts: [[1.0], [1.0, 2.0]]}, "expected an array of numbers"),
        ({"embed_texts": lambda self, texts: np.ones((len(texts), 5))}, r"different widths \(\[5, 12\]\)"),
        ({"embed_texts": None}, "None|not callable|is not a model"),
    ],
)
def test_models_that_are_none(change: dict[str, Any], message: str, photos: Path) -> None:
    model = type("Odd", (Notebook,), change)() if change["embed_texts"] else object()
    with pytest.raises(UserError, match=message):
        score_items(model, [item("1", "0.png")], images=photos)


def test_nothing_to_score_and_ids_used_twice(photos: Path) -> None:
    with pytest.raises(UserError, match="no items"):
        score_items(Notebook(), [], images=photos)
    with pytest.raises(UserError, match="1 ids belong to more than one item, for instance '1'"):
        score_items(Notebook(), [item("1", "0.png"), item("1", "1.png")], images=photos)
    with pytest.raises(UserError, match="above 0"):
        score_items(Notebook(), [item("1", "0.png")], images=photos, batch_size=-1)


class Carded(Notebook):
    """A model that says who it is, so that its embeddings may be kept."""

    def __init__(self, weights: str = "one") -> None:
        super().__init__()
        self.card = {"spec": "test", "weight_sha256": weights, "dtype": "float32"}


def test_the_cache_answers_for_the_same_weights_only(photos: Path, tmp_path: Path) -> None:
    items = [item(str(index), f"{index}.png") for index in range(4)]
    folder = tmp_path / "cache"
    first = score_items(Carded(), items, images=photos, cache=EmbeddingCache(folder))
    again = Carded()
    assert score_items(again, items, images=photos, cache=EmbeddingCache(folder)).rows == first.rows
    assert not again.images and not again.strings
    other = Carded("two")
    score_items(other, items, images=photos, cache=EmbeddingCache(folder))
    assert len(other.images) == 4
    nameless = Notebook()  # cannot be told from another object, so nothing of it is kept
    score_items(nameless, items, images=photos, cache=EmbeddingCache(folder))
    score_items(nameless, items, images=photos, cache=EmbeddingCache(folder))
    assert len(nameless.images) == 8


def test_a_card_without_a_hash_of_weights_shares_no_cache(photos: Path, tmp_path: Path) -> None:
    first, second = Carded(), Carded()
    first.card = second.card = {"spec": "mine"}  # two models that say the same of themselves
    for model in (first, second):
        score_items(model, [item("1", "0.png")], images=photos, cache=EmbeddingCache(tmp_path / "cache"))
    assert len(second.images) == 1 and len(second.strings) == 2


def test_in_half_precision_another_batch_size_is_embedded_again(photos: Path, tmp_path: Path) -> None:
    for dtype, expected in (("float32", 0), ("bfloat16", 1)):
        again = Carded()
        for model, size in ((Carded(), 2), (again, 3)):
            model.card["dtype"] = dtype
            score_items(
                model, [item("1", "0.png")], images=photos, cache=EmbeddingCache(tmp_path / "cache"), batch_size=size
            )
        assert len(again.images) == expected


def test_a_changed_photo_is_embedded_again(photos: Path, tmp_path: Path) -> None:
    model, cache = Carded(), EmbeddingCache(tmp_path / "cache")
    before = score_items(model, [item("1", "0.png")], images=photos, cache=cache).rows
    photo(photos / "0.png", 99)
    assert score_items(model, [item("1", "0.png")], images=photos, cache=cache).rows != before


def test_what_was_embedded_before_a_kill_is_kept(photos: Path, tmp_path: Path) -> None:
    class Dying(Carded):
        def embed_images(self, images: Sequence[Image.Image]) -> np.ndarray[Any, Any]:
            if len(self.images) >= 2:
                raise KeyboardInterrupt
            return super().embed_images(images)

    items = [item(str(index), f"{index}.png") for index in range(4)]
    with pytest.raises(KeyboardInterrupt):
        score_items(Dying(), items, images=photos, cache=EmbeddingCache(tmp_path / "cache"), batch_size=1)
    model = Carded()
    score_items(model, items, images=photos, cache=EmbeddingCache(tmp_path / "cache"), batch_size=1)
    assert len(model.images) == 2


def test_not_a_number_from_a_model_names_the_items(photos: Path) -> None:
    class Broken(Notebook):
        def embed_texts(self, strings: Sequence[str]) -> np.ndarray[Any, Any]:
            return np.stack([_vector(s) * (np.nan if s == "a cow" else 1) for s in strings])

    with pytest.raises(UserError, match=r"item '2': negatives: expected finite scores"):
        score_items(Broken(), [item("1", "0.png"), item("2", "0.png", negative="a cow")], images=photos)


def test_a_model_that_returns_the_wrong_shape(photos: Path) -> None:
    class Wrong(Notebook):
        def embed_texts(self, strings: Sequence[str]) -> np.ndarray[Any, Any]:
            return np.zeros(3)

    with pytest.raises(UserError, match="expected an array of 2 rows, found shape"):
        score_items(Wrong(), [item("1", "0.png")], images=photos)


def test_items_without_negatives_are_skipped_by_name(photos: Path) -> None:
    lonely = Item(id="lonely", image=ImageRef(path="0.png"), caption="a cat")
    scoring = score_items(Notebook(), [item("1", "0.png"), lonely], images=photos)
    assert scoring.skipped == {"lonely": "no hard negative to compare with"}
    with pytest.raises(UserError, match="none of 1 items"):
        score_items(Notebook(), [lonely], images=photos)


def test_cosines_are_those_of_a_plain_loop_and_do_not_know_their_neighbours() -> None:
    rng = np.random.default_rng(0)
    images, strings = (rng.normal(size=(count, 67)).astype(np.float32) for count in (40, 90))
    one, other = rng.integers(40, size=9000), rng.integers(90, size=9000)
    found = cosines(images, strings, one, other)
    plain = [float(np.dot(images[i].astype(float), strings[t].astype(float))) for i, t in zip(one, other, strict=True)]
    assert np.abs(found - plain).max() < 1e-12
    alone = [cosines(images, strings, one[[k]], other[[k]])[0] for k in range(0, 9000, 50)]
    assert found[::50].tolist() == alone
    assert found[::-1].tolist() == cosines(images, strings, one[::-1], other[::-1]).tolist()


def test_text_scores_of_many_texts(photos: Path) -> None:
    first = Item(
        id="1", image=ImageRef(path="0.png"), caption="a", positives=texts("b", "c"), negatives=texts("d", "e", "f")
    )
    second = first.model_copy(update={"id": "2", "positives": (), "negatives": texts("b")})
    rows = score_items(Notebook(), [first, second], images=photos, text_scores=True).rows
    unit = {name: _vector(name) / np.linalg.norm(_vector(name)) for name in "abcdef"}
    assert rows[0].text is not None and rows[1].text is not None
    assert rows[0].text.caption_positives == pytest.approx([unit["a"] @ unit[name] for name in "bc"], abs=1e-6)
    assert rows[0].text.caption_negatives == pytest.approx([unit["a"] @ unit[name] for name in "def"], abs=1e-6)
    for values, name in zip(rows[0].text.positives_negatives, "bc", strict=True):
        assert values == pytest.approx([unit[name] @ unit[other] for other in "def"], abs=1e-6)
    assert rows[1].text.caption_negatives == pytest.approx([unit["a"] @ unit["b"]], abs=1e-6)
    assert rows[1].text.caption_positives == rows[1].text.positives_negatives == []


@pytest.mark.slow
def test_ids_used_twice_are_found_quickly(photos: Path) -> None:
    many = [item(str(index), "0.png") for index in range(40_000)]
    started = time.monotonic()
    with pytest.raises(UserError, match="1 ids belong to more than one item"):
        score_items(Notebook(), [*many, many[-1]], images=photos)
    assert time.monotonic() - started < 10  # it was 26 s, and quadratic


@pytest.mark.parametrize("kind", ["tar", "shards", "parquet"])
def test_shards_score_as_their_folder_does(kind: str, photos: Path, tmp_path: Path) -> None:
    items = [item(str(index), f"{index}.png") for index in range(4)]
    expected = score_items(Notebook(), items, images=photos).rows
    where = tmp_path / "packed"
    where.mkdir()
    if kind == "parquet":
        import pyarrow
        import pyarrow.parquet

        rows = [{"bytes": path.read_bytes(), "path": path.name} for path in sorted(photos.glob("*.png"))[::-1]]
        pyarrow.parquet.write_table(pyarrow.table({"image": rows}), where / "all.parquet", row_group_size=2)
    else:
        for number in (1, 0):
            with tarfile.open(where / f"{number}.tar", "w") as archive:
                for path in sorted(photos.glob("*.png"))[number::2]:
                    archive.add(path, path.name)
        if kind == "tar":
            with tarfile.open(tmp_path / "one.tar", "w") as archive:
                for path in sorted(photos.glob("*.png")):
                    archive.add(path, path.name)
            where = tmp_path / "one.tar"
    assert score_items(Notebook(), items, images=where).rows == expected
    with pytest.raises(UserError, match=r"1 of 5 images are missing in "):
        score_items(Notebook(), [*items, item("5", "5.png")], images=where)
