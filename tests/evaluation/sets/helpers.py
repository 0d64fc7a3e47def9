"""Models and sets of a few lines."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

COLOURS = {
    "red": (255, 0, 0),
    "green": (0, 255, 0),
    "blue": (0, 0, 255),
    "yellow": (255, 255, 0),
    "pink": (255, 0, 255),
    "grey": (90, 90, 90),
}


class Eye:
    """A dual encoder that sees the mean colour of a photo and reads the names of colours."""

    card = {"spec": "eye", "digest": "1"}  # noqa: RUF012

    def __init__(self) -> None:
        self.read: list[str] = []

    def embed_images(self, images: Sequence[Image.Image]) -> Any:
        return np.stack([np.asarray(image, np.float64).mean(axis=(0, 1)) + 1 for image in images])

    def embed_texts(self, texts: Sequence[str]) -> Any:
        self.read += texts
        named = [next((value for name, value in COLOURS.items() if name in text), (1, 1, 1)) for text in texts]
        return np.array(named, float) + 1


class Blind(Eye):
    """Everything is the same to it."""

    card = {"spec": "blind", "digest": "2"}  # noqa: RUF012

    def embed_images(self, images: Sequence[Image.Image]) -> Any:
        return np.full((len(images), 3), 0.3)

    def embed_texts(self, texts: Sequence[str]) -> Any:
        return np.full((len(texts), 3), 0.3)


class Pairs:
    """The same as Eye, asked for pairs."""

    card = {"spec": "pairs", "digest": "3"}  # noqa: RUF012

    def score_pairs(self, images: Sequence[Image.Image], texts: Sequence[str]) -> Any:
        a, b = (np.asarray(part, np.float32) for part in (Eye().embed_images(images), Eye().embed_texts(texts)))
        unit = [part / np.linalg.norm(part, axis=1, keepdims=True) for part in (a, b)]
        return (unit[0] * unit[1]).sum(axis=1)


def paint(path: Path, colour: str, shade: int = 0) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (8, 8), tuple(max(0, value - shade) for value in COLOURS[colour])).save(path)
