"""COLA, multi-object matching (Ray et al. 2023): two photos of Visual Genome and a caption of each.

The captions share objects and attributes, differently bound; they are not the same words in another order (10 of 210
are). The official score is the image score alone: each caption must prefer its own photo.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from pydantic import RootModel

from equipoise.benchmarks.reading import Case, choose, read, two_by_two
from equipoise.data.items import Item

_FILE = "COLA_multiobjects_matching_benchmark.json"


class _Record(RootModel[tuple[str, str, str, str]]):
    """[image, caption, image, caption]"""


def _photo(address: str) -> str:
    """The links point to a university's page; the last part is Visual Genome's own name of the photo."""
    return PurePosixPath(address).name


def _items(_split: str, key: str, record: _Record) -> Iterator[Case]:
    photo0, caption0, photo1, caption1 = record.root
    yield two_by_two(key, (_photo(photo0), caption0), (_photo(photo1), caption1), {})


def load(source: Path, splits: Sequence[str]) -> list[Item]:
    return read("cola", choose("cola", source, {"multi-objects": _FILE}, splits), _Record, _items)
