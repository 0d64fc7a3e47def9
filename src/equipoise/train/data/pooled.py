"""The output of a frozen vision tower for each photo, computed once and cached by the photo's bytes."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch

from equipoise.core.progress import progress
from equipoise.data.identity import of_model
from equipoise.data.images import ImageProblem, ImageSource, use_image
from equipoise.data.items import ImageRef
from equipoise.embedding.cache import EmbeddingCache, Keys, Vector
from equipoise.models.clip import ClipModel
from equipoise.train.step.towers import Towers

AT_ONCE = 256  # photos
CODE = 1  # raise it when these vectors change

Photo = tuple[ImageSource, ImageRef]


def pool(photos: Sequence[Photo], model: ClipModel, cache: EmbeddingCache, show: bool) -> list[Vector | None]:
    """The vector of each photo before the projection; None if the photo cannot be read."""
    towers = Towers(model.network, model.preprocess)
    identity = of_model(model, AT_ONCE, CODE, "image_card")
    cache = EmbeddingCache(None) if identity is None else cache
    key = Keys("pooled", identity or "this run", str(model.network.dtype))
    found: list[Vector | None] = []
    with progress(len(photos) if show else 0, "photos, once", "photos") as advance, ThreadPoolExecutor() as threads:
        for start in range(0, len(photos), AT_ONCE):
            some = photos[start : start + AT_ONCE]
            raw = [b"" if data is None else data for data in threads.map(_read, some)]
            names = [
                key(hashlib.sha256(data).digest(), repr(ref.box)) for data, (_, ref) in zip(raw, some, strict=True)
            ]
            known = cache.get(list(dict.fromkeys(names)))
            if len(known) < len(set(names)):  # the whole batch: a vector must not depend on what was cached
                pixels = threads.map(lambda data, photo: _pixels(data, photo[1], model), raw, some)
                seen = {name: one for name, one in zip(names, pixels, strict=True) if one is not None}
                if seen:
                    rows = towers.pooled(torch.from_numpy(np.stack(list(seen.values()))).to(model.network.device))
                    known = dict(zip(seen, rows.cpu().numpy(), strict=True))
                    cache.put(known)
            found += [known.get(name) for name in names]
            advance(len(some))
    return found


def _read(photo: Photo) -> bytes | None:
    source, ref = photo
    try:
        return source.read(ref.path)
    except ImageProblem:
        return None


def _pixels(data: bytes, ref: ImageRef, model: ClipModel) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]] | None:
    """Runs in threads: Pillow releases Python's lock while it decodes."""
    try:
        return use_image(data, ref, lambda image: np.asarray(model.preprocess.pixels(image)))
    except ImageProblem:
        return None
