"""The world's test sets as benchmarks: nothing to download, `load` draws what is missing."""

from __future__ import annotations

import io
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from equipoise.benchmarks.base import TRIPLE_CHANCE, Benchmark
from equipoise.data.items import Item
from equipoise.world.splits import BALANCED, UNSEEN, picture, world_items, write_world

SIZE = 2000  # items of a test set
SEED = 0


def _load(test: str, splits: tuple[str, ...], source: Path, wanted: Sequence[str]) -> list[Item]:
    items = list(world_items("test", SIZE, SEED, splits))
    write_world(items, source, f"world-{test}")
    return [item for item in items if not wanted or item.tags["split"] in wanted]


def _benchmark(test: str, title: str, splits: tuple[str, ...], notes: str) -> Benchmark:
    return Benchmark(
        name=f"world-{test}",
        title=title,
        splits={split: SIZE // len(splits) for split in splits},
        chance=TRIPLE_CHANCE,
        ties="never a win",
        licence="Apache-2.0",
        citation="Equipoise's drawn world",
        url="none: drawn by this package",
        get="nothing to get: the images are drawn below --source",
        load=partial(_load, test, splits),
        drawn=True,
        notes=notes,
    )


_SYNONYMS = (
    "Tag `synonym`: is the positive's word one that finetuning positives use (seen) or not (unseen)? "
    "Tag `negative`: does the negative name the wrong value by its common word or by a rare one?"
)

BENCHMARKS = {
    benchmark.name: benchmark
    for benchmark in (
        _benchmark(
            "replace-attributes",
            "The drawn world: a colour, texture or size replaced",
            ("replace-attributes",),
            _SYNONYMS,
        ),
        _benchmark("replace-relations", "The drawn world: a relation replaced", ("replace-relations",), _SYNONYMS),
        _benchmark(
            "swap",
            "The drawn world: attributes swapped between two things",
            ("swap",),
            "The positive names the two things in the other order; no word is replaced, so `synonym` is none.",
        ),
        _benchmark(
            "unseen",
            "The drawn world: numbers and absence, which finetuning never changes",
            UNSEEN,
            "One perturbation type that no finetuning set of the world holds.",
        ),
        _benchmark(
            "balanced",
            "The drawn world: attributes, relations, numbers and absence; the texts alone tell nothing",
            BALANCED,
            "Of twins, whose captions are each other's negatives, a coin took one: captions have every word, rare ones "
            f"too, as often as negatives have it. {_SYNONYMS} Tag `caption`: the same of the caption's word.",
        ),
    )
}
REPLACE_ATTRIBUTES, REPLACE_RELATIONS, SWAP, UNSEEN_TYPE, BALANCED_WORDS = BENCHMARKS.values()


class LargePictures:
    """An image source for people: an item's scene as a PNG, larger, without lamp and grain."""

    def read(self, path: str) -> bytes:
        stream = io.BytesIO()
        picture(path, 160, clean=True).save(stream, "PNG")
        return stream.getvalue()
