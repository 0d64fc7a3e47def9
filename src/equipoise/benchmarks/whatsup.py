"""What's Up (Kamath, Hessel and Chang 2023): one object on, under, left or right of another.

Two sets of staged photos with four options, and four of COCO and Visual Genome photos with two. The first option is
the right one in every row, so an argmax gives a model without an opinion 100%; here a tie is never a win. A staged pair
of objects was photographed in four places: pair accuracy asks for both of two opposite ones, set accuracy for all four
(metric `sets`). As in the authors' code the place is read from the name of the photo.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Annotated

from pydantic import Field, RootModel

from equipoise.benchmarks.base import splits_of, stored
from equipoise.benchmarks.reading import Case, Raw, choose, read
from equipoise.data.items import Edit, ImageRef, Item, texts

SPLITS = splits_of("whatsup")

_TWO = {"left of": "left", "right of": "right", "front of": "front", "behind": "behind", "above": "above"}
_LAST = {"coco_two": "below", "vg_two": "top"}  # what the authors' code calls a caption with none of these
_EDIT = Edit(op="replace", target="relation")


class _Staged(Raw):
    image_path: str
    caption_options: Annotated[list[str], Field(min_length=2)]


class _Found(RootModel[tuple[int | str, str, str]]):
    """[number of the photo, right caption, wrong caption]"""


def _staged(split: str, key: str, row: _Staged) -> Iterator[Case]:
    right, *wrong = row.caption_options
    parts = PurePosixPath(row.image_path).stem.split("_")
    tags = {"group": "controlled"}
    if len(parts) > 2:
        tags |= {"relation": parts[1], "set": f"{split} {parts[0]} {parts[-1]}"}
    path = row.image_path.removeprefix("data/")
    yield Case(key, ImageRef(path=path), right, texts(*wrong, edit=_EDIT), tags=tags)


def _found(split: str, key: str, row: _Found) -> Iterator[Case]:
    photo, right, wrong = row.root
    coco = split.startswith("coco")
    path = f"val2017/{int(photo):012d}.jpg" if coco else f"vg_images/{photo}.jpg"
    if split.endswith("one"):
        relation = right.split()[-1].strip(".")
    else:
        relation = next((name for words, name in _TWO.items() if words in right), _LAST[split])
    tags = {"group": "coco" if coco else "vg", "relation": relation}
    yield Case(key, ImageRef(path=path), right, texts(wrong, edit=_EDIT), tags=tags)


def load(source: Path, splits: Sequence[str]) -> list[Item]:
    files = choose("whatsup", source, stored("whatsup")["tables"]["files"], splits)
    staged: Mapping[str, Path] = {split: path for split, path in files.items() if split.startswith("controlled")}
    as_they_are: Mapping[str, Path] = {split: path for split, path in files.items() if split not in staged}
    items = read("whatsup", staged, _Staged, _staged) if staged else []
    return items + (read("whatsup", as_they_are, _Found, _found) if as_they_are else [])
