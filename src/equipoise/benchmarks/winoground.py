"""Winoground (Thrush et al. 2022): two images, two captions of the same words.

An example is one item: the first image and caption, the second caption as negative and the second image as negative
image. Text, image and group score ask all four pairs; Original accuracy asks of the first image alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from equipoise.benchmarks.facts import described
from equipoise.benchmarks.reading import Case, Raw, check_splits, hub_files, read_through, two_by_two
from equipoise.data.items import Item


class _Record(Raw):
    id: int
    caption_0: str
    caption_1: str
    image_0: str = ""
    image_1: str = ""
    tag: str | None = None
    collapsed_tag: str | None = None


def _items(_split: str, _key: str, record: _Record) -> Iterator[Case]:
    names = (record.image_0 or f"ex_{record.id}_img_0", record.image_1 or f"ex_{record.id}_img_1")
    first, second = (name if "." in name else f"{name}.png" for name in names)
    tags = {"tag": record.tag, "collapsed_tag": record.collapsed_tag}
    yield two_by_two(str(record.id), (first, record.caption_0), (second, record.caption_1), tags)


def load(source: Path, splits: Sequence[str]) -> list[Item]:
    """From `examples.jsonl`, or from the Parquet files of the hub's dataset."""
    check_splits("winoground", splits, ["test"])
    return read_through("winoground", "test", hub_files("winoground", source, ["examples.jsonl"]), _Record, _items)


BENCHMARK = described("winoground", load)
