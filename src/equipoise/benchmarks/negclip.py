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

from equipoise.benchmarks.base import splits_of
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
    files = {split: f"{split}_neg_clip.tsv" for split in splits_of("negclip")}
    return read("negclip", choose("negclip", source, files, splits), _Row, _items)
