"""ColorSwap (Burapacheep et al. 2024): two captions of the same words, the colours exchanged, and an image of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from equipoise.benchmarks.facts import described
from equipoise.benchmarks.reading import Case, Raw, check_splits, hub_files, read_through, two_by_two
from equipoise.data.items import Edit, Item


class _Record(Raw):
    id: int
    caption_1: str
    caption_2: str
    image_source: str | None = None
    caption_source: str | None = None


def _items(_split: str, _key: str, record: _Record) -> Iterator[Case]:
    yield two_by_two(
        str(record.id),
        (f"{record.id}_1.png", record.caption_1),
        (f"{record.id}_2.png", record.caption_2),
        {"image_source": record.image_source, "caption_source": record.caption_source},
        edit=Edit(op="swap", target="attribute"),
    )


def load(source: Path, splits: Sequence[str]) -> list[Item]:
    """From the hub's Parquet files of the test split, or from a JSONL file with their columns."""
    check_splits("colorswap", splits, ["test"])
    return read_through("colorswap", "test", hub_files("colorswap", source, ["test.jsonl"]), _Record, _items)


BENCHMARK = described("colorswap", load)
