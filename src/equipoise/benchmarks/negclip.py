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
from equipoise.benchmarks.base import Benchmark, github
from equipoise.benchmarks.photos import COCO_VAL2014, below
from equipoise.benchmarks.reading import Case, Raw, choose, item_id, literal_list, read
from equipoise.data.items import Edit, ImageRef, Item, texts


class _Row(Raw):
    title: str
    filepath: str
    neg_caption: Annotated[list[str], BeforeValidator(literal_list), Field(min_length=1)]
    neg_image: Annotated[list[int], BeforeValidator(literal_list)]


def _items(split: str, key: str, row: _Row) -> Iterator[Case]:
    yield Case(
        key,
        image=ImageRef(path=row.filepath),
        caption=row.title,
        negatives=texts(*row.neg_caption, edit=Edit(op="swap", by="spaCy spans")),
        tags={"hard_images": json.dumps([item_id("negclip", split, number) for number in row.neg_image])},
    )


def load(source: Path, splits: Sequence[str]) -> list[Item]:
    files = {split: f"{split}_neg_clip.tsv" for split in BENCHMARK.splits}
    return read("negclip", choose("negclip", source, files, splits), _Row, _items)


_FILES = github(
    "mertyg/vision-language-models-are-bows",
    "3554a013091a286954deedc2bdb9aced7c831382",
    "temp_data/",
    [
        ("valid_neg_clip.tsv", 1_018_978, "a9d00160062384faa2423df728ee3c15db05503fcbb28c212de11a6c8741eff4"),
    ],
)

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
    "coco/train2014 and coco/val2014 below --images.",
    load=load,
    downloads=(*_FILES, *below("coco", COCO_VAL2014)),  # as the file writes its paths
    by_hand="The training table, train_neg_clip.tsv, and COCO's train2014 as images/coco/train2014/, if you want to "
    "train: https://github.com/mertyg/vision-language-models-are-bows",
    notes="1 to 5 negatives per caption; the chance is that of the valid file (2,891 captions with 1, 1,418 with 2, "
    "480 with 3, 47 with 4, 3 with 5).",
)
