"""Items in Python. Reading them needs no more than this: neither numpy nor the results of models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, overload

from equipoise.api.inputs import for_python
from equipoise.core.errors import UserError
from equipoise.data.items import Item, write_items
from equipoise.data.readers.item_tables import load_item_file

if TYPE_CHECKING:
    from pandas import DataFrame

    from equipoise.api.inputs import Images


def frame(rows: Sequence[Mapping[str, object]]) -> DataFrame:
    """A DataFrame; pandas is loaded here and nowhere else."""
    try:
        import pandas
    except ModuleNotFoundError:
        raise UserError("to_frame needs pandas: pip install pandas") from None
    return pandas.DataFrame(list(rows))


class Items(Sequence[Item]):
    """Items in memory, and the pictures that came with their captions. `report` is what `perturb` counted."""

    def __init__(
        self, items: Sequence[Item], images: Images | None = None, report: Mapping[str, object] | None = None
    ) -> None:
        self._items = items
        self.images = images
        self.report = report

    def __len__(self) -> int:
        return len(self._items)

    @overload
    def __getitem__(self, index: int) -> Item: ...
    @overload
    def __getitem__(self, index: slice) -> Items: ...
    def __getitem__(self, index: int | slice) -> Item | Items:
        if isinstance(index, slice):
            return Items(self._items[index], self.images)
        return self._items[index]

    def __repr__(self) -> str:
        both = sum(bool(item.positives and item.negatives) for item in self)
        return f"{len(self):,} item{'s' * (len(self) != 1)}, {both:,} with hard positives and hard negatives"

    def _repr_html_(self) -> str:
        from equipoise.api.notebook import cell, table

        first = [
            [item.caption, *(kind[0].text if kind else "" for kind in (item.positives, item.negatives))]
            for item in self[:5]
        ]
        heads = ("caption", "hard positive", "hard negative")
        return table(heads, ([*map(cell, row)] for row in first), repr(self))

    def to_frame(self) -> DataFrame:
        """One row an item; hard positives and hard negatives are lists."""
        return frame(
            [
                {
                    "id": item.id,
                    "image": None if item.image is None else item.image.path,
                    "caption": item.caption,
                    "positives": [text.text for text in item.positives],
                    "negatives": [text.text for text in item.negatives],
                    **item.tags,
                }
                for item in self
            ]
        )

    def write(self, path: str | Path) -> int:
        """Write JSONL or Parquet, as `equipoise perturb` does; returns how many."""
        return write_items(path, self)


@for_python
def load_items(path: str | Path) -> Items:
    """The items of a JSONL or Parquet file, or of a table with the columns image, caption, negative and positive."""
    return Items(load_item_file(Path(path)))
