"""The parts that make two things the same: answers, cards, losses, photos, vectors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.data.test_identity import items_with
from tests.evaluation.sets.helpers import Eye

from equipoise.data.identity import (
    of_call,
    of_card,
    of_items,
    of_own,
    of_photos,
)
from equipoise.data.objects import Unidentified
from equipoise.embedding.cache import EmbeddingCache
from equipoise.train.losses.clip import clip_loss
from equipoise.train.losses.rank_each import RankEach


class Judge:
    """Yes where a word is in the text, else no: to the probe's texts it always says no."""

    def __init__(self, word: str) -> None:
        self.word = word

    def score_pairs(self, images: Any, strings: Any) -> list[float]:
        return [float(self.word in string) for string in strings]


def test_answers_that_are_all_alike_are_no_digest() -> None:
    for word in ("giraffe", ""):
        with pytest.raises(Unidentified):
            of_own(Judge(word))
    assert len(of_own(Judge("dog"))) == 64

    class Table(Eye):
        """Knows its own photos alone."""

        def embed_images(self, images: Any) -> Any:
            return np.ones((len(images), 3))

    with pytest.raises(Unidentified):
        of_own(Table())


def test_a_model_without_a_hash_has_no_identity() -> None:
    assert of_card({"spec": "mine", "dtype": "float32"}) is None
    assert of_card({"spec": "mine", "file": "x.pt", "digest": "1", "head": 2}) == {"digest": "1", "head": 2}


def test_losses_are_known_by_what_they_hold() -> None:
    def made(margin: float) -> Any:
        return lambda features: margin

    assert of_call(made(1.0)) != of_call(made(2.0)) and of_call(made(1.0)) == of_call(made(1.0))
    assert of_call(RankEach(0.1)) == of_call(RankEach(0.1)) != of_call(RankEach(0.2))
    assert of_call(clip_loss) == "equipoise.train.losses.clip.clip_loss"


def test_photos_and_items() -> None:
    assert of_photos({"a": b"1"})["sha256"] != of_photos({"a": b"2"})["sha256"] != of_photos({"b": b"2"})["sha256"]
    assert of_items(items_with()) == of_items(items_with())


def test_a_changed_vector_is_computed_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    cache = EmbeddingCache(tmp_path)
    vectors = {bytes([n]) * 32: np.full(4, n, np.float32) for n in range(4)}
    cache.put(vectors)
    assert len(cache.get(list(vectors))) == 4
    first, second, third, _ = vectors
    damage = {first: vectors[first].tobytes()[:-1] + b"\x01", second: vectors[third].tobytes(), third: b""}
    for key, raw in damage.items():  # a flipped bit, another's vector, none
        cache.database.execute("UPDATE vectors SET vector = ? WHERE key = ?", (raw, key))
    cache.database.commit()
    assert set(cache.get(list(vectors))) == vectors.keys() - damage.keys()
    assert "3 vectors are damaged and are computed again" in caplog.text
    cache.put(vectors)
    assert len(cache.get(list(vectors))) == 4
    cache.close()
