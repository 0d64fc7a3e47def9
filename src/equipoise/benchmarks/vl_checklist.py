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

from equipoise.benchmarks.base import PAIR_CHANCE, Average, Benchmark, github
from equipoise.benchmarks.photos import SWIG, SWIG_LINK, VISUAL_GENOME, below
from equipoise.benchmarks.reading import Case, Raw, choose, read
from equipoise.data.items import ImageRef, Item, texts

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


def _items(split: str, key: str, record: _Record) -> Iterator[Case]:
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
    return read("vl-checklist", files, _Record, _items)


# The attribute files were corrected once: those of ae487f14 have other captions and give another REPLACE.
VISUAL_GENOME_FILES = (
    github(
        "om-ai-lab/VL-CheckList",
        "ae487f14d8c95699cc014181db13ebd6274ce547",
        "data/",
        [
            ("Relation/vg/action.json", 1_216_888, "2722201353c885670315f935d53cb4e08f462e629c3f88c73da9a286ea66d7a1"),
            ("Relation/vg/spatial.json", 2_753_305, "2582095a4b8515048ba2e33d37d2bffc109e6734924b47bf977236b7f9b72303"),
        ],
    )
    + github(
        "om-ai-lab/VL-CheckList",
        "e42e1d6be38af8981e6c97744f725685748c88b9",
        "data/",
        [
            ("Attribute/vg/action.json", 175_956, "a20b1ee682ab2fb62978cca3a95fc27aa6b35f9238ca7c8847f74671c40db7ba"),
            ("Attribute/vg/color.json", 1_040_049, "93e5d316cfc964c7b4bce2182c9916533ec3aa6e006830859af7c0d2de9f76c7"),
            ("Attribute/vg/size.json", 239_074, "0a2a929d9dce990cfd4b05299e2d2a7fe59b5c679a3e7f52419a5375ea42f24b"),
        ],
    )
    + github(
        "om-ai-lab/VL-CheckList",
        "0f7906839a27ebf58bdc66927523945f7680420e",
        "data/",
        [
            ("Attribute/vg/material.json", 226_906, "b2c1e312cba0a8efdc5113dd451e21f7fd9d0e96a222a5406ffa8dd67b30d094"),
            ("Attribute/vg/state.json", 84_899, "d13bc1292de364cd787fc651f4abc0ffaafe9fbf09ec8ce25af76bb349415a2e"),
        ],
    )
)
_KNOWN = {part.to for part in VISUAL_GENOME_FILES}
_OTHER_FILES = github(
    "om-ai-lab/VL-CheckList",
    "main",
    "data/",
    [(path, None, None) for split in SPLITS if (path := f"{split}.json") not in _KNOWN],
)

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
    get="Clone the repository (the files are in data/); images: one folder (--images) with vg/VG_100K/, vg/VG_100K_2/, "
    "swig/ (images_512 renamed) and hake/, as its DATASETS.md says. Several of HAKE's image links are dead.",
    load=load,
    downloads=(*VISUAL_GENOME_FILES, *_OTHER_FILES, *below("vg", *VISUAL_GENOME), SWIG),
    by_hand="Photos of HAKE as images/hake/: https://github.com/DirtyHarryLYL/HAKE/tree/master/Images\n" + SWIG_LINK,
    averages={
        "paper": Average(
            ("type", "test", "source", "file"), "Zhao et al. 2022: the mean of Object, Attribute, Relation"
        ),
        "vl_compo": Average(("type", "test", "source", "file"), "vl_compo's table of 202 models: as the paper"),
        "ce_clip": Average(("column", "test", "source", "file"), "Zhang et al. 2024, Table 2: the mean of nine tests"),
    },
    notes="The mean of Object, Attribute and Relation, each the mean of its tests, over their sources, over their "
    "files. CE-CLIP averages nine tests instead (75.1 for its model, where this gives 76.3). All "
    "records are scored; the original's cap of the first 1,000 records of a file is not applied.",
)
