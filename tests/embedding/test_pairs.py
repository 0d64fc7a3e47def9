"""Pair scorers: each pair once, batches over images, scores kept and gone on with, texts alone, what it costs."""

from __future__ import annotations

import hashlib
import logging
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from equipoise.core.errors import UserError
from equipoise.data.items import ImageRef, Item, texts
from equipoise.embedding import pairs
from equipoise.embedding.cache import EmbeddingCache, Ranks
from equipoise.evaluation.run import evaluate
from equipoise.evaluation.scoring import score_items


class Matcher:
    """A score of the pixels and the letters; remembers what it was asked."""

    def __init__(self, **card: Any) -> None:
        self.card = card
        self.asked: list[tuple[bytes, str]] = []
        self.batches: list[int] = []

    def score_pairs(self, images: Sequence[Image.Image], strings: Sequence[str]) -> Any:
        shown = [image.tobytes() for image in images]
        self.asked += zip(shown, strings, strict=True)
        self.batches.append(len(strings))
        return [_score(image, string) for image, string in zip(shown, strings, strict=True)]


def _score(image: bytes, string: str) -> float:
    return int.from_bytes(hashlib.sha256(image + string.encode()).digest()[:7], "little") / 2**56


class Told(Matcher):
    """Tells its tokens, which know no capitals."""

    context_length = 4

    def tokenize(self, strings: Sequence[str]) -> list[list[int]]:
        return [[len(word) for word in string.lower().split()] for string in strings]

    def truncate(self, ids: Sequence[int]) -> list[int]:
        return list(ids[: self.context_length])


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    folder = tmp_path / "photos"
    folder.mkdir()
    for index in range(6):
        pixels = np.random.default_rng(index % 5).integers(0, 255, (6, 8, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / f"{index}.png")  # 5.png holds the bytes of 0.png
    return folder


def item(name: str, path: str, caption: str = "a cat", *negatives: str, **rest: Any) -> Item:
    return Item(id=name, image=ImageRef(path=path, **rest), caption=caption, negatives=texts(*negatives or ("a dog",)))


@pytest.fixture
def items() -> list[Item]:
    shared = [item(str(index), f"{index}.png", "a cat", "a dog", f"a cow {index}") for index in range(6)]
    return [*shared, item("again", "1.png", "a cat", "a bird"), item("cut", "1.png", box=(1.0, 1.0, 3.0, 2.0))]


def test_each_pair_once_and_in_batches_over_images(photos: Path, items: list[Item]) -> None:
    model = Matcher()
    scoring = score_items(model, items, images=photos, batch_size=7)
    assert len(set(model.asked)) == len(model.asked) == 5 * 3 + 1 + 1 + 2  # 5.png is 0.png; "a cow 5" is its own
    assert model.batches == [7, 7, 5]
    assert scoring.counts["pairs_scored"] == 19 and scoring.counts["pairs"] == 6 * 3 + 1 + 2
    for row, one in zip(scoring.rows, items, strict=True):
        assert one.image is not None
        image = Image.open(photos / one.image.path).convert("RGB")
        if one.image.box:
            image = image.crop((1, 1, 4, 3))
        assert row.caption == _score(image.tobytes(), one.caption)
        assert row.negatives == [_score(image.tobytes(), text.text) for text in one.negatives]


@pytest.mark.parametrize("batch_size", [1, 3, 64])
@pytest.mark.parametrize("workers", [1, 3])
def test_batches_and_workers_change_no_score(photos: Path, items: list[Item], batch_size: int, workers: int) -> None:
    rows = score_items(Matcher(), items, images=photos, batch_size=batch_size, workers=workers).rows
    assert rows == score_items(Matcher(), items, images=photos).rows


def test_scores_are_kept_to_the_bit_and_only_for_the_same_model(
    photos: Path, items: list[Item], tmp_path: Path
) -> None:
    cache = EmbeddingCache(tmp_path / "cache")
    first = score_items(Matcher(digest="1", head="itm"), items, images=photos, cache=cache)
    again = Matcher(digest="1", head="itm", spec="by another name")
    second = score_items(again, items, images=photos, cache=cache)
    assert again.asked == [] and second.rows == first.rows and second.counts["pairs_scored"] == 0
    for other in (Matcher(digest="2", head="itm"), Matcher(digest="1", head="itc"), Matcher(spec="nobody")):
        score_items(other, items, images=photos, cache=cache)
        assert len(other.asked) == 19
    (photos / "0.png").write_bytes((photos / "2.png").read_bytes())
    score_items(again, items, images=photos, cache=cache)
    assert [text for _, text in again.asked] == ["a cow 0"]  # the other photo was seen with all but this text


def test_a_run_that_was_stopped_goes_on(photos: Path, items: list[Item], tmp_path: Path) -> None:
    class Stopped(Matcher):
        def score_pairs(self, images: Any, strings: Any) -> Any:
            if len(self.batches) == 2:
                raise KeyboardInterrupt
            return super().score_pairs(images, strings)

    cache = EmbeddingCache(tmp_path / "cache")
    first = Stopped(digest="1")
    with pytest.raises(KeyboardInterrupt):
        score_items(first, items, images=photos, cache=cache, batch_size=4)
    second = Matcher(digest="1")
    rows = score_items(second, items, images=photos, cache=cache, batch_size=4).rows
    assert len(first.asked) == 8 and len(second.asked) == 11 and not set(first.asked) & set(second.asked)
    assert rows == score_items(Matcher(), items, images=photos).rows


def test_what_is_no_number_is_refused_and_not_kept(photos: Path, items: list[Item], tmp_path: Path) -> None:
    class Broken(Matcher):
        def score_pairs(self, images: Any, strings: Any) -> Any:
            return [float("nan") if text == "a bird" else 0.5 for text in strings]

    cache = EmbeddingCache(tmp_path / "cache")
    with pytest.raises(UserError, match="the model's scores"):
        score_items(Broken(digest="1"), items, images=photos, cache=cache)
    whole = Matcher(digest="1")
    score_items(whole, items, images=photos, cache=cache)
    assert [text for _, text in whole.asked] == ["a bird"]


def test_a_wrong_answer_is_named(photos: Path, items: list[Item]) -> None:
    class Wide(Matcher):
        def score_pairs(self, images: Any, strings: Any) -> Any:
            return np.zeros((len(strings), 2))

    class Words(Matcher):
        def score_pairs(self, images: Any, strings: Any) -> Any:
            return ["yes"] * len(strings)

    with pytest.raises(UserError, match=r"expected 16 scores, found shape \(16, 2\)"):
        score_items(Wide(), items, images=photos)
    with pytest.raises(UserError, match="expected an array of numbers, found list"):
        score_items(Words(), items, images=photos)


def test_texts_of_the_same_tokens_tie_and_batches_are_filled(photos: Path) -> None:
    model = Told()
    items = [item("1", "0.png", "a CAT", "a cat", "one two three four five six")]
    scoring = score_items(model, items, images=photos, batch_size=4)
    assert scoring.rows[0].caption == scoring.rows[0].negatives[0] != scoring.rows[0].negatives[1]
    assert model.batches == [4] and {text for _, text in model.asked} == {"a CAT", "one two three four five six"}
    assert scoring.counts["texts_cut"] == 1 and scoring.counts["pairs_scored"] == 2


def test_a_batch_holds_texts_of_about_one_length(photos: Path) -> None:
    class Long(Told):
        context_length = 99

    model = Long()
    words = [" ".join(["w"] * count) for count in (2, 20, 3, 21)]
    items = [item(str(index), f"{index}.png", words[0], *words[1:]) for index in range(4)]
    score_items(model, items, images=photos, batch_size=8)
    asked = [len(text.split()) for _, text in model.asked]
    assert [set(asked[:8]), set(asked[8:])] == [{2, 3}, {20, 21}]


def test_few_images_wait(photos: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairs, "WAITING", 2 * 8 * 6)  # two of the photos
    model = Told()
    score_items(model, [item(str(n), f"{n}.png", "a cat", "a horse") for n in range(5)], images=photos, batch_size=64)
    assert model.batches == [64, 64]  # three photos at a time: filled, so the scores stay
    assert len(set(model.asked)) == 10


def test_unreadable_photos_are_named_and_the_rest_is_kept(photos: Path, items: list[Item], tmp_path: Path) -> None:
    (photos / "1.png").write_bytes((photos / "1.png").read_bytes()[:60])
    cache = EmbeddingCache(tmp_path / "cache")
    with pytest.raises(UserError, match=r"1\.png: corrupt"):
        score_items(Matcher(digest="1"), items, images=photos, cache=cache)
    again = Matcher(digest="1")
    scoring = score_items(again, items, images=photos, cache=cache, allow_missing=True)
    assert again.asked == [] and sorted(scoring.skipped) == ["1", "again", "cut"]


class Blind:
    """Reads no image."""

    card = {"spec": "blind", "digest": "letters"}  # noqa: RUF012
    reads_images = False

    def __init__(self) -> None:
        self.asked: list[str] = []

    def score_pairs(self, images: Sequence[Image.Image], strings: Sequence[str]) -> Any:
        assert not images
        self.asked += strings
        return [len(string) / 8 for string in strings]


def test_texts_alone(items: list[Item], tmp_path: Path) -> None:
    """No image is opened: there are none."""
    model = Blind()
    scoring = score_items(model, items)
    assert sorted(model.asked) == sorted({text for one in items for text in one.texts()})
    assert [row.caption for row in scoring.rows] == [5 / 8] * 8 and scoring.digests == {}
    assert scoring.rows[6].negatives == [6 / 8]
    cache = EmbeddingCache(tmp_path / "cache")
    evaluate(model, items, out=tmp_path / "run", cache=cache)
    again = evaluate(Blind(), items, out=tmp_path / "run", cache=cache)
    assert again.read_from is not None and again.record.images is not None and again.record.images.count == 0
    kept = Blind()
    score_items(kept, items, cache=cache)
    assert kept.asked == []


class Beside(Ranks):
    """Processes of a torchrun as threads: what one has, all get."""

    def __init__(self, number: int, count: int, meeting: threading.Barrier, parts: dict[int, Any]) -> None:
        super().__init__(number, count)
        object.__setattr__(self, "meeting", meeting)
        object.__setattr__(self, "parts", parts)

    def exchange(self, part: Any) -> list[Any]:
        self.parts[self.number] = part  # type: ignore[attr-defined]
        self.meeting.wait(10)  # type: ignore[attr-defined]
        return [self.parts[number] for number in range(self.count)]  # type: ignore[attr-defined]


@pytest.mark.parametrize("kind", [Matcher, Blind])
def test_processes_share_the_pairs(kind: Any, photos: Path, items: list[Item]) -> None:
    meeting, parts = threading.Barrier(2), {}  # type: ignore[var-annotated]
    models = [kind(), kind()]

    def score(number: int) -> Any:
        return score_items(models[number], items, images=photos, ranks=Beside(number, 2, meeting, parts))

    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(score, range(2))
    alone = kind()
    whole = score_items(alone, items, images=photos)
    assert first.rows == second.rows == whole.rows and first.digests == second.digests == whole.digests
    assert all(model.asked for model in models) and first.counts == second.counts
    assert len(models[0].asked) + len(models[1].asked) == first.counts["pairs_scored"]
    assert set(models[0].asked) | set(models[1].asked) == set(alone.asked)


def test_the_cost_is_said_before_a_long_run(
    photos: Path, items: list[Item], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        score_items(Matcher(), items, images=photos)
        assert not caplog.records  # not worth a line
        monkeypatch.setattr(pairs, "MANY", 10)
        score_items(Matcher(), items, images=photos, batch_size=4)
    (cost,) = (record.getMessage() for record in caplog.records)
    assert cost.startswith("21 pairs of 7 images to score")
