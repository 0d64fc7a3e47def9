"""The draws of a sample in an epoch: its positive, negatives, hard image and dense captions.

Each draw depends only on (seed, epoch, index, purpose). Texts are strings here; None if the item has no fitting text.
"""

from __future__ import annotations

import json
import random
from collections import deque
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from equipoise.core.errors import Problems
from equipoise.data.items import Item, Text
from equipoise.train.recipe import Needs, Slot

Drawn = TypeVar("Drawn")


@dataclass
class Sample:
    """The texts of a sample by field of `Features` (a list if the field has slots), and the item of its hard image."""

    texts: dict[str, str | list[str | None] | None]
    hard_image: int | None = None


class Draw:
    """Draws samples from items; `draw(epoch, index)` is deterministic."""

    def __init__(
        self, items: Sequence[Item], needs: Needs, seed: int, places: Sequence[tuple[int, int]] | None = None
    ) -> None:
        """`places` are (part, image source) of each item: ids are unique in a part, paths in a source."""
        self.items, self.needs, self.seed = items, needs, seed
        places = places or [(0, 0)] * len(items)
        self._hard = _hard_images(items, [part for part, _ in places]) if needs.hard_images else []
        photos = ["" if item.image is None else item.image.path for item in items]
        self._photo = [(source, path) for (_, source), path in zip(places, photos, strict=True)]
        self._same_image: dict[tuple[int, str], list[int]] = {}
        if needs.dense:
            for index, photo in enumerate(self._photo):
                self._same_image.setdefault(photo, []).append(index)

    def __call__(self, epoch: int, index: int) -> Sample:
        item, needs = self.items[index], self.needs
        texts: dict[str, str | list[str | None] | None] = {"caption": item.caption}
        if needs.positive:
            texts["positive"] = self._fill((needs.positive,), item.positives, epoch, index, "positive")[0]
        if needs.negatives:
            texts["negative"] = self._fill(needs.negatives, item.negatives, epoch, index, "negative")
        if needs.dense:
            texts |= self._dense(epoch, index)
        if not needs.hard_images:
            return Sample(texts)
        hard = _pick(self._hard[index], self._random(epoch, index, "hard image"))
        texts["hard_caption"] = None if hard is None else self.items[hard].caption
        if needs.negatives:
            texts["hard_negative"] = self._fill(
                needs.negatives, () if hard is None else self.items[hard].negatives, epoch, index, "hard negative"
            )
        return Sample(texts, hard)

    def _random(self, epoch: int, index: int, purpose: str) -> random.Random:
        return random.Random(f"{self.seed}/{epoch}/{index}/{purpose}")

    def _fill(
        self, slots: Sequence[Slot], texts: Sequence[Text], epoch: int, index: int, purpose: str
    ) -> list[str | None]:
        """One fitting text for each slot, all different."""
        rng = self._random(epoch, index, purpose)
        filled: list[str | None] = []
        for slot in slots:
            fitting = [text.text for text in texts if slot.accepts(text.edit) and text.text not in filled]
            filled.append(_pick(fitting, rng))
        return filled

    def _dense(self, epoch: int, index: int) -> dict[str, list[str | None]]:
        """Draw, with replacement, from the captions and positives of all items of the image."""
        family = self._same_image[self._photo[index]]
        pool = [
            (text, member)
            for member in family
            for text in (self.items[member].caption, *(positive.text for positive in self.items[member].positives))
        ]
        rng = self._random(epoch, index, "dense")
        dense = [pool[int(rng.random() * len(pool))] for _ in range(self.needs.dense)]
        drawn: dict[str, list[str | None]] = {"dense": [text for text, _ in dense]}
        if self.needs.dense_negatives:
            drawn["dense_negative"] = [
                _pick([text.text for text in self.items[member].negatives], rng) for _, member in dense
            ]
        return drawn


def _pick(candidates: Sequence[Drawn], rng: random.Random) -> Drawn | None:
    """One candidate; always consumes one random number, so that later draws do not shift."""
    place = rng.random()
    return candidates[int(place * len(candidates))] if candidates else None


