"""CREPE (Ma et al. 2023): the caption of a Visual Genome region ranked among several hard negatives.

Systematicity asks about compounds seen or not seen in a training corpus, productivity about captions of growing
length. Negatives stand in the tables as Python lists, in one row of ten as Python sets (whose order means nothing: they
are sorted here); both are parsed as data and never run. Some rows hold their caption among the negatives, a forced tie:
they are counted here, and named by `bench check`.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from equipoise.benchmarks.aro import JsonNumber
from equipoise.benchmarks.ceilings import as_read
from equipoise.benchmarks.reading import Case, Raw, choose, literal_list, read
from equipoise.data.items import ImageRef, Item, texts
from equipoise.data.readers.records import short

log = logging.getLogger(__name__)


class _Row(Raw):
    image_id: str
    caption: str
    x: JsonNumber
    y: JsonNumber
    width: JsonNumber
    height: JsonNumber
    valid_hard_negs_atom: str = ""
    valid_hard_negs_comp: str = ""
    hard_negs: str = ""


class _Table(NamedTuple):
    """Where the negatives of a split are, and what kind of split it is."""

    file: str
    column: str
    tags: dict[str, str]


def _tables() -> Iterator[tuple[str, _Table]]:
    for seen, corpus in itertools.product(("seen", "unseen"), ("cc12m", "yfcc", "laion")):
        file = f"syst_hard_negatives/syst_vg_hard_negs_{seen}_compounds_in_{corpus}.csv"
        for kind in ("atom", "comp"):
            tags = {"kind": "systematicity", "type": f"{corpus}-{kind}", "compounds": seen}
            yield f"syst_{seen}_{corpus}_{kind}", _Table(file, f"valid_hard_negs_{kind}", tags)
    for kind, length in itertools.product(("atom", "swap", "negate"), range(4, 13)):
        file = f"prod_hard_negatives/{kind}/prod_vg_hard_negs_{kind}_complexity_{length}.csv"
        tags = {"kind": "productivity", "type": kind, "complexity": str(length)}
        yield f"prod_{kind}_{length}", _Table(file, "hard_negs", tags)


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
        negatives = literal_list(getattr(row, TABLES[split].column))
        if not all(isinstance(negative, str) for negative in negatives):
            raise ValueError(f"expected a list of texts, found {short(negatives)}")
        if not negatives:
            empty.append(f"{split}/{key}")
            return
        if as_read(row.caption) in map(as_read, negatives):
            tied.append(f"{split}/{key}")
        name = f"{row.image_id}.jpg"
        path = f"{folders[row.image_id]}/{name}" if row.image_id in folders else name
        yield Case(
            key,
            image=ImageRef(path=path, box=(row.x, row.y, row.width, row.height)),
            caption=row.caption,
            negatives=texts(*negatives),
            tags=TABLES[split].tags,
        )

    items = read("crepe", files, _Row, build)
    if empty:
        log.warning("crepe: %d rows have no negative and are left out (%s ...)", len(empty), empty[0])
    if tied:
        log.warning(
            "crepe: %d rows have their caption among their negatives, and cannot be won (%s ...)", len(tied), tied[0]
        )
    return items
