"""Every distinct image and text of some items, embedded once.

Every distinct image (with its box) and every distinct token sequence is embedded once, however many items ask for
it; REPLACE has 6.8 times fewer images and 2.2 times fewer texts than its published code encodes. What was embedded
is on disk within a second, so a killed run goes on where it stopped.

An input's embedding must not depend on its neighbours: texts are padded by their own length, never by the
longest of a batch, and every batch of images, or of texts of one length, has the same number of rows (the last one is
filled up). A run over a subset, in another order, or after a resume therefore multiplies the same shapes.

Photos are decoded ahead of the model's work, and each batch is begun before the one before it is waited for.
"""

from __future__ import annotations

import contextlib
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from equipoise.errors import UserError
from equipoise.evaluation.embedding.cache import EmbeddingCache, Keeper, Vector
from equipoise.evaluation.embedding.inputs import Begun, Images, Texts
from equipoise.evaluation.embedding.processes import ALONE, Ranks
from equipoise.identity import of_model
from equipoise.images.sources import ImageSource
from equipoise.items import ImageRef, Item
from equipoise.progress import several

EMBEDDING_CODE = 3  # raised when preprocessing, pooling or the shape of batches changes: older embeddings are not used
AHEAD = 4  # batches that a GPU has at hand
SOON = 0.25  # seconds; an older batch is finished first, so that a slow model's work is kept at once


@dataclass
class Embedded:
    """Rows of `images` and `texts` are unit vectors; `image` and `text` say which."""

    images: Vector
    texts: Vector
    image: dict[ImageRef, int]
    text: dict[str, int]
    bad: dict[ImageRef, str]
    digests: dict[str, bytes]  # path -> SHA-256 of the photo
    counts: dict[str, int]
    seconds: dict[str, float] = field(default_factory=dict)


def embed(
    model: Any,
    items: Sequence[Item],
    source: ImageSource,
    cache: EmbeddingCache,
    batch_size: int,
    workers: int,
    ranks: Ranks = ALONE,
    keeper: Keeper | None = None,
) -> Embedded:
    """`keeper` may be the caller's, who then goes on while the last vectors are written to the cache."""
    identity = of_model(model, batch_size, EMBEDDING_CODE) or "this run"
    images = Images(model, items, source, cache, identity, batch_size, workers, ranks)
    texts = Texts(model, items, cache, identity, batch_size, ranks)
    with contextlib.nullcontext(keeper) if keeper else Keeper(cache) as kept:
        seconds = _work(images, texts, kept)
        kept.flush()
    for part in (texts, images):
        part.exchange(ranks)
    both = [*images.vectors.values(), *texts.vectors.values()]
    widths = {len(vector) for vector in both}
    if len(widths) > 1:
        raise UserError(f"the model's embeddings have different widths ({sorted(widths)}), so they have no cosine")
    image_rows, text_rows = ({name: row for row, name in enumerate(part.vectors)} for part in (images, texts))
    return Embedded(
        images=_stacked(images.vectors),
        texts=_stacked(texts.vectors),
        image={ref: image_rows[name] for ref, name in images.keys.items() if ref not in images.bad},
        text={string: text_rows[name] for string, name in texts.keys.items()},
        bad=images.bad,
        digests=images.digests,
        counts={
            "images": len(set(images.keys.values())),
            "images_encoded": len(images.encoded),
            "texts": len(set(texts.keys.values())),
            "texts_encoded": len(texts.encoded),
            "texts_cut": texts.cut,
        },
        seconds=seconds,
    )


class Pending:
    """Finishes a batch when others are begun, so that a GPU always has some to work on; the last ones at the end, also
    where that is an error or Ctrl-C: what was computed is kept."""

    def __init__(self, keeper: Keeper) -> None:
        self._keeper = keeper
        self._begun: deque[tuple[float, Images | Texts, list[bytes], Begun]] = deque()

    def add(self, part: Images | Texts, names: list[bytes], begun: Begun) -> None:
        now = time.monotonic()
        while self._begun and (len(self._begun) >= AHEAD or now - self._begun[0][0] > SOON):
            self._finish(*self._begun.popleft()[1:])
        self._begun.append((now, part, names, begun))

    def _finish(self, part: Images | Texts, names: list[bytes], begun: Begun) -> None:
        fresh = dict(zip(names, begun(), strict=False))  # a batch may have been filled up
        self._keeper.add(fresh)
        part.vectors |= fresh
        part.encoded |= fresh.keys()

    def __enter__(self) -> Pending:
        return self

    def __exit__(self, *_: object) -> None:
        while self._begun:
            self._finish(*self._begun.popleft()[1:])


def _work(images: Images, texts: Texts, keeper: Keeper) -> dict[str, float]:
    """Embed all that the cache did not have; the seconds that each kind took."""
    started = time.monotonic()
    shown = (images.count, "images", "images"), (len(texts.strings), "texts ", "texts")
    with several(*shown) as (more_images, more_texts), Pending(keeper) as pending:
        left = images.count
        with contextlib.closing(images.batches()) as batches:
            for names, pictures, count in batches:
                if names:
                    pending.add(images, names, images.begin(pictures))
                more_images(count)
                left -= count
        more_images(left)  # what the cache had
        between, left = time.monotonic(), len(texts.strings)
        for names, contents, length in texts.batches():
            pending.add(texts, names, texts.begin(contents, length))
            more_texts(len(names))
            left -= len(names)
        more_texts(left)
    spent = time.monotonic() - between - texts.tokenizing
    return {"images": between - started, "texts": spent, "tokenize": texts.tokenizing}


def _stacked(vectors: dict[bytes, Vector]) -> Vector:
    """One row each; np.stack takes ten times as long for so many."""
    if not vectors:
        return np.zeros((0, 0), np.float32)
    return np.concatenate(list(vectors.values())).reshape(len(vectors), -1)
