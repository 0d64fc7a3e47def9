"""BiVLC (Miranda et al. 2024): SugarCrepe with an image for the wrong caption too, made by a diffusion model.

A row is one item: the COCO photo and its caption, the wrong caption as negative, the image made from it as negative
image. The hub's rows have no names, so items and their images go by the number of the row: the photo is
<row>_pos.png, the made image <row>_neg.png. Not by caption: one pair of captions is there twice. The tables of scores
that the authors publish have the same rows in the same columns and read the same (their image columns are addresses
in somebody's memory).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from equipoise.benchmarks import sugarcrepe
from equipoise.benchmarks.facts import described
from equipoise.benchmarks.reading import Case, Raw, check_splits, hub_files, read_through, two_by_two
from equipoise.data.items import Item


class Record(Raw):
    caption: str
    negative_caption: str
    type: str
    subtype: str


def cases(_split: str, key: str, record: Record) -> Iterator[Case]:
    kind = f"{record.type}_{record.subtype}"
    yield two_by_two(
        key,
        (f"{key}_pos.png", record.caption),
        (f"{key}_neg.png", record.negative_caption),
        {"type": record.type, "subtype": kind},
        edit=sugarcrepe.edit_of(kind) if kind in sugarcrepe.SPLITS else None,
    )


def load(source: Path, splits: Sequence[str]) -> list[Item]:
    """From the hub's Parquet files, or from any table with their columns, in their order."""
    check_splits("bivlc", splits, ["test"])
    files = hub_files("bivlc", source, ["bivlc.jsonl", "bivlc.csv", "BiVLC_ViT-B-32.csv"])
    return read_through("bivlc", "test", files, Record, cases)


BENCHMARK = described("bivlc", load)
