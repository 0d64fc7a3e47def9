"""Winoground (Thrush et al. 2022): two images, two captions of the same words.

An example becomes two items that share the tag `pair`: each image with its own caption against the other's. Text,
image and group score are computed from the pair.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from equipoise.benchmarks.base import Benchmark
from equipoise.benchmarks.reading import Case, Raw, check_splits, choose, read
from equipoise.items import ImageRef, Item, texts


class _Record(Raw):
    id: int
    caption_0: str
    caption_1: str
    image_0: str = ""
    image_1: str = ""
    tag: str | None = None
    collapsed_tag: str | None = None


def _items(_split: str, _key: str, record: _Record) -> Iterator[Case]:
    captions, names = (record.caption_0, record.caption_1), (record.image_0, record.image_1)
    for this, other in ((0, 1), (1, 0)):
        name = names[this] or f"ex_{record.id}_img_{this}"
        tags = {"pair": str(record.id), "tag": record.tag, "collapsed_tag": record.collapsed_tag}
        yield Case(
            f"{record.id}-{this}",
            image=ImageRef(path=name if "." in name else f"{name}.png"),
            caption=captions[this],
            negatives=texts(captions[other]),
            tags={key: value for key, value in tags.items() if value},
        )


def load(source: Path, splits: Sequence[str]) -> list[Item]:
    """From `examples.jsonl`, or from the one Parquet file of the hub's dataset."""
    check_splits("winoground", splits, ["test"])
    parquet = sorted(source.rglob("*.parquet")) if source.is_dir() else []
    if len(parquet) == 1 and not (source / "examples.jsonl").exists():
        return read("winoground", {"test": parquet[0]}, _Record, _items)
    files = choose("winoground", source, {"test": "examples.jsonl"}, splits)
    return read("winoground", files, _Record, _items)


BENCHMARK = Benchmark(
    name="winoground",
    title="Winoground: two images, two captions of the same words",
    splits={"test": 800},
    chance={"original": 1 / 2, "text": 1 / 4, "image": 1 / 4, "group": 1 / 6},
    ties="a tie is wrong (strictly greater wins); CLIP_benchmark takes the first of a tie instead",
    licence="Meta's Winoground licence: research only, images by Getty",
    citation="Thrush et al. 2022, Winoground: Probing Vision and Language Models for Visio-Linguistic "
    "Compositionality, CVPR",
    url="https://huggingface.co/datasets/facebook/winoground",
    get="Accept the terms on the hub and download the dataset. --source is the folder of examples.jsonl or of the "
    "Parquet file; --data is a folder with the images as ex_<id>_img_0.png and ex_<id>_img_1.png (images.zip has them "
    "so; from Parquet: row['image_0'].save(f\"ex_{row['id']}_img_0.png\") with the datasets library).",
    load=load,
    metrics=("groups",),
    notes="400 examples, two items each.",
)
