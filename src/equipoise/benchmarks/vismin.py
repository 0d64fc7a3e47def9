"""VisMin (Awal et al. 2024): two images that differ in one thing (object, attribute, count, place), a caption of each.

Ids start again in every category, so an item is known by both.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from equipoise.benchmarks.facts import described
from equipoise.benchmarks.reading import Case, Raw, check_splits, hub_files, read_through, two_by_two
from equipoise.data.items import Item


class _Record(Raw):
    id: int | str
    text_0: str
    text_1: str
    category: str


def _items(_split: str, _key: str, record: _Record) -> Iterator[Case]:
    key = f"{record.category}-{record.id}"
    yield two_by_two(
        key, (f"{key}_0.png", record.text_0), (f"{key}_1.png", record.text_1), {"category": record.category}
    )


def load(source: Path, splits: Sequence[str]) -> list[Item]:
    """From a JSONL file with the hub's columns, or from Parquet files with them."""
    check_splits("vismin", splits, ["test"])
    return read_through("vismin", "test", hub_files("vismin", source, ["vismin.jsonl"]), _Record, _items)


BENCHMARK = described("vismin", load)
