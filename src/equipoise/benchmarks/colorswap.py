"""ColorSwap (Burapacheep et al. 2024): two captions of the same words, the colours exchanged, and an image of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from equipoise.benchmarks.base import GROUP_CHANCE, Benchmark
from equipoise.benchmarks.reading import Case, Raw, check_splits, hub_files, read_through, two_by_two
from equipoise.data.items import Edit, Item


class _Record(Raw):
    id: int
    caption_1: str
    caption_2: str
    image_source: str | None = None
    caption_source: str | None = None


def _items(_split: str, _key: str, record: _Record) -> Iterator[Case]:
    yield two_by_two(
        str(record.id),
        (f"{record.id}_1.png", record.caption_1),
        (f"{record.id}_2.png", record.caption_2),
        {"image_source": record.image_source, "caption_source": record.caption_source},
        edit=Edit(op="swap", target="attribute"),
    )


def load(source: Path, splits: Sequence[str]) -> list[Item]:
    """From the hub's Parquet files of the test split, or from a JSONL file with their columns."""
    check_splits("colorswap", splits, ["test"])
    return read_through("colorswap", "test", hub_files("colorswap", source, ["test.jsonl"]), _Record, _items)


BENCHMARK = Benchmark(
    name="colorswap",
    title="ColorSwap: two captions of the same words with the colours exchanged, an image of each",
    splits={"test": 300},
    chance=GROUP_CHANCE,
    ties="a tie is wrong (strictly greater wins)",
    licence="MIT; the images are made by diffusion models",
    citation="Burapacheep et al. 2024, ColorSwap: A Color and Word Order Dataset for Multimodal Evaluation, "
    "Findings of ACL",
    url="https://huggingface.co/datasets/stanfordnlp/colorswap",
    get="Accept the terms of stanfordnlp/colorswap on the hub (a login is needed) and download its Parquet files; "
    "--source is their folder (only the files of the test split: the other 700 examples are for training). The images "
    "are in them; write them to the folder --images, with the datasets library: for row in "
    "load_dataset('stanfordnlp/colorswap', split='test'): row['image_1'].save(f\"{row['id']}_1.png\"); "
    "row['image_2'].save(f\"{row['id']}_2.png\").",
    load=load,
    metrics=("groups",),
    notes="Text, image and group score as Winoground's. 14 of the 300 pairs differ in more than the order of their "
    "words (a/an, typing errors). Ids run over all 1,000 examples, so those of the test split have gaps.",
)
