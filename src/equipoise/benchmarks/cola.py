"""COLA, multi-object matching (Ray et al. 2023): two photos of Visual Genome and a caption of each.

The captions share objects and attributes, differently bound; they are not the same words in another order (10 of 210
are). The official score is the image score alone: each caption must prefer its own photo.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from pydantic import model_validator

from equipoise.benchmarks.facts import described
from equipoise.benchmarks.reading import Case, Raw, choose, read, two_by_two
from equipoise.data.items import Item

_FILE = "COLA_multiobjects_matching_benchmark.json"
_FIELDS = ("image_0", "caption_0", "image_1", "caption_1")


class _Record(Raw):
    image_0: str
    caption_0: str
    image_1: str
    caption_1: str

    @model_validator(mode="before")
    @classmethod
    def _named(cls, value: Any) -> Any:
        if not isinstance(value, list) or len(value) != len(_FIELDS):
            raise ValueError("expected a list of four: image, caption, image, caption")
        return dict(zip(_FIELDS, value, strict=True))


def _photo(address: str) -> str:
    """The links point to a university's page; the last part is Visual Genome's own name of the photo."""
    return PurePosixPath(address).name


def _items(_split: str, key: str, record: _Record) -> Iterator[Case]:
    yield two_by_two(key, (_photo(record.image_0), record.caption_0), (_photo(record.image_1), record.caption_1), {})


def load(source: Path, splits: Sequence[str]) -> list[Item]:
    return read("cola", choose("cola", source, {"multi-objects": _FILE}, splits), _Record, _items)


BENCHMARK = described("cola", load)
