"""EqBen (Wang et al. 2023): two video frames or generated images that differ slightly, with a caption each.

The authors' code reads three layouts: a list of pairs, lists below the name of a video, lists below video and subject.
All are read here. Where a caption is a list, the first is used, as there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from pydantic import ValidationError

from equipoise.benchmarks.base import check_splits, splits_of
from equipoise.benchmarks.reading import Raw, choose, two_by_two
from equipoise.core.errors import Problems, UserError
from equipoise.core.files import read_json
from equipoise.data.items import Item
from equipoise.data.readers.records import explain

SPLITS = splits_of("eqben")


class _Record(Raw):
    image0: str
    image1: str
    caption0: str | list[str]
    caption1: str | list[str]

    def captions(self) -> tuple[str, str]:
        return _first(self.caption0), _first(self.caption1)


def _first(caption: str | list[str]) -> str:
    return caption if isinstance(caption, str) else next(iter(caption), "")


def _pairs(value: object, where: str) -> Iterator[tuple[str, object]]:
    """(where, record) of every pair, however deep it lies."""
    if isinstance(value, dict) and "image0" not in value:
        for name, part in value.items():
            yield from _pairs(part, f"{where}{'.' if where else ''}{name}")
    elif isinstance(value, list):
        for index, part in enumerate(value):
            yield from _pairs(part, f"{where}[{index}]")
    else:
        yield where, value


def load(source: Path, splits: Sequence[str]) -> list[Item]:
    """From eqben<subset>.json of each subset, or from one file of pairs whose images lie in folders called so."""
    check_splits("eqben", splits, SPLITS)
    whole = source.is_file() and source.stem.removeprefix("eqben") not in SPLITS
    files = {"": source} if whole else choose("eqben", source, {s: f"eqben{s}.json" for s in SPLITS}, splits)
    problems = Problems(str(source))
    counts = dict.fromkeys(SPLITS, 0)
    items = []
    for of_file, path in files.items():
        for where, value in _pairs(read_json(path), ""):
            place = f"{path.name}, {where}"
            try:
                record = _Record.model_validate(value)
                split = of_file or record.image0.split("/")[0].removeprefix("eqben")
                if split not in SPLITS:
                    expected = ", ".join(f"eqben{name}" for name in SPLITS)
                    problems.add(place, f"image0: expected a path below {expected}; found {record.image0!r}")
                    continue
                captions = record.captions()
                case = two_by_two(str(counts[split]), (record.image0, captions[0]), (record.image1, captions[1]), {})
                counts[split] += 1
                if not splits or split in splits:
                    items.append(case.item("eqben", split))
            except ValidationError as error:
                explain(error, place, problems)
    problems.raise_if_any("Get the file again, or fix these records.")
    if not items:
        raise UserError(f"{source}: no pair of EqBen in it; expected image0, image1, caption0, caption1")
    return items
