"""CREPE (Ma et al. 2023): the caption of a Visual Genome region ranked among several hard negatives.

Systematicity asks about compounds seen or not seen in a training corpus, productivity about captions of growing
length. Negatives stand in the tables as Python lists, in one row of ten as Python sets (whose order means nothing: they
are sorted here); both are parsed as data and never run. Some rows hold their caption among the negatives, a forced tie:
they are counted here, and named by `bench check`.
"""

from __future__ import annotations

import ast
import itertools
import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import BeforeValidator, Field

from equipoise.benchmarks.ceilings import as_read
from equipoise.benchmarks.facts import described
from equipoise.benchmarks.reading import Case, Raw, choose, literal_list, read
from equipoise.data.items import ImageRef, Item, texts

log = logging.getLogger(__name__)


def _texts(text: str) -> list[Any]:
    """A list, or a set in a fixed order, written as text."""
    if text.lstrip()[:1] != "{":
        return literal_list(text)
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        value = None
    return sorted(value, key=str) if isinstance(value, set) else literal_list(text)


Number = Annotated[float, Field(strict=False)]
Texts = Annotated[list[str], BeforeValidator(_texts)]


class _Row(Raw):
    image_id: str
    caption: str
    x: Number
    y: Number
    width: Number
    height: Number
    negatives: Texts


class _Atom(_Row):
    negatives: Texts = Field(alias="valid_hard_negs_atom")


class _Compound(_Row):
    negatives: Texts = Field(alias="valid_hard_negs_comp")


class _Productivity(_Row):
    negatives: Texts = Field(alias="hard_negs")


class _Table(NamedTuple):
    """Where the negatives of a split are, and what kind of split it is."""

    file: str
    row: type[_Row]
    tags: dict[str, str]


def _tables() -> Iterator[tuple[str, _Table]]:
    for seen, corpus in itertools.product(("seen", "unseen"), ("cc12m", "yfcc", "laion")):
        file = f"syst_hard_negatives/syst_vg_hard_negs_{seen}_compounds_in_{corpus}.csv"
        for kind, row in (("atom", _Atom), ("comp", _Compound)):
            tags = {"kind": "systematicity", "type": f"{corpus}-{kind}", "compounds": seen}
            yield f"syst_{seen}_{corpus}_{kind}", _Table(file, row, tags)
    for kind, length in itertools.product(("atom", "swap", "negate"), range(4, 13)):
        file = f"prod_hard_negatives/{kind}/prod_vg_hard_negs_{kind}_complexity_{length}.csv"
        tags = {"kind": "productivity", "type": kind, "complexity": str(length)}
        yield f"prod_{kind}_{length}", _Table(file, _Productivity, tags)


TABLES = dict(_tables())


def load(source: Path, splits: Sequence[str]) -> list[Item]:
    root = source / "crepe" if (source / "crepe").is_dir() else source
    files = choose("crepe", root, {split: table.file for split, table in TABLES.items()}, splits)
    folders = {
        path.stem: folder for folder in ("VG_100K", "VG_100K_2") for path in (source / folder).glob("*.jpg")
    }  # the tables do not say in which of its two folders Visual Genome keeps an image
    empty: list[str] = []
    tied: list[str] = []

    def build(split: str, key: str, row: _Row) -> Iterator[Case]:
        if not row.negatives:
            empty.append(f"{split}/{key}")
            return
        if as_read(row.caption) in map(as_read, row.negatives):
            tied.append(f"{split}/{key}")
        name = f"{row.image_id}.jpg"
        path = f"{folders[row.image_id]}/{name}" if row.image_id in folders else name
        yield Case(
            key,
            image=ImageRef(path=path, box=(row.x, row.y, row.width, row.height)),
            caption=row.caption,
            negatives=texts(*row.negatives),
            tags=TABLES[split].tags,
        )

    items = [
        item
        for row in (_Atom, _Compound, _Productivity)
        if (chosen := {split: path for split, path in files.items() if TABLES[split].row is row})
        for item in read("crepe", chosen, row, build)
    ]
    if empty:
        log.warning("crepe: %d rows have no negative and are left out (%s ...)", len(empty), empty[0])
    if tied:
        log.warning(
            "crepe: %d rows have their caption among their negatives, and cannot be won (%s ...)", len(tied), tied[0]
        )
    return items


BENCHMARK = described("crepe", load, splits=dict.fromkeys(TABLES))
