"""VALSE (Parcalabescu et al. 2022): one linguistic phenomenon a test, caption against foil.

The files hold every candidate; valid are those where at least two of three annotators chose the caption, and only
valid ones are loaded (some published numbers used all). Image names alone say where an image is from.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from equipoise.benchmarks.base import PAIR_CHANCE, Benchmark
from equipoise.benchmarks.reading import Raw, choose, read
from equipoise.items import ImageRef, Item, texts

SPLITS: dict[str, int | None] = {
    "existence": 505,
    "plurals": 851,
    "counting-hard": 868,
    "counting-small-quant": 900,
    "counting-adversarial": 691,
    "relations": 535,
    "action-replacement": 648,
    "actant-swap": 949,
    "coreference-standard": 708,
    "coreference-hard": 104,
    "foil-it": 943,
}
PHENOMENA = {
    "plurals": "plurality",
    "action-replacement": "actions",
    "actant-swap": "actions",
    "foil-it": "foil-it",
}
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


def _items(split: str, key: str, record: _Record) -> Iterator[Item]:
    if record.mturk.caption >= VALID:
        yield Item(
            id=f"valse-{split}/{key}",
            image=ImageRef(path=image_path(record)),
            caption=record.caption,
            negatives=texts(record.foil),
            tags={"split": split, "phenomenon": phenomenon(split)},
        )


def load(source: Path, splits: Sequence[str]) -> list[Item]:
    return read(choose("valse", source, {s: f"{s}.json" for s in SPLITS}, splits), _Record, _items)


BENCHMARK = Benchmark(
    name="valse",
    title="VALSE: caption against foil, by linguistic phenomenon",
    splits=SPLITS,
    chance=PAIR_CHANCE,
    ties="a tie is wrong in the pairwise accuracy acc_r",
    licence="MIT (annotations); images under the licences of COCO, Visual7W, SWiG and VisDial",
    citation="Parcalabescu et al. 2022, VALSE: A Task-Independent Benchmark for Vision and Language Models Centered on "
    "Linguistic Phenomena, ACL",
    url="https://github.com/Heidelberg-NLP/VALSE",
    get="Clone the repository (the files are in data/); images: one folder (--data) with visual7w/ (v7w_*.jpg), "
    "val2017/, train2014/ and val2014/ (COCO), images_512/ (SWiG) and VisualDialog_val2018/.",
    load=load,
    macro=("phenomenon", "split"),
    notes="The pairwise accuracy acc_r. The headline is the mean over seven phenomena, each the mean of its splits; "
    "that is what vl_compo's table of 202 models uses (recomputed to 1e-8).",
)
