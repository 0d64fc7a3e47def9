"""The world's test sets as benchmarks. `load` draws pictures that are missing, so no files are needed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from equipoise.benchmarks.base import splits_of
from equipoise.data.images import encoded
from equipoise.data.items import Item
from equipoise.world.splits import picture, world_items, write_world

SEED = 0


def _load(test: str, source: Path, wanted: Sequence[str]) -> list[Item]:
    counts = splits_of(f"world-{test}")
    items = list(world_items("test", sum(count or 0 for count in counts.values()), SEED, tuple(counts)))
    write_world(items, source, f"world-{test}")
    return [item for item in items if not wanted or item.tags["split"] in wanted]


load_replace_attributes = partial(_load, "replace-attributes")
load_replace_relations = partial(_load, "replace-relations")
load_swap = partial(_load, "swap")
load_unseen = partial(_load, "unseen")
load_balanced = partial(_load, "balanced")


class LargePictures:
    """An image source for people: larger pictures, without lamp and grain."""

    def read(self, path: str) -> bytes:
        return encoded(picture(path, 160, clean=True), "PNG")
