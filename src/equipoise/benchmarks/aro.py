"""ARO's Visual Genome Relation and Attribution (Yuksekgonul et al. 2023), with the averages behind its numbers.

A plain mean over the files gives other numbers than anybody published, which has cost many people days: VG-R is the
unweighted mean over relations after dropping symmetric and rare ones, VG-A over ordered attribute pairs with 25
items or more.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

from pydantic import Field

from equipoise.benchmarks.base import stored
from equipoise.benchmarks.reading import Case, Raw, choose, read
from equipoise.data.items import Edit, ImageRef, Item, texts

log = logging.getLogger(__name__)

KINDS = {word: kind for kind, words in stored("aro-vg-r")["tables"].items() for word in words.split("; ")}
JsonNumber = Annotated[float, Field(strict=False)]


class Record(Raw):
    """The common fields of both files; SWAP reads one of them as well."""

    image_path: str  # relative to the folder images of ARO's archive
    bbox_x: JsonNumber
    bbox_y: JsonNumber
    bbox_w: JsonNumber
    bbox_h: JsonNumber
    true_caption: str
    false_caption: str

    def image(self) -> ImageRef:
        return ImageRef(path=self.image_path, box=(self.bbox_x, self.bbox_y, self.bbox_w, self.bbox_h))


class _Relation(Record):
    relation_name: str


class Attribution(Record):
    attributes: Annotated[list[str], Field(min_length=2, max_length=2)]


def _case(key: str, record: Record, edit: Edit, tags: dict[str, str]) -> Case:
    return Case(
        key,
        image=record.image(),
        caption=record.true_caption,
        negatives=texts(record.false_caption, edit=edit),
        tags=tags,
    )


def load_relation(source: Path, splits: Sequence[str]) -> list[Item]:
    """The items of the 48 scored relations; those of the others are counted in the log and left out."""
    dropped: dict[str, int] = {}

    def build(_: str, key: str, record: _Relation) -> Iterator[Case]:
        name = record.relation_name
        if name in KINDS:
            edit = Edit(op="swap", target="object", by="rule")
            yield _case(key, record, edit, {"relation": name, "kind": KINDS[name]})
        else:
            dropped[name] = dropped.get(name, 0) + 1

    files = choose("aro-vg-r", source, {"test": "visual_genome_relation.json"}, splits)
    items = read("aro-vg-r", files, _Relation, build)
    log.info("aro-vg-r: %d items; %d of %d other relations left out", len(items), sum(dropped.values()), len(dropped))
    return items


def load_attribution(source: Path, splits: Sequence[str]) -> list[Item]:
    def build(_: str, key: str, record: Attribution) -> Iterator[Case]:
        edit = Edit(op="swap", target="attribute", by="rule")
        yield _case(key, record, edit, {"pair": "_".join(record.attributes)})

    files = choose("aro-vg-a", source, {"test": "visual_genome_attribution.json"}, splits)
    return read("aro-vg-a", files, Attribution, build)
