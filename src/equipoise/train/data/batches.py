"""From items to batches: chooses, reads, tokenizes and packs the texts and images of a step.

A sample's draws (positive, negatives, crop) depend only on (seed, epoch, index), so they are the same for any number of
workers and processes and after a resume. A batch contains every distinct image and text once; the fields of `Features`
are indices into them.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

from equipoise.core.errors import UserError
from equipoise.core.progress import progress
from equipoise.data.identity import of_model
from equipoise.data.images import ImageProblem, ImageSource, decode_image, use_image
from equipoise.data.items import ImageRef, Item
from equipoise.embedding.cache import EmbeddingCache, Keys, Vector
from equipoise.models.clip import ClipModel
from equipoise.models.inputs import Preprocess
from equipoise.models.scorers.itm import MatchingModel
from equipoise.train.data.draws import Draw, batches, epoch_order
from equipoise.train.recipe import Recipe
from equipoise.train.step.towers import PackedTexts, Towers, pack, row_length

Trainable: TypeAlias = ClipModel | MatchingModel
Photo = tuple[ImageSource, ImageRef]
CACHE_BYTES = 1 << 30  # of decoded images in memory
KEPT_TEXTS = 200_000  # tokenized texts that each worker keeps for the next epoch
MISSING = -1
HARD_IMAGE = ", hard image"  # marks problems with a hard image


@dataclass
class Part:
    """One source of training data. Parts are concatenated or, if one has a weight, mixed by weight (default 1)."""

    items: Sequence[Item]
    images: ImageSource
    weight: float | None = None


def shares(parts: Sequence[Part]) -> list[float] | None:
    """The weights of the parts; None if every item comes once per epoch."""
    if len(parts) == 1 or all(part.weight is None for part in parts):
        return None
    return [1.0 if part.weight is None else part.weight for part in parts]


@dataclass
class Batch:
    """One process's part of a step. `fields` are rows of the distinct images and texts, or MISSING."""

    step: int
    ids: list[str]
    pixels: list[Tensor]  # chunks of (images, height, width, 3) bytes; several under GradCache
    texts: list[PackedTexts | Tensor]  # chunks of the distinct texts: packed, or padded
    fields: dict[str, Tensor]  # int64, with the leading shape of the Features field
    skipped: list[str] = field(default_factory=list)  # problems of the images left out

    def to(self, device: torch.device) -> Batch:
        return self._mapped(lambda tensor: tensor.to(device, non_blocking=True))

    def pin_memory(self) -> Batch:
        return self._mapped(lambda tensor: tensor.pin_memory())

    def _mapped(self, change: Callable[[Tensor], Tensor]) -> Batch:
        texts: list[PackedTexts | Tensor] = [
            PackedTexts(**{name: change(tensor) for name, tensor in vars(chunk).items()})
            if isinstance(chunk, PackedTexts)
            else change(chunk)
            for chunk in self.texts
        ]
        fields = {name: change(rows) for name, rows in self.fields.items()}
        return Batch(self.step, self.ids, [change(chunk) for chunk in self.pixels], texts, fields, self.skipped)


