"""The world's test sets as benchmarks. `load` draws pictures that are missing, so no files are needed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from equipoise.benchmarks.base import Benchmark, described
from equipoise.data.images import encoded
from equipoise.data.items import Item
from equipoise.world.splits import BALANCED, UNSEEN, picture, world_items, write_world

SIZE = 2000  # items of a test set
SEED = 0


def _load(test: str, splits: tuple[str, ...], source: Path, wanted: Sequence[str]) -> list[Item]:
    items = list(world_items("test", SIZE, SEED, splits))
    write_world(items, source, f"world-{test}")
    return [item for item in items if not wanted or item.tags["split"] in wanted]


def _benchmark(test: str, splits: tuple[str, ...]) -> Benchmark:
    counts = {split: SIZE // len(splits) for split in splits}
    return described(f"world-{test}", partial(_load, test, splits), splits=counts)


REPLACE_ATTRIBUTES = _benchmark("replace-attributes", ("replace-attributes",))
REPLACE_RELATIONS = _benchmark("replace-relations", ("replace-relations",))
SWAP = _benchmark("swap", ("swap",))
UNSEEN_TYPE = _benchmark("unseen", UNSEEN)
BALANCED_WORDS = _benchmark("balanced", BALANCED)


class LargePictures:
    """An image source for people: larger pictures, without lamp and grain."""

    def read(self, path: str) -> bytes:
        return encoded(picture(path, 160, clean=True), "PNG")
