"""FG-OVD (Bianchi et al. 2024), as FG-CLIP publishes it: a box, its description, and ten with other attributes.

The box is cut out; evaluators that pool the region inside the tower get other numbers. Descriptions stay as they are
written, where FG-CLIP's evaluator lower-cases them. Some rows hold fewer than ten negatives, and in 2_attributes four
hold the description among them: such a tie counts as right there and is never a win here; `bench check` names them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

from pydantic import Field

from equipoise.benchmarks.base import splits_of, stored
from equipoise.benchmarks.reading import Case, Raw, choose, read
from equipoise.data.items import Edit, ImageRef, Item, texts

SPLITS = splits_of("fg-ovd")

_SMALL = 32  # pixels: a region of fewer says little to a tower that sees 224


class _Region(Raw):
    img_path: str
    bbox: Annotated[list[float], Field(min_length=4, max_length=4)]
    pos_expression: Annotated[list[str], Field(min_length=1, max_length=1)]
    neg_expression: Annotated[list[str], Field(min_length=1)]


def _items(split: str, key: str, row: _Region) -> Iterator[Case]:
    x, y, width, height = row.bbox
    edit = None if split == "trivial" else Edit(op="replace", target="attribute")
    yield Case(
        key,
        image=ImageRef(path=row.img_path, box=(x, y, width, height)),
        caption=row.pos_expression[0],
        negatives=texts(*row.neg_expression, edit=edit),
        tags={
            "side": f"under {_SMALL} px" if min(width, height) < _SMALL else f"{_SMALL} px or more",
            "negatives": str(len(row.neg_expression)),
        },
    )


def load(source: Path, splits: Sequence[str]) -> list[Item]:
    files = stored("fg-ovd")["tables"]["files"]
    return read("fg-ovd", choose("fg-ovd", source, files, splits), _Region, _items)
