"""NegCLIP's tables (Yuksekgonul et al. 2023): COCO captions with swapped-word negatives and hard images.

Made for training; as a benchmark it asks whether a caption beats its own swaps. Hard images are named by row of the
same file; the tag `hard_images` holds their ids, as a JSON list, for training. Negatives are re-joined tokens
("a yak ."), which sets them apart from captions by their style alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator, Field

from equipoise.benchmarks.aro import CITATION, URL
from equipoise.benchmarks.base import Benchmark
from equipoise.benchmarks.reading import Raw, choose, literal_list, read
from equipoise.items import Edit, ImageRef, Item, texts


class _Row(Raw):
    title: str
    filepath: str
    neg_caption: Annotated[list[str], BeforeValidator(literal_list), Field(min_length=1)]
    neg_image: Annotated[list[int], BeforeValidator(literal_list)]


def _items(split: str, key: str, row: _Row) -> Iterator[Item]:
    yield Item(
        id=f"negclip-{split}/{key}",
        image=ImageRef(path=row.filepath),
        caption=row.title,
        negatives=texts(*row.neg_caption, edit=Edit(op="swap", by="spaCy spans")),
        tags={"split": split, "hard_images": json.dumps([f"negclip-{split}/{number}" for number in row.neg_image])},
    )


def load(source: Path, splits: Sequence[str]) -> list[Item]:
    files = {split: f"{split}_neg_clip.tsv" for split in BENCHMARK.splits}
    return read(choose("negclip", source, files, splits), _Row, _items)


BENCHMARK = Benchmark(
    name="negclip",
    title="NegCLIP: COCO caption against swaps of its own words",
    splits={"train": None, "valid": 4_839},
    chance={"original": 0.4232},
    ties="not evaluated in the paper",
    licence="MIT (tables); captions CC BY 4.0; COCO images under their Flickr licences",
    citation=CITATION,
    url=URL,
    get="temp_data/ of the ARO repository (train_neg_clip.tsv, valid_neg_clip.tsv); images: COCO 2014 as "
    "coco/train2014 and coco/val2014 below --data.",
    load=load,
    notes="1 to 5 negatives a caption; the chance is that of the valid file (2,891 captions with 1, 1,418 with 2, 480 "
    "with 3, 47 with 4, 3 with 5).",
)
