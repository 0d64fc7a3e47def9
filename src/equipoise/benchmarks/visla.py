"""VISLA (Dumpala et al. 2024): two right captions in other words and one wrong one, generic and spatial.

The tables are not quoted: a quotation mark is a mark like any other. In the spatial file 12 rows have no negative; they
cannot be asked and are left out, said and counted. Its second reference is irrelevant on purpose (another object,
another place), so the semantically close one is the hard negative. In two rows that one is the first caption itself: no
model can win these.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar

from pydantic import Field

from equipoise.benchmarks.base import splits_of
from equipoise.benchmarks.reading import Case, Raw, choose, read
from equipoise.data.items import ImageRef, Item, texts

SPLITS = splits_of("visla")

log = logging.getLogger(__name__)

_FILES = {"generic": "Generic_VISLA.tsv", "spatial": "Spatial_VISLA.tsv"}


class _Generic(Raw):
    quoted: ClassVar[bool] = False
    filename: str
    caption: str
    second_positive: str = Field(alias="second positive")
    negative_caption: str


class _Spatial(Raw):
    quoted: ClassVar[bool] = False
    image: str
    sent1: str
    sent2: str
    close: str = Field(alias="Best reference (Semantically close)")


def _generic(_split: str, key: str, record: _Generic) -> Iterator[Case]:
    yield Case(
        key,
        image=ImageRef(path=record.filename),
        caption=record.caption,
        positives=texts(record.second_positive),
        negatives=texts(record.negative_caption),
    )


def load(source: Path, splits: Sequence[str]) -> list[Item]:
    files = choose("visla", source, _FILES, splits)
    left_out: list[str] = []

    def spatial(_split: str, key: str, record: _Spatial) -> Iterator[Case]:
        if not record.close.strip():
            left_out.append(key)
            return
        yield Case(
            key,
            image=ImageRef(path=record.image),
            caption=record.sent1,
            positives=texts(record.sent2),
            negatives=texts(record.close),
        )

    items: list[Item] = []
    for split, path in files.items():
        file = {split: path}
        items += (
            read("visla", file, _Generic, _generic) if split == "generic" else read("visla", file, _Spatial, spatial)
        )
    if left_out:
        log.warning(
            "visla: %d spatial rows have no negative and are left out (rows %s)", len(left_out), ", ".join(left_out)
        )
    return items
