"""SugarCrepe (Hsieh et al. 2023): hard negatives that a language model cannot tell from captions by their style.

Seven files of pairs on COCO val2017. Keys are not contiguous (one swap_obj record was withdrawn), so they, not
their order, name the items.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from equipoise.benchmarks.facts import described
from equipoise.benchmarks.reading import Case, Raw, choose, read
from equipoise.data.items import Edit, ImageRef, Item, Target, texts

_TARGETS: dict[str, Target] = {"att": "attribute", "obj": "object", "rel": "relation"}


class Record(Raw):
    filename: str
    caption: str
    negative_caption: str


def edit_of(split: str) -> Edit:
    """What a split's name says about its negatives: "swap_att" swaps attributes."""
    operation, target = split.split("_")
    return Edit(op=operation, target=_TARGETS[target], by="ChatGPT")


def cases(split: str, key: str, record: Record) -> Iterator[Case]:
    yield Case(
        key,
        image=ImageRef(path=record.filename),
        caption=record.caption,
        negatives=texts(record.negative_caption, edit=edit_of(split)),
        tags={"group": split.split("_")[0]},
    )


def load(source: Path, splits: Sequence[str]) -> list[Item]:
    files = choose("sugarcrepe", source, {s: f"{s}.json" for s in SPLITS}, splits)
    return read("sugarcrepe", files, Record, cases)


BENCHMARK = described("sugarcrepe", load)
SPLITS = BENCHMARK.splits
