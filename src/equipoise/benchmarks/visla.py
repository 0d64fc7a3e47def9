"""VISLA (Dumpala et al. 2024): two right captions in other words and one wrong one, generic and spatial.

The tables are not quoted: a quotation mark is a mark like any other. In the spatial file 12 rows have no negative; they
cannot be asked and are left out, said and counted. Its second reference is irrelevant on purpose (another object,
another place), so the semantically close one is the hard negative. In two rows that one is the first caption itself: no
model can win these.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar

from pydantic import Field

from equipoise.benchmarks.base import TRIPLE_CHANCE, Average, Benchmark, github
from equipoise.benchmarks.photos import COCO_VAL2017
from equipoise.benchmarks.reading import Case, Raw, choose, read
from equipoise.data.items import ImageRef, Item, texts

log = logging.getLogger(__name__)

SPLITS: dict[str, int | None] = {"generic": 973, "spatial": 640}
_FILES = {"generic": "Generic_VISLA.tsv", "spatial": "Spatial_VISLA.tsv"}


class _Generic(Raw):
    quoted: ClassVar[bool] = False
    filename: str
    caption: str
    second_positive: str = Field(alias="second positive")
    negative_caption: str


class _Spatial(Raw):
    quoted: ClassVar[bool] = False
    image: str
    sent1: str
    sent2: str
    close: str = Field(alias="Best reference (Semantically close)")


def _generic(_split: str, key: str, record: _Generic) -> Iterator[Case]:
    yield Case(
        key,
        image=ImageRef(path=record.filename),
        caption=record.caption,
        positives=texts(record.second_positive),
        negatives=texts(record.negative_caption),
    )


def load(source: Path, splits: Sequence[str]) -> list[Item]:
    files = choose("visla", source, _FILES, splits)
    left_out: list[str] = []

    def spatial(_split: str, key: str, record: _Spatial) -> Iterator[Case]:
        if not record.close.strip():
            left_out.append(key)
            return
        yield Case(
            key,
            image=ImageRef(path=record.image),
            caption=record.sent1,
            positives=texts(record.sent2),
            negatives=texts(record.close),
        )

    items: list[Item] = []
    for split, path in files.items():
        one = {split: path}
        items += read("visla", one, _Generic, _generic) if split == "generic" else read("visla", one, _Spatial, spatial)
    if left_out:
        log.warning(
            "visla: %d spatial rows have no negative and are left out (rows %s)", len(left_out), ", ".join(left_out)
        )
    return items


BENCHMARK = Benchmark(
    name="visla",
    title="VISLA: two right captions against one wrong one, generic and spatial",
    splits=SPLITS,
    chance={**TRIPLE_CHANCE, "tot": 1 / 3},
    ties="a tie is wrong (strictly greater wins)",
    licence="none stated for the annotations; COCO images under their Flickr licences",
    citation="Dumpala et al. 2024, VISLA Benchmark: Evaluating Embedding Sensitivity to Semantic and Lexical "
    "Alterations, arXiv:2404.16365",
    url="https://github.com/Sri-Harsha/visla_benchmark",
    get="Clone the repository (the files are in data/); images: COCO val2017 for generic; spatial uses those of Visual "
    "Spatial Reasoning (COCO train2017 and val2017 in one folder). --images is that folder.",
    load=load,
    downloads=(
        *github(
            "Sri-Harsha/visla_benchmark",
            "adedd6974a3448ac9881466f801483dda13282e1",
            "data/",
            [
                ("Generic_VISLA.tsv", 186_537, "99cad867a688d70af10e08ed2548720c95f88d774fb3e5e41bf6fddcab3fc6a6"),
                ("Spatial_VISLA.tsv", 104_032, "f1ec14db70183bf6748cf71324e98062f9f7c395d8202f60dbfabb7a6f1ab891"),
            ],
        ),
        COCO_VAL2017,
    ),
    by_hand="Photos of train2017 that the spatial split needs, next to those of val2017.",
    averages={"equipoise": Average(("split",), "ours: the paper prints each part and no average")},
    metrics=("tot",),
    notes="At least 846 of the 973 generic (image, caption, negative) triples are SugarCrepe++'s, 786 with the same "
    "second caption (case aside, four of its five files compared): never average the two benchmarks. spatial has 652 "
    "rows, 12 of them without a negative. ITT is Augmented accuracy.",
)
