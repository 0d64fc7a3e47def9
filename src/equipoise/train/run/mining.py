"""Hard images as NegCLIP mines them: for each image the most similar others (Yuksekgonul et al. 2023, section 4).

The paper takes the three nearest images by CLIP's image embeddings and draws one of them per sample and epoch. An image
may have several items (COCO has five captions each): the n-th item of an image names the n-th item of each neighbour,
in a cycle, so that all captions of a neighbour are used. The authors' file names rows; ours names ids, as a JSON list
in tags["hard_images"].
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.core import run_folder
from equipoise.core.errors import UserError
from equipoise.core.progress import progress
from equipoise.data.identity import of_model
from equipoise.data.images import ImageSource, open_source
from equipoise.data.items import Item, load_items, write_items
from equipoise.embedding.cache import EmbeddingCache, ScoringOptions, Vector
from equipoise.embedding.embed import EMBEDDING_CODE, embed
from equipoise.evaluation.scoring import default_batch, default_workers
from equipoise.models.base import Embedder, kind_of
from equipoise.train.run.check import MAX_SKIPPED, refuse_skipped

TAG = "hard_images"
_BYTES = 128 * 2**20  # of similarities at once


def mine_file(
    path: Path, out: Path, model: Any, images: str | Path | ImageSource, k: int, cache: EmbeddingCache | None = None
) -> int:
    """Write the items of `path` with their hard images to `out`; another file there is refused."""
    items = load_items(path)
    if out.exists() and not same_items(items, out):
        run_folder.refuse_file(out)
    mined = with_hard_images(items, model, images, k, cache)
    if out.exists():
        if load_items(out) != mined:
            run_folder.refuse_file(out)
        return len(mined)
    return write_items(out, mined)


def same_items(items: Sequence[Item], out: Path) -> bool:
    """Whether a file has these items, apart from hard images."""
    try:
        return [_plain(item) for item in load_items(out)] == [_plain(item) for item in items]
    except UserError:
        return False


def _plain(item: Item) -> Item:
    return item.model_copy(update={"tags": {name: value for name, value in item.tags.items() if name != TAG}})


def with_hard_images(
    items: Sequence[Item],
    model: Any,
    images: str | Path | ImageSource,
    k: int = 3,
    cache: EmbeddingCache | None = None,
) -> list[Item]:
    """The items, each with the ids of items of the `k` nearest other images; [] if its image cannot be read."""
    if kind_of(model) not in {"tokens", "embeds"}:
        raise UserError("--hard-images needs a model that embeds images; this one scores pairs only")
    vectors, rows = _embedded(items, model, open_source(images), cache)
    names: dict[int, list[str]] = {}
    place: list[int] = []  # the number of an item among those of its image
    for item, row in zip(items, rows, strict=True):
        listed = names.setdefault(row, [])
        place.append(len(listed))
        listed.append(item.id)
    near = nearest(vectors, k)
    mined = []
    for item, row, number in zip(items, rows, place, strict=True):
        others = (
            [] if row < 0 else [names[neighbour][number % len(names[neighbour])] for neighbour in near[row].tolist()]
        )
        mined.append(item.model_copy(update={"tags": {**item.tags, TAG: json.dumps(others)}}))
    return mined


def _embedded(
    items: Sequence[Item], model: Embedder, source: ImageSource, cache: EmbeddingCache | None
) -> tuple[Vector, list[int]]:
    """The embedding of each distinct image (by bytes), and each item's row, or -1."""
    if without := [item.id for item in items if item.image is None]:
        raise UserError(f"{len(without):,} of {len(items):,} items have no image; the first is {without[0]!r}")
    size = default_batch(model)
    store = cache if cache is not None and of_model(model, size, EMBEDDING_CODE) else EmbeddingCache(None)
    refs = [item.image for item in items if item.image is not None]
    embedded = embed(model, refs, (), source, ScoringOptions(size, default_workers()), store)
    bad = embedded.bad
    unread = [f"{item.id}: {bad[item.image]}" for item in items if item.image is not None and item.image in bad]
    refuse_skipped(unread, len(items), MAX_SKIPPED)
    return embedded.images, [embedded.image.get(ref, -1) for ref in refs]


def nearest(vectors: Vector, k: int) -> NDArray[np.int64]:
    """For each unit vector, the rows of the `k` others with the highest cosine, nearest first."""
    count = len(vectors)
    k = min(k, count - 1)
    if k < 1:
        raise UserError(f"expected at least 2 distinct images, found {count}")
    rows = np.empty((count, k), np.int64)
    step = max(1, _BYTES // (4 * count))
    with progress(count, "nearest", "images") as advance:
        for start in range(0, count, step):
            part = vectors[start : start + step] @ vectors.T
            part[np.arange(len(part)), np.arange(start, start + len(part))] = -np.inf
            best = np.sort(np.argpartition(part, -k, axis=1)[:, -k:], axis=1)  # ties keep their order
            order = np.argsort(-np.take_along_axis(part, best, axis=1), axis=1, kind="stable")
            rows[start : start + len(part)] = np.take_along_axis(best, order, axis=1)
            advance(len(part))
    return rows
