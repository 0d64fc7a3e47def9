"""Every distinct image and text of some items, embedded once.

Every distinct image (with its box) and every distinct token sequence is embedded once, however many items ask for
it; REPLACE has 6.8 times fewer images and 2.2 times fewer texts than its published code encodes. What was embedded
is on disk within a second, so a killed run goes on where it stopped.

An input's embedding must not depend on its neighbours: texts are padded by their own length, never by the
longest of a batch, and every batch of images, or of texts of one length, has the same number of rows (the last one is
filled up). A run over a subset, in another order, or after a resume therefore multiplies the same shapes.

Photos are decoded beside the model's work: it takes a batch of them as soon as there is one, and reads texts while
there is none; each batch is begun before the one before it is waited for.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from equipoise.collector import quick_turns
from equipoise.errors import UserError
from equipoise.evaluation.embedding.asking import Behind
from equipoise.evaluation.embedding.cache import EmbeddingCache, Keeper, Vector
from equipoise.evaluation.embedding.photos import Images
from equipoise.evaluation.embedding.ranks import ALONE, Ranks
from equipoise.evaluation.embedding.texts import Texts
from equipoise.identity import of_model
from equipoise.images.sources import ImageSource
from equipoise.items import Box, ImageRef, Item
from equipoise.progress import several

EMBEDDING_CODE = 3  # raised when preprocessing, pooling or the shape of batches changes: older embeddings are not used


@dataclass
class Embedded:
    """Rows of `images` and `texts` are unit vectors; `image` and `text` say which."""

    images: Vector
    texts: Vector
    image: dict[tuple[str, Box | None], int]  # by path and box; the reference itself takes long to hash
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
    meanwhile: Callable[[], None] | None = None,
) -> Embedded:
    """`keeper` may be the caller's, who then goes on while the last vectors are written to the cache. `meanwhile` is
    called while the first photos are decoded, before the model is asked for anything."""
    identity = of_model(model, batch_size, EMBEDDING_CODE) or "this run"
    images = Images(model, items, source, cache, identity, batch_size, workers, ranks)  # whose processes take a moment
    with quick_turns(), contextlib.nullcontext(keeper) if keeper else Keeper(cache) as kept, images:
        if meanwhile is not None:
            meanwhile()
        texts = Texts(model, items, cache, identity, batch_size, ranks)
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
        image={(ref.path, ref.box): image_rows[name] for ref, name in images.keys.items() if ref not in images.bad},
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


def _work(images: Images, texts: Texts, keeper: Keeper) -> dict[str, float]:
    """Embed all that the cache did not have. Which comes first depends on the moment, what is in a batch does not."""
    seconds = dict.fromkeys(("images", "texts", "waited"), 0.0)
    started = time.monotonic()

    def spent(on: str) -> None:
        nonlocal started
        before, started = started, time.monotonic()
        seconds[on] += started - before

    shown = (images.count, "images", "images"), (len(texts.strings), "texts ", "texts")
    with several(*shown) as (more_images, more_texts), Behind(keeper) as behind:
        photos, strings = images.batches(), texts.batches()
        more, left, unread = True, images.count, len(texts.strings)

        def read(names: list[bytes], contents: list[Any], length: int | None) -> None:
            nonlocal unread
            behind.add(texts, names, texts.begin(contents, length))
            more_texts(len(names))
            unread -= len(names)
            spent("texts")

        while more:
            if not images.ready() and (batch := next(strings, None)):
                read(*batch)
                continue
            found = next(photos, None)
            spent("waited")
            if more := found is not None:
                names, pixels, rows, count = found
                if rows:
                    behind.add(images, names, images.begin(pixels, rows))
                more_images(count)
                left -= count
                spent("images")
        for batch in strings:
            read(*batch)
        more_images(left)  # what the cache had
        more_texts(unread)
    spent("images")
    seconds["texts"] -= texts.tokenizing
    return seconds | {"tokenize": texts.tokenizing}


def _stacked(vectors: dict[bytes, Vector]) -> Vector:
    """One row each; np.stack takes ten times as long for so many."""
    if not vectors:
        return np.zeros((0, 0), np.float32)
    return np.concatenate(list(vectors.values())).reshape(len(vectors), -1)