def _hard_images(items: Sequence[Item], parts: Sequence[int]) -> list[list[int]]:
    """For each item, the indices of the items of its part that tags["hard_images"] names."""
    numbers = {(part, item.id): index for index, (item, part) in enumerate(zip(items, parts, strict=True))}
    problems = Problems("hard images")
    hard: list[list[int]] = []
    for item, part in zip(items, parts, strict=True):
        try:
            ids = json.loads(item.tags.get("hard_images", "[]"))
            hard.append([numbers[part, name] for name in ids])
        except KeyError as missing:
            problems.add(
                item.id, f'tags["hard_images"] names {missing.args[0][1]!r}, which is not an item of this file'
            )
        except (ValueError, TypeError):
            problems.add(
                item.id, f"""tags["hard_images"]: expected a JSON list of ids, found {item.tags["hard_images"]!r}"""
            )
    problems.raise_if_any('Each item names its hard images as {"hard_images": "[\\"id1\\", \\"id2\\"]"}.')
    return hard


# Which items are in which batch depends only on (seed, epoch), so a killed run finds its place by the step number, and
# every process knows every batch.

Indices = NDArray[np.int64]


def epoch_order(seed: int, epoch: int, sizes: Sequence[int], weights: Sequence[float] | None = None) -> Indices:
    """The items of one epoch in order; items are numbered through all parts.

    Without weights, every item comes once (as CE-CLIP+ trains on COCO, CC3M and Visual Genome). With weights, an epoch
    has the same length and part k gets its share. Its items come from an endless sequence of permutations, so a small
    part repeats, and a large one is seen in full over several epochs.
    """
    counts = list(sizes) if weights is None else _shares(sum(sizes), weights)
    offsets = np.cumsum([0, *sizes[:-1]])
    picked = [
        offset + _stream(seed, part, size, epoch * count, count)
        for part, (size, count, offset) in enumerate(zip(sizes, counts, offsets, strict=True))
    ]
    order = np.concatenate(picked)
    return order if len(picked) == 1 else np.random.default_rng([seed, epoch, len(sizes)]).permutation(order)


def _shares(total: int, weights: Sequence[float]) -> list[int]:
    """`total` split by weight into whole numbers; the largest remainders are rounded up."""
    exact = [total * weight / sum(weights) for weight in weights]
    counts = [int(value) for value in exact]
    by_remainder = sorted(range(len(exact)), key=lambda part: counts[part] - exact[part])
    for part in by_remainder[: total - sum(counts)]:
        counts[part] += 1
    return counts


def _stream(seed: int, part: int, size: int, start: int, count: int) -> Indices:
    """`count` entries from `start` on of the endless sequence permutation 0, permutation 1, ... of a part."""
    first, last = start // size, (start + count - 1) // size
    rounds = [np.random.default_rng([seed, part, number]).permutation(size) for number in range(first, last + 1)]
    return np.concatenate([np.empty(0, np.int64), *rounds])[start - first * size :][:count]


def batches(order: Indices, size: int, images: Sequence[Hashable] | None = None) -> list[Indices]:
    """The order cut into batches of `size`; a short rest is dropped, as in the papers' loaders.

    With `images` (the image of every item), no batch contains an image twice, because a second caption of an image is a
    wrong negative of the first. A postponed item goes into the next batch that can take it.
    """
    if images is None:
        return [order[start : start + size] for start in range(0, len(order) - size + 1, size)]
    stream = iter(order.tolist())
    waiting: deque[int] = deque()
    full: list[Indices] = []
    while True:
        batch: list[int] = []
        inside: set[Hashable] = set()
        for _ in range(len(waiting)):
            index = waiting.popleft()
            if len(batch) < size and images[index] not in inside:
                batch.append(index)
                inside.add(images[index])
            else:
                waiting.append(index)
        while len(batch) < size:
            following = next(stream, None)
            if following is None:
                return full
            if images[following] in inside:
                waiting.append(following)
            else:
                batch.append(following)
                inside.add(images[following])
        full.append(np.array(batch, dtype=np.int64))
