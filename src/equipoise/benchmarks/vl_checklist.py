"""VL-CheckList (Zhao et al. 2022): object, attribute and relation of a caption changed by rule.

The repository's own evaluation takes the first 1,000 records of each file and skips images that are missing
without a word. Neither is done here: all records are loaded, and the numbers of the first 1,000 are another benchmark.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Annotated

from pydantic import Field, RootModel

from equipoise.benchmarks.base import splits_of
from equipoise.benchmarks.reading import Case, Raw, choose, read
from equipoise.data.items import ImagePath, ImageRef, Item, Words, texts

SPLITS = splits_of("vl-checklist")

_FOLDERS = {"vg": "vg", "vaw": "vg", "swig": "swig", "hake": "hake"}  # VAW's images are Visual Genome's


class _Captions(Raw):
    POS: Annotated[list[Words], Field(min_length=1)]
    NEG: Annotated[list[Words], Field(min_length=1)]


class Record(RootModel[tuple[ImagePath, _Captions]]):
    """[path, captions]"""


@functools.cache
def tags_of(split: str) -> dict[str, str]:
    """Type, test, source and file of a split, by which the repository's corpus averages.

    `column` is one of the nine tests of CE-CLIP's Table 2, which has an object's three places (center, margin, mid) in
    one column and its three sizes in another. How it averages within a column it does not say; here as the corpus does.
    """
    path = PurePosixPath(split)
    kind, value = path.parts[0], path.name.split("_")[-1]
    where = path.name if "_" in path.name else path.parts[1]
    test = "_".join((*path.parts[: 2 if kind == "Object" else 1], value))
    column = "_".join(path.parts[:2]) if kind == "Object" else test
    return {"type": kind, "column": column, "test": test, "source": where.split("_")[0], "file": path.name}


def _items(split: str, key: str, record: Record) -> Iterator[Case]:
    name, captions = record.root
    tags = tags_of(split)
    yield Case(
        key,
        image=ImageRef(path=f"{_FOLDERS[tags['source']]}/{name}"),
        caption=captions.POS[0],  # SWiG's object files have three of each; the original, too, uses the first
        negatives=texts(captions.NEG[0]),
        tags=tags,
    )


def load(source: Path, splits: Sequence[str]) -> list[Item]:
    files = choose("vl-checklist", source, {s: f"{s}.json" for s in SPLITS}, splits)
    return read("vl-checklist", files, Record, _items)
