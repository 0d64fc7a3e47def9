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

from equipoise.benchmarks.base import PAIR_CHANCE, Benchmark
from equipoise.benchmarks.reading import Raw, choose, read
from equipoise.items import ImageRef, Item, texts

_COUNTS = {
    "Attribute/vg/action": 1_892,
    "Attribute/vg/color": 11_569,
    "Attribute/vg/material": 2_470,
    "Attribute/vg/size": 2_695,
    "Attribute/vg/state": 941,
    "Attribute/vaw/action": 3_039,
    "Attribute/vaw/material": 11_835,
    "Attribute/vaw/size": 15_321,
    "Attribute/vaw/state": 4_939,
    "Object/Location/hake_location/hake_obj_margin": 10_062,
    "Object/Location/vg_location/vg_obj_margin": 8_291,
    "Object/Location/vg_location/vg_subj_center": 25_383,
    "Object/Location/vg_location/vg_subj_margin": 5_974,
    "Object/Location/vg_location/vg_subj_mid": 26_294,
    "Object/Size/hake_size/hake_obj_medium": 30_910,
    "Object/Size/hake_size/hake_obj_small": 6_210,
    "Object/Size/vg_size/vg_obj_medium": 30_725,
    "Object/Size/vg_size/vg_obj_small": 13_702,
    "Object/Size/vg_size/vg_subj_large": 26_167,
    "Object/Size/vg_size/vg_subj_medium": 20_930,
    "Object/Size/vg_size/vg_subj_small": 10_554,
    "Relation/swig_action": 25_150,
    "Relation/vg/action": 12_733,
    "Relation/vg/spatial": 30_650,
}
_OBJECTS = {"Location": ("center", "margin", "mid"), "Size": ("large", "medium", "small")}
_SWIG = ("agent", "destination", "item", "tool")


def _names() -> Iterator[str]:
    """Every file that the repository's corpus names, without its .json."""
    for source in ("vg", "vaw"):
        yield from (f"Attribute/{source}/{test}" for test in ("action", "color", "material", "size", "state"))
    for kind, values in _OBJECTS.items():
        for value in values:
            yield f"Object/{kind}/hake_{kind.lower()}/hake_obj_{value}"
            yield from (f"Object/{kind}/swig_{kind.lower()}/swig_{role}/swig_{role}_{value}" for role in _SWIG)
            yield from (f"Object/{kind}/vg_{kind.lower()}/vg_{role}_{value}" for role in ("obj", "subj"))
    yield from ("Relation/hake_action", "Relation/swig_action", "Relation/vg/action", "Relation/vg/spatial")


SPLITS: dict[str, int | None] = {name: _COUNTS.get(name) for name in _names()}
_FOLDERS = {"vg": "vg", "vaw": "vg", "swig": "swig", "hake": "hake"}  # VAW's images are Visual Genome's


class _Captions(Raw):
    POS: Annotated[list[str], Field(min_length=1)]
    NEG: Annotated[list[str], Field(min_length=1)]


class _Record(RootModel[tuple[str, _Captions]]):
    """[path, captions]"""


@functools.cache
def tags_of(split: str) -> dict[str, str]:
    """Type, test, source and file of a split, by which the repository's corpus averages."""
    path = PurePosixPath(split)
    kind, value = path.parts[0], path.name.split("_")[-1]
    where = path.name if "_" in path.name else path.parts[1]
    test = "_".join((*path.parts[: 2 if kind == "Object" else 1], value))
    return {"split": split, "type": kind, "test": test, "source": where.split("_")[0], "file": path.name}


def _items(split: str, key: str, record: _Record) -> Iterator[Item]:
    name, captions = record.root
    tags = tags_of(split)
    yield Item(
        id=f"vl-checklist-{split}/{key}",
        image=ImageRef(path=f"{_FOLDERS[tags['source']]}/{name}"),
        caption=captions.POS[0],  # SWiG's object files have three of each; the original, too, uses the first
        negatives=texts(captions.NEG[0]),
        tags=dict(tags),
    )


def load(source: Path, splits: Sequence[str]) -> list[Item]:
    return read(choose("vl-checklist", source, {s: f"{s}.json" for s in SPLITS}, splits), _Record, _items)


BENCHMARK = Benchmark(
    name="vl-checklist",
    title="VL-CheckList: object, attribute and relation changed by rule",
    splits=SPLITS,
    chance=PAIR_CHANCE,
    ties="a tie is wrong in the itc task (strictly greater wins)",
    licence="none stated (annotations); images under the licences of Visual Genome, SWiG and HAKE",
    citation="Zhao et al. 2022, VL-CheckList: Evaluating Pre-trained Vision-Language Models with Objects, Attributes "
    "and Relations, EMNLP demonstrations",
    url="https://github.com/om-ai-lab/VL-CheckList",
    get="Clone the repository (the files are in data/); images: one folder (--data) with vg/VG_100K/, vg/VG_100K_2/, "
    "swig/ (images_512 renamed) and hake/, as its DATASETS.md says. Several of HAKE's image links are dead.",
    load=load,
    macro=("type", "test", "source", "file"),
    notes="The mean of Object, Attribute and Relation, each the mean of its tests, over their sources, over their "
    "files. All records are scored; the original's cap of the first 1,000 records of a file is not applied.",
)
