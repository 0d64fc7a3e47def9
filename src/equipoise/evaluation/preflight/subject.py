"""The model under test, asked as `eval` asks it. Whatever it is, a text and a picture become a row of numbers: the
embedding of an encoder, or a pair scorer's scores with a few fixed pictures and texts. So most checks serve both."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
from PIL import Image

from equipoise.core.errors import UserError
from equipoise.core.plugins import own_code
from equipoise.evaluation.embedding.cache import Vector
from equipoise.evaluation.embedding.embed import unit
from equipoise.evaluation.preflight import probes
from equipoise.evaluation.preflight.xray import Seen, watched
from equipoise.evaluation.scoring import default_batch
from equipoise.models.base import kind_of

SAME = 1e-4  # drift below which two inputs have one row
FEW_PICTURES = 10  # of the probe set, for a pair scorer


class Subject:
    def __init__(self, model: Any, spec: str) -> None:
        self.model, self.spec, self.kind = model, spec, kind_of(model)
        self._last: Vector = np.ones(0, np.float32)  # lengths of the rows as the model gave them
        self.lengths: dict[str, Vector] = {}  # of the texts of `read`

    @property
    def encodes(self) -> bool:
        return self.kind in ("tokens", "embeds")

    # ------------------------------------------------------------------------ asking

    def texts(self, texts: Sequence[str]) -> Vector:
        if not self.encodes:
            return self.scores(probes.shapes()[:2], texts).T
        if self.kind == "embeds":
            return self._asked("embed_texts", texts)
        with own_code(self.spec, f"tokenize failed for {len(texts)} texts"):
            ids = [self.model.truncate(row) for row in self.model.tokenize(list(texts))]
        return self._asked("encode_texts", ids)

    def images(self, images: Sequence[Image.Image]) -> Vector:
        if not self.encodes:
            return self.scores(images, probes.SHORT[:4:3])
        if self.kind == "embeds":
            return self._asked("embed_images", images)
        with own_code(self.spec, f"preprocess failed for {len(images)} images"):
            pixels = np.stack([self.model.preprocess(image) for image in images])
        return self._asked("encode_images", pixels)

    def scores(self, images: Sequence[Image.Image], texts: Sequence[str]) -> Vector:
        """A row for each image, a column for each text."""
        if self.encodes:
            return self.images(images) @ self.texts(texts).T
        pairs = [(image, text) for image in images for text in texts]
        return self._pairs(pairs).reshape(len(images), len(texts))

    def _pairs(self, pairs: Sequence[tuple[Image.Image, str]]) -> Vector:
        size = default_batch(self.model)
        parts = [pairs[start : start + size] for start in range(0, len(pairs), size)]
        found = []
        for part in parts:
            with own_code(self.spec, f"score_pairs failed for {len(part)} pairs"):
                answer = self.model.score_pairs([image for image, _ in part], [text for _, text in part])
            found.append(_flat(answer, len(part)))
        return np.concatenate(found)

    def _asked(self, method: str, inputs: Any) -> Vector:
        many = len(inputs)
        with own_code(self.spec, f"{method} failed for {many} input{'s' if many > 1 else ''}"):
            found = getattr(self.model, method)(inputs if isinstance(inputs, np.ndarray) else list(inputs))
        rows = unit(found, many, method)
        self._last = np.linalg.norm(np.asarray(found, np.float64), axis=1).astype(np.float32)
        return rows

    def alone(self, inputs: Sequence[Any]) -> Vector:
        """Each by itself; of a pair scorer each pair."""
        if self.encodes:
            ask: Any = self.texts if isinstance(inputs[0], str) else self.images
            return np.concatenate([ask([one]) for one in inputs])
        if isinstance(inputs[0], str):
            return np.array([[self._pairs([(one, text)])[0] for one in probes.shapes()[:2]] for text in inputs])
        return np.array([[self._pairs([(one, text)])[0] for text in probes.SHORT[:4:3]] for one in inputs])

    def answers(self, method: str, inputs: Sequence[Any]) -> bool:
        try:
            return len(self._asked(method, inputs)) > 0
        except UserError:
            return False

    # ------------------------------------------------------------------------ asked for once

    @functools.cached_property
    def some(self) -> tuple[Vector, Vector]:
        """A few pictures and texts, each in a small batch."""
        return self.images(probes.shapes()), self.texts(probes.SHORT)

    @functools.cached_property
    def read(self) -> dict[str, Vector]:
        """The row of each text; all are asked for at once."""
        texts = probes.texts()
        rows = self.texts(texts)
        self.lengths = dict(zip(texts, self._last, strict=False))  # of a pair scorer none
        return dict(zip(texts, rows, strict=True))

    @functools.cached_property
    def shown(self) -> dict[int, Vector]:
        """The row of each picture, by its identity; all are asked for at once."""
        pictures = probes.pictures()
        return {id(picture): row for picture, row in zip(pictures, self.images(pictures), strict=True)}

    def of_texts(self, texts: Sequence[str]) -> Vector:
        return np.stack([self.read[text] for text in texts])

    def of_images(self, images: Sequence[Image.Image]) -> Vector:
        return np.stack([self.shown[id(image)] for image in images])

    @functools.cached_property
    def seen(self) -> tuple[Seen, Seen]:
        """What reached the network of single pictures, and of a short text and a capitalised one."""
        with watched() as pictures:
            solid = map(probes.solid, ((0, 0, 0), (255, 255, 255), (255, 0, 0)))
            for image in (*solid, probes.quarters(), probes.fine_grained()):
                self.images([image])
        with watched() as texts:
            for text in (probes.SHORT[0], probes.CAPITALS[0]):
                self.alone([text])
        return pictures, texts

    @functools.cached_property
    def matrix(self) -> tuple[Vector, list[int]]:
        """The scores of the probe set with the texts of SHORT, and which one is right."""
        drawn = probes.probe_set() if self.encodes else probes.probe_set()[:FEW_PICTURES]
        right = [place for _, place in drawn]
        if self.encodes:
            return self.of_images([one for one, _ in drawn]) @ self.of_texts(probes.SHORT).T, right
        return self.scores([one for one, _ in drawn], probes.SHORT), right


def _flat(answer: Any, expected: int) -> Vector:
    try:
        found = np.asarray(answer, dtype=np.float64).astype(np.float32)
    except (TypeError, ValueError, RuntimeError) as error:
        raise UserError(f"score_pairs: expected numbers, found {type(answer).__name__} ({error})") from None
    if found.shape != (expected,):
        raise UserError(f"score_pairs: expected {expected} numbers, one for each pair, found shape {found.shape}")
    return found


def drift(before: Vector, after: Vector) -> float:
    """How far the rows of the same inputs move, as a share of the median distance of different inputs: so one limit
    serves every model, however far apart its embeddings lie."""
    return float(np.linalg.norm(before - after, axis=1).max()) / scale(before)


def scale(rows: Vector) -> float:
    """The median distance of different rows. Where all are one, distances count as they are."""
    median = float(np.median(distances(rows)[np.triu_indices(len(rows), 1)])) if len(rows) > 1 else 0.0
    return median if median > 1e-9 else 1.0


def distances(rows: Vector) -> Vector:
    return np.asarray(np.linalg.norm(rows[:, None] - rows[None], axis=2), dtype=np.float32)