class TextChunks:
    """Texts for a model's tower: packed if its family allows it, else padded."""

    def __init__(self, model: Trainable) -> None:
        self.model = model
        self._packs = isinstance(model, ClipModel) and model.family.by_pieces
        self._end = model.end_id if isinstance(model, ClipModel) and model.causal_text else None
        self._known: dict[str, list[int]] = {}

    def __call__(self, texts: Sequence[str], size: int) -> list[PackedTexts | Tensor]:
        """Chunks of `size` texts, in order."""
        ids = self._ids(texts)
        return [self._chunk(ids[start : start + size]) for start in range(0, len(ids), size)]

    def _ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Tokens of the texts, from the cache if it has them. A full cache keeps its texts: every epoch needs each of
        them, and evicting the oldest would always evict the next."""
        new: dict[str, list[int]] = {}
        unknown = [text for text in texts if text not in self._known]
        for text, ids in zip(unknown, self.model.tokenize(unknown), strict=True):
            ids = self.model.truncate(ids)
            new[text] = ids if self._end is None else ids[: ids.index(self._end) + 1]
        result = [new[text] if text in new else self._known[text] for text in texts]
        if len(self._known) < KEPT_TEXTS:
            self._known.update(new)
        return result

    def _chunk(self, ids: Sequence[Sequence[int]]) -> PackedTexts | Tensor:
        if self._packs:
            return pack(ids, row_length(self.model.context_length))
        return self.model.pad(ids)[0]


class TrainingData(torch.utils.data.Dataset[Batch]):
    """Indexed by step: item s is batch s of the whole run."""

    def __init__(
        self,
        parts: Sequence[Part],
        recipe: Recipe,
        preprocess: Preprocess,
        texts: TextChunks,
        *,
        chunk: int | None = None,
        rank: int = 0,
        processes: int = 1,
    ) -> None:
        self.parts, self.needs, self.preprocess, self.texts = parts, recipe.needs, preprocess, texts
        self.seed, self.batch, self.chunk, self.crop = recipe.seed, recipe.batch_size, chunk, recipe.crop
        self.rank, self.processes = rank, processes
        self.items = [item for part in parts for item in part.items]
        self._offsets = [0, *accumulate(len(part.items) for part in parts)]
        sources = list({id(part.images): None for part in parts})
        places = [(n, sources.index(id(part.images))) for n, part in enumerate(parts) for _ in part.items]
        self.draw = Draw(self.items, recipe.needs, recipe.seed, places)
        self._keys = [_key(item, source) for item, (_, source) in zip(self.items, places, strict=True)]
        self._distinct = self._keys if recipe.needs.distinct_images else None
        self._epoch: tuple[int, list[NDArray[np.int64]]] | None = None
        self.keeps_images = True  # False with workers, which would each keep their own
        self._images: dict[Hashable, NDArray[np.uint8]] = {}
        self._pooled: dict[Hashable, NDArray[Any]] = {}  # replaces pixels if the vision tower is frozen
        self._image_bytes = 0
        self.first_steps = self._count_steps(recipe.epochs, recipe.max_steps)

    def _count_steps(self, epochs: int, steps: int | None) -> list[int]:
        """The first step of each epoch, and the total number of steps at the end."""
        if not self._batches(0):
            distinct = " without two captions of one image" if self._distinct else ""
            most = len(set(self._distinct)) if self._distinct else len(self.items)  # the largest that fits every epoch
            fix = f"choose at most {most} (--set batch_size={most})" if most > 1 else "it needs two or more: add items"
            raise UserError(f"{len(self.items)} items make no batch of {self.batch}{distinct}; {fix}")
        first = [0]
        while len(first) <= epochs and (steps is None or first[-1] < steps):
            first.append(first[-1] + len(self._batches(len(first) - 1)))
        first[-1] = first[-1] if steps is None else min(first[-1], steps)
        return first

    def __len__(self) -> int:
        return self.first_steps[-1]

    def place(self, step: int) -> tuple[int, int]:
        """(epoch, batch within the epoch) of a step."""
        epoch = int(np.searchsorted(self.first_steps, step, side="right")) - 1
        return epoch, step - self.first_steps[epoch]

    def _batches(self, epoch: int) -> list[NDArray[np.int64]]:
        if self._epoch is None or self._epoch[0] != epoch:
            sizes = [len(part.items) for part in self.parts]
            order = epoch_order(self.seed, epoch, sizes, shares(self.parts))
            self._epoch = (epoch, batches(order, self.batch, self._distinct))
        return self._epoch[1]

    def __getitem__(self, step: int) -> Batch:
        epoch, number = self.place(step)
        indices = self._batches(epoch)[number]
        own = np.array_split(indices, self.processes)[self.rank]
        return self._build(step, epoch, own.tolist())

    def _build(self, step: int, epoch: int, indices: list[int]) -> Batch:
        pixels: list[NDArray[np.uint8]] = []
        rows: dict[Hashable, int] = {}
        skipped: list[str] = []

        def image(index: int) -> int:
            key: Hashable = self._keys[index] if self.crop is None else index  # crops of one image differ between items
            if key not in rows:
                pixels.append(self._pixels(index, epoch))
                rows[key] = len(pixels) - 1
            return rows[key]

        texts: dict[str, int] = {}
        values: dict[str, list[object]] = {}
        ids: list[str] = []
        for index in indices:
            try:
                drawn: dict[str, object] = {"image": image(index)}
            except ImageProblem as problem:
                skipped.append(f"{self.items[index].id}: {problem}")
                continue
            sample = self.draw(epoch, index)
            if self.needs.hard_images:
                try:
                    drawn["hard_image"] = MISSING if sample.hard_image is None else image(sample.hard_image)
                except ImageProblem as problem:
                    skipped.append(f"{self.items[index].id}{HARD_IMAGE}: {problem}")
                    drawn["hard_image"] = MISSING
            for name, picked in sample.texts.items():
                drawn[name] = _rows(picked, texts)
            for name, value in drawn.items():
                values.setdefault(name, []).append(value)
            ids.append(self.items[index].id)
        if not ids:
            raise UserError(
                f"step {step}: none of the {len(indices)} images of a batch could be read; "
                f"is the image folder the right one? The first: {skipped[0]}"
            )
        return Batch(
            step,
            ids,
            list(torch.split(torch.from_numpy(np.stack(pixels)), self._piece(len(pixels), len(ids)))),
            self.texts(list(texts), self._piece(len(texts), len(ids))),
            {name: torch.tensor(value, dtype=torch.int64) for name, value in values.items()},
            skipped,
        )

    def _piece(self, count: int, samples: int) -> int:
        """How many of `count` images or texts belong to `chunk` samples, which a tower sees at once."""
        return count if self.chunk is None else -(-count * self.chunk // samples)

    def _pixels(self, index: int, epoch: int) -> NDArray[np.uint8]:
        """The image in the model's size, as bytes: a quarter of the memory; the device makes floats faster."""
        key = self._keys[index]
        if key in self._pooled:
            return self._pooled[key]
        if self.crop is None:
            if key not in self._images:
                return self._keep(key, np.asarray(self.preprocess.pixels(self._decode(index))))
            return self._images[key]
        pixels = self._images[key] if key in self._images else self._keep(key, np.asarray(self._decode(index)))
        rng = random.Random(f"{self.seed}/{epoch}/{index}/crop")
        return np.asarray(self.preprocess.pixels(random_crop(Image.fromarray(pixels), self.crop, rng)))

    def _decode(self, index: int) -> Image.Image:
        source, reference = self._photo(index)
        return decode_image(source.read(reference.path), reference)

    def _photo(self, index: int) -> Photo:
        reference = self.items[index].image
        assert isinstance(reference, ImageRef)  # check_items refuses items without one
        part = int(np.searchsorted(self._offsets, index, side="right")) - 1
        return self.parts[part].images, reference

    def _keep(self, key: Hashable, pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
        if self.keeps_images and self._image_bytes + pixels.nbytes <= CACHE_BYTES:
            self._image_bytes += pixels.nbytes
            self._images[key] = pixels
        return pixels

    def pool(self, model: ClipModel, cache: EmbeddingCache | None, show: bool) -> None:
        """Run every photo through a frozen tower once; batches then contain the outputs. Batches report unreadable
        photos."""
        first = {key: index for index, key in reversed(list(enumerate(self._keys)))}
        photos = [self._photo(index) for index in first.values()]
        rows = pool(photos, model, EmbeddingCache(None) if cache is None else cache, show)
        self._pooled = {key: row for key, row in zip(first, rows, strict=True) if row is not None}

    def fits_in_memory(self) -> bool:
        """Whether all images would fit the cache, estimated from the first readable one."""
        for index in range(len(self.items)):
            try:
                self._pixels(index, 0)
            except ImageProblem:
                continue
            return 0 < self._image_bytes * len(set(self._keys)) <= CACHE_BYTES
        raise UserError(f"none of the {len(self.items)} images could be read; is the image folder the right one?")


def _key(item: Item, source: int) -> Hashable:
    """Identifies an item's image; two sources may each have a 000001.jpg."""
    return None if item.image is None else (source, item.image.path, item.image.box)


def _rows(picked: Any, texts: dict[str, int]) -> object:
    """Row numbers instead of texts (None: MISSING); new texts are added to `texts`."""
    if isinstance(picked, list):
        return [_rows(text, texts) for text in picked]
    return MISSING if picked is None else texts.setdefault(picked, len(texts))


def random_crop(image: Image.Image, scale: tuple[float, float], rng: random.Random) -> Image.Image:
    """A crop with a share of the area within `scale` and an aspect ratio from 3:4 to 4:3, as in open_clip."""
    width, height = image.size
    for _ in range(10):
        area = width * height * (scale[0] + (scale[1] - scale[0]) * rng.random())
        ratio = (3 / 4) ** (1 - 2 * rng.random())
        wide, high = round((area * ratio) ** 0.5), round((area / ratio) ** 0.5)
        if 0 < wide <= width and 0 < high <= height:
            left, top = int(rng.random() * (width - wide + 1)), int(rng.random() * (height - high + 1))
            return image.crop((left, top, left + wide, top + high))
    return image


# The output of a frozen vision tower for each photo is computed once and cached by the photo's bytes.

POOLED_AT_ONCE = 256  # photos
POOLED_CODE = 1  # raise it when these vectors change


def pool(photos: Sequence[Photo], model: ClipModel, cache: EmbeddingCache, show: bool) -> list[Vector | None]:
    """The vector of each photo before the projection; None if the photo cannot be read."""
    towers = Towers(model.network, model.preprocess)
    identity = of_model(model, POOLED_AT_ONCE, POOLED_CODE, "image_card")
    cache = EmbeddingCache(None) if identity is None else cache
    key = Keys("pooled", identity or "this run", str(model.network.dtype))
    vectors: list[Vector | None] = []
    with progress(len(photos) if show else 0, "photos, once", "photos") as advance, ThreadPoolExecutor() as threads:
        for start in range(0, len(photos), POOLED_AT_ONCE):
            block = photos[start : start + POOLED_AT_ONCE]
            raw = [b"" if data is None else data for data in threads.map(_read, block)]
            names = [
                key(hashlib.sha256(data).digest(), repr(ref.box)) for data, (_, ref) in zip(raw, block, strict=True)
            ]
            known = cache.get(list(dict.fromkeys(names)))
            if len(known) < len(set(names)):  # the whole batch: a vector must not depend on what was cached
                pixels = threads.map(lambda data, photo: _pixels(data, photo[1], model), raw, block)
                seen = {name: image for name, image in zip(names, pixels, strict=True) if image is not None}
                if seen:
                    rows = towers.pooled(torch.from_numpy(np.stack(list(seen.values()))).to(model.network.device))
                    known = dict(zip(seen, rows.cpu().numpy(), strict=True))
                    cache.put(known)
            vectors += [known.get(name) for name in names]
            advance(len(block))
    return vectors


def _read(photo: Photo) -> bytes | None:
    source, ref = photo
    try:
        return source.read(ref.path)
    except ImageProblem:
        return None


def _pixels(data: bytes, ref: ImageRef, model: ClipModel) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]] | None:
    """Decode in threads: Pillow releases Python's lock meanwhile."""
    try:
        return use_image(data, ref, lambda image: np.asarray(model.preprocess.pixels(image)))
    except ImageProblem:
        return None
