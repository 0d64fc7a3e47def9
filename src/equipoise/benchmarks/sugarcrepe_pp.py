"""SugarCrepe++ (Dumpala et al. 2024): two right captions that say the same in other words, and one wrong one.

The second right caption is a hard positive, so ITT is our Augmented accuracy. TOT asks the text tower alone
whether the two right captions are closest; it is computed from text-text cosines during evaluation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from equipoise.benchmarks import sugarcrepe
from equipoise.benchmarks.base import TRIPLE_CHANCE, Benchmark
from equipoise.benchmarks.reading import Raw, choose, read
from equipoise.items import ImageRef, Item, texts

SPLITS: dict[str, int | None] = {
    "replace_att": 788,
    "replace_obj": 1652,
    "replace_rel": 1406,
    "swap_att": 666,
    "swap_obj": 245,
}


class _Record(Raw):
    id: int
    filename: str
    caption: str
    caption2: str
    negative_caption: str


def _items(split: str, _: str, record: _Record) -> Iterator[Item]:
    yield Item(
        id=f"sugarcrepe-pp-{split}/{record.id}",
        image=ImageRef(path=record.filename),
        caption=record.caption,
        positives=texts(record.caption2),
        negatives=texts(record.negative_caption, edit=sugarcrepe.edit_of(split)),
        tags={"split": split},
    )


def load(source: Path, splits: Sequence[str]) -> list[Item]:
    return read(choose("sugarcrepe-pp", source, {s: f"{s}.json" for s in SPLITS}, splits), _Record, _items)


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
    get="Clone the repository (the files are in data/); images: COCO val2017, --data is the folder val2017.",
    load=load,
    macro=("split",),
    metrics=("tot",),
    notes="The paper prints the five splits; the headline is their unweighted mean. ITT is Augmented accuracy.",
)
