"""SugarCrepe++ (Dumpala et al. 2024): two right captions that say the same in other words, and one wrong one.

The second right caption is a hard positive, so ITT is our Augmented accuracy. TOT asks the text tower alone
whether the two right captions are closest; it is computed from text-text cosines during evaluation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from equipoise.benchmarks import sugarcrepe
from equipoise.benchmarks.base import TRIPLE_CHANCE, Average, Benchmark, github
from equipoise.benchmarks.photos import COCO_VAL2017
from equipoise.benchmarks.reading import Case, Raw, choose, read
from equipoise.data.items import ImageRef, Item, texts

SPLITS: dict[str, int | None] = {
    "replace_att": 788,
    "replace_obj": 1652,
    "replace_rel": 1406,
    "swap_att": 666,
    "swap_obj": 245,
}


class Record(Raw):
    id: int
    filename: str
    caption: str
    caption2: str
    negative_caption: str


def cases(split: str, _: str, record: Record) -> Iterator[Case]:
    yield Case(
        str(record.id),
        image=ImageRef(path=record.filename),
        caption=record.caption,
        positives=texts(record.caption2),
        negatives=texts(record.negative_caption, edit=sugarcrepe.edit_of(split)),
    )


def load(source: Path, splits: Sequence[str]) -> list[Item]:
    files = choose("sugarcrepe-pp", source, {s: f"{s}.json" for s in SPLITS}, splits)
    return read("sugarcrepe-pp", files, Record, cases)


# data/ and VLMs/data/ hold the same files; of each the copy that could be compared.
_FILES = github(
    "Sri-Harsha/scpp",
    "cfdcd827e2725427752fdc582f82d1695d983417",
    "data/",
    [
        ("replace_att.json", 226_275, "6826413592894754eeca02aeebbcbbc8b95a7456998abcc714e71c033ce6fe87"),
        ("replace_rel.json", 392_738, "040fb95d3f0619bf515db60879e99709a87a5e9b4f524ec3403b127243480fd4"),
    ],
) + github(
    "Sri-Harsha/scpp",
    "a70a831f6ee3f8233f177fa61e1564f5ad3b82d2",
    "VLMs/data/",
    [
        ("replace_obj.json", 456_601, "5c6dc499ec8f511a8aa4ec1b7b5eb0eca90317488abe36ec39573355e2d361ab"),
        ("swap_att.json", 198_206, "450d0fd9fcad3e6f44950dc634e7f901ab1c6d9c60a569ade5ae8ffb3d203ad8"),
        ("swap_obj.json", None, None),
    ],
)

BENCHMARK = Benchmark(
    name="sugarcrepe-pp",
    title="SugarCrepe++: two right captions against one wrong one",
    splits=SPLITS,
    chance={**TRIPLE_CHANCE, "tot": 1 / 3},
    ties="a tie is wrong (strictly greater wins)",
    licence="MIT (annotations); COCO images under their Flickr licences",
    citation="Dumpala et al. 2024, SugarCrepe++ Dataset: Vision-Language Model Sensitivity to Semantic and Lexical "
    "Alterations, NeurIPS",
    url="https://github.com/Sri-Harsha/scpp",
    get="Clone the repository (the files are in data/); images: COCO val2017, --images is the folder val2017.",
    load=load,
    downloads=(*_FILES, COCO_VAL2017),
    averages={"equipoise": Average(("split",), "ours: the paper prints the five splits and no average")},
    metrics=("tot",),
    notes="The paper prints the five splits; the headline is their unweighted mean. ITT is Augmented accuracy.",
)
