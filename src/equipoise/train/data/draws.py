"""What a sample shows in an epoch: its positive, its negatives, its hard image, its dense captions.

Each draw is a function of (seed, epoch, index, what for); texts are strings here, None where the
item has none that fits.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from equipoise.errors import Problems
from equipoise.items import Item, Text
from equipoise.train.recipe import Needs, Slot

Drawn = TypeVar("Drawn")


@dataclass
class Sample:
    """The texts of a sample by field of `Features` (a list where the field has slots), and its hard image's item."""

    texts: dict[str, str | list[str | None] | None]
    hard_image: int | None = None


class Draw:
    """Draws samples from items; `draw(epoch, index)` always answers the same."""

    def __init__(
        self, items: Sequence[Item], needs: Needs, seed: int, places: Sequence[tuple[int, int]] | None = None
    ) -> None:
        """`places` are (part, image source) of each item: ids mean an item of the same part, paths one source's."""
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
        """One fitting text for each slot, none twice."""
        rng = self._random(epoch, index, purpose)
        found: list[str | None] = []
        for slot in slots:
            fitting = [text.text for text in texts if slot.accepts(text.edit) and text.text not in found]
            found.append(_pick(fitting, rng))
        return found

    def _dense(self, epoch: int, index: int) -> dict[str, list[str | None]]:
        """DAC: captions of the image, with replacement, from the captions and positives of all its items."""
        family = self._same_image[self._photo[index]]
        pool = [
            (text, other)
            for other in family
            for text in (self.items[other].caption, *(positive.text for positive in self.items[other].positives))
        ]
        rng = self._random(epoch, index, "dense")
        dense = [pool[int(rng.random() * len(pool))] for _ in range(self.needs.dense)]
        drawn: dict[str, list[str | None]] = {"dense": [text for text, _ in dense]}
        if self.needs.dense_negatives:
            drawn["dense_negative"] = [
                _pick([text.text for text in self.items[other].negatives], rng) for _, other in dense
            ]
        return drawn


def _pick(candidates: Sequence[Drawn], rng: random.Random) -> Drawn | None:
    """One of them; always takes one number from `rng`, so that later draws do not shift."""
    place = rng.random()
    return candidates[int(place * len(candidates))] if candidates else None


def _hard_images(items: Sequence[Item], parts: Sequence[int]) -> list[list[int]]:
    """For each item, the indices of the items of its part named in tags["hard_images"], a JSON list of ids."""
    numbers = {(part, item.id): index for index, (item, part) in enumerate(zip(items, parts, strict=True))}
    problems = Problems("hard images")
    found: list[list[int]] = []
    for item, part in zip(items, parts, strict=True):
        try:
            ids = json.loads(item.tags.get("hard_images", "[]"))
            found.append([numbers[part, one] for one in ids])
        except KeyError as missing:
            problems.add(
                item.id, f'tags["hard_images"] names {missing.args[0][1]!r}, which is not an item of this file'
            )
        except (ValueError, TypeError):
            problems.add(
                item.id, f"""tags["hard_images"]: expected a JSON list of ids, found {item.tags["hard_images"]!r}"""
            )
    problems.raise_if_any('Each item names its hard images as {"hard_images": "[\\"id1\\", \\"id2\\"]"}.')
    return found
