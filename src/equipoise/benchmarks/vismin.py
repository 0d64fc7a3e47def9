"""VisMin (Awal et al. 2024): two images that differ in one thing (object, attribute, count, place), a caption of each.

Ids start again in every category, so an item is known by both.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from equipoise.benchmarks.base import GROUP_CHANCE, Average, Benchmark
from equipoise.benchmarks.reading import Case, Raw, check_splits, hub_files, read_through, two_by_two
from equipoise.data.items import Item


class _Record(Raw):
    id: int | str
    text_0: str
    text_1: str
    category: str


def _items(_split: str, _key: str, record: _Record) -> Iterator[Case]:
    key = f"{record.category}-{record.id}"
    yield two_by_two(
        key, (f"{key}_0.png", record.text_0), (f"{key}_1.png", record.text_1), {"category": record.category}
    )


def load(source: Path, splits: Sequence[str]) -> list[Item]:
    """From a JSONL file with the hub's columns, or from Parquet files with them."""
    check_splits("vismin", splits, ["test"])
    return read_through("vismin", "test", hub_files("vismin", source, ["vismin.jsonl"]), _Record, _items)


BENCHMARK = Benchmark(
    name="vismin",
    title="VisMin: two images that differ in one thing, a caption of each",
    splits={"test": 2084},
    chance=GROUP_CHANCE,
    ties="a tie is wrong (strictly greater wins)",
    licence="CC BY 4.0; made from COCO photos, which are under their Flickr licences",
    citation="Awal et al. 2024, VisMin: Visual Minimal-Change Understanding, NeurIPS",
    url="https://huggingface.co/datasets/mair-lab/vismin-bench",
    get="The hub's files are Arrow, saved by the datasets library; write texts and images out with it: for row in "
    "load_dataset('mair-lab/vismin-bench', split='test'): name = f\"{row['category']}-{row['id']}\"; "
    "row['image_0'].save(f'{name}_0.png'); row['image_1'].save(f'{name}_1.png'); and of each row a line "
    "{id, text_0, text_1, category} of JSON to vismin.jsonl. --source is the folder of vismin.jsonl, --images that of "
    "the images.",
    load=load,
    averages={"equipoise": Average(("category",), "ours: the authors' code prints the four categories and no average")},
    notes="object 579, attribute 294, counting 589, relation 622; ids start again in every category. Text, image and "
    "group score as Winoground's, for each category. A discussion on the hub says that images and captions of the "
    "release are mixed up; we could not check it, so look at some items first.",
)
