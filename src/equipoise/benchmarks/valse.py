"""VALSE (Parcalabescu et al. 2022): one linguistic phenomenon per test, caption against foil.

The files hold every candidate; valid are those where at least two of three annotators chose the caption, and only
valid ones are loaded (some published numbers used all). Image names alone say where an image is from.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from equipoise.benchmarks.base import splits_of
from equipoise.benchmarks.reading import Case, Raw, choose, read
from equipoise.data.items import ImageRef, Item, texts

SPLITS = splits_of("valse")

PHENOMENA = {"plurals": "plurality", "action-replacement": "actions", "actant-swap": "actions", "foil-it": "foil-it"}
VALID = 2  # votes of three


class _Votes(Raw):
    caption: int


class _Record(Raw):
    dataset: str
    image_file: str
    caption: str
    foil: str
    mturk: _Votes


def phenomenon(split: str) -> str:
    return PHENOMENA.get(split, split.split("-")[0])


def image_path(record: _Record) -> str:
    """Each source has a folder of its own below the image root, called as its archive unpacks."""
    name = record.image_file
    for start, folder in (("v7w_", "visual7w"), ("COCO_train2014_", "train2014"), ("COCO_val2014_", "val2014")):
        if name.startswith(start):
            return f"{folder}/{name}"
    if name.startswith("VisualDialog_"):
        return f"VisualDialog_val2018/{name}"
    return f"images_512/{name}" if record.dataset.lower() == "swig" else f"val2017/{name}"


def _items(split: str, key: str, record: _Record) -> Iterator[Case]:
    if record.mturk.caption >= VALID:
        yield Case(
            key,
            image=ImageRef(path=image_path(record)),
            caption=record.caption,
            negatives=texts(record.foil),
            tags={"phenomenon": phenomenon(split)},
        )


def load(source: Path, splits: Sequence[str]) -> list[Item]:
    return read("valse", choose("valse", source, {s: f"{s}.json" for s in SPLITS}, splits), _Record, _items)
