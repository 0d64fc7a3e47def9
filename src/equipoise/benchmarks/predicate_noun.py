"""Predicate-noun dependencies (Nikolaus et al. 2022): is the man in the photo wearing glasses or holding a bottle?

Both the right and the wrong sentence were written twice ("a man is wearing glasses", "the man wears glasses"), so every
row is asked in two splits: `first` has the first wording as caption and its own wrong sentence as negative, the other
wording as hard positive; `alt` the reverse. The paper itself counts pairs: rows 2m and 2m+1 swap right and wrong
sentence, and a model that likes one of the two whatever the photo shows gets no pair right (metric `mirrored`).

`part` is "noun" where the subject differs and "predicate" where the object does. The wrong sentence is true of somebody
else in the photo; cut to the box of the right one, nearly all difficulty is gone, which is the paper's control.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated

from pydantic import Field

from equipoise.benchmarks.base import splits_of
from equipoise.benchmarks.reading import Case, Raw, choose, read
from equipoise.core.errors import Problems, UserError
from equipoise.data.items import ImageRef, Item, texts

SPLITS = splits_of("predicate-noun")

ROWS = 2584
PARTS = {"subject": "noun", "object": "predicate"}  # what the paper calls the values of `pos`
_FILE = "eval_set.json"


class _Relationship(Raw):
    bounding_box: list[Annotated[float, Field(ge=0, le=1)]] = Field(min_length=4, max_length=4)  # x, y, width, height


class _Record(Raw):
    id: int
    img_filename: str
    sentence_target: str
    sentence_distractor: str
    sentence_target_alt: str
    sentence_distractor_alt: str
    relationship_target: _Relationship
    pos: str
    open_images_split: str


def _read(name: str, source: Path, splits: Sequence[str], image: Callable[[Path, _Record], ImageRef]) -> list[Item]:
    def build(split: str, _key: str, record: _Record) -> Iterator[Case]:
        wordings = [
            (record.sentence_target, record.sentence_distractor),
            (record.sentence_target_alt, record.sentence_distractor_alt),
        ]
        (caption, wrong), (other, _) = wordings if split == "first" else wordings[::-1]
        yield Case(
            str(record.id),
            image=image(files[split].parent / "images", record),
            caption=caption,
            positives=texts(other),
            negatives=texts(wrong),
            tags={
                "pair": str(record.id // 2),
                "part": PARTS.get(record.pos, record.pos),
                "open_images": record.open_images_split,
            },
        )

    files = choose(name, source, dict.fromkeys(SPLITS, _FILE), splits)
    items = read(name, files, _Record, build)
    _check_mirrored(items, str(next(iter(files.values()))))
    return items


def load(source: Path, splits: Sequence[str]) -> list[Item]:
    return _read("predicate-noun", source, splits, lambda _, record: ImageRef(path=record.img_filename))


def _check_mirrored(items: Sequence[Item], subject: str) -> None:
    """The official accuracy is of pairs: rows without a partner, or with one that asks something else, are refused."""
    pairs: dict[tuple[str, str], list[Item]] = {}
    for item in items:
        pairs.setdefault((item.tags["split"], item.tags["pair"]), []).append(item)
    wrong = [key for key, pair in pairs.items() if not _mirror(pair)]
    problems = Problems(subject)
    rows = [f"{split} {2 * int(pair)} and {2 * int(pair) + 1}" for split, pair in wrong]
    problems.add_some(f"of {len(pairs):,} pairs are not two rows that mirror each other", rows)
    problems.raise_if_any("Rows 2m and 2m+1 must swap the right and the wrong sentence. Get the file again.")


def _mirror(pair: Sequence[Item]) -> bool:
    return len(pair) == 2 and all(
        first.caption == second.negatives[0].text and first.tags["part"] == second.tags["part"]
        for first, second in (pair, pair[::-1])
    )


def load_cropped(source: Path, splits: Sequence[str]) -> list[Item]:
    """The same items with the box of the right sentence, in pixels of the photos in images/ next to the file."""
    return _read("predicate-noun-cropped", source, splits, _cut)


def _cut(folder: Path, record: _Record) -> ImageRef:
    try:
        across, down = _size(folder, record.img_filename)
    except UserError as problem:
        raise ValueError(f"{problem}. For boxes in pixels the photos must lie in {folder}") from None
    x, y, width, height = record.relationship_target.bounding_box
    return ImageRef(path=record.img_filename, box=(x * across, y * down, width * across, height * down))


@functools.cache
def _size(folder: Path, name: str) -> tuple[int, int]:
    from equipoise.data.images import image_size, read_image_bytes  # PIL: ROWS alone is read by `metrics`

    return image_size(read_image_bytes(folder, name), ImageRef(path=name))
