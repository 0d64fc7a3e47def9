"""SugarCrepe (Hsieh et al. 2023): hard negatives that a language model cannot tell from captions by their style.

Seven files of pairs on COCO val2017. Keys are not contiguous (one swap_obj record was withdrawn), so they, not
their order, name the items.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import cast

from equipoise.benchmarks.base import PAIR_CHANCE, Benchmark
from equipoise.benchmarks.reading import Raw, choose, read
from equipoise.items import Edit, ImageRef, Item, Operation, Target, texts

SPLITS: dict[str, int | None] = {
    "add_att": 692,
    "add_obj": 2062,
    "replace_att": 788,
    "replace_obj": 1652,
    "replace_rel": 1406,
    "swap_att": 666,
    "swap_obj": 245,
}
_TARGETS: dict[str, Target] = {"att": "attribute", "obj": "object", "rel": "relation"}


class _Record(Raw):
    filename: str
    caption: str
    negative_caption: str


def edit_of(split: str) -> Edit:
    """What a split's name says about its negatives: "swap_att" swaps attributes."""
    operation, target = split.split("_")
    return Edit(op=cast(Operation, operation), target=_TARGETS[target], by="ChatGPT")


def _items(split: str, key: str, record: _Record) -> Iterator[Item]:
    yield Item(
        id=f"sugarcrepe-{split}/{key}",
        image=ImageRef(path=record.filename),
        caption=record.caption,
        negatives=texts(record.negative_caption, edit=edit_of(split)),
        tags={"split": split, "group": split.split("_")[0]},
    )


def load(source: Path, splits: Sequence[str]) -> list[Item]:
    return read(choose("sugarcrepe", source, {s: f"{s}.json" for s in SPLITS}, splits), _Record, _items)


BENCHMARK = Benchmark(
    name="sugarcrepe",
    title="SugarCrepe: caption against one fluent hard negative",
    splits=SPLITS,
    chance=PAIR_CHANCE,
    ties="a tie is wrong (strictly greater wins)",
    licence="MIT (annotations); COCO images under their Flickr licences",
    citation="Hsieh et al. 2023, SugarCrepe: Fixing Hackable Benchmarks for Vision-Language Compositionality, NeurIPS",
    url="https://github.com/RAIVNLab/sugar-crepe",
    get="Clone the repository (the files are in data/); images: COCO val2017, --data is the folder val2017.",
    load=load,
    macro=("group",),
    notes="The headline is the mean over replace, swap and add of their plain accuracies, as later tables have it "
    "(vl_compo); the paper itself prints the seven splits. swap_obj holds 245 pairs; some tables still divide by 246.",
)
