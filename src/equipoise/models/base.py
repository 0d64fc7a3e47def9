"""What a model must be able to do, and nothing else.

A notebook's own object needs two methods (`Embedder`) or one (`PairScorer`). Neither has to inherit
from anything here: these are protocols.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from PIL import Image

Floats: TypeAlias = NDArray[np.float32]


@runtime_checkable
class Embedder(Protocol):
    """A dual encoder: an image and a text are scored by the cosine of their embeddings, one row each."""

    def embed_images(self, images: Sequence[Image.Image]) -> NDArray[Any]: ...

    def embed_texts(self, texts: Sequence[str]) -> NDArray[Any]: ...


@runtime_checkable
class PairScorer(Protocol):
    """A model that reads image and text together (ITM heads): one score for each (image, text) pair."""

    def score_pairs(self, images: Sequence[Image.Image], texts: Sequence[str]) -> NDArray[Any]: ...


Model: TypeAlias = Embedder | PairScorer
