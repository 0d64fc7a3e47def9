"""SugarCrepe++ (Dumpala et al. 2024): two right captions that say the same in other words, and one wrong one.

The second right caption is a hard positive, so ITT is our Augmented accuracy. TOT asks the text tower alone
whether the two right captions are closest; it is computed from text-text cosines during evaluation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from equipoise.benchmarks import sugarcrepe
from equipoise.benchmarks.facts import described
from equipoise.benchmarks.reading import Case, Raw, choose, read
from equipoise.data.items import ImageRef, Item, texts


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

BENCHMARK = described("sugarcrepe-pp", load)
SPLITS = BENCHMARK.splits
