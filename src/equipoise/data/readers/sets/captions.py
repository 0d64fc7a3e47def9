"""Captions with their photos: Karpathy's splits, Flickr8k, Items, and any captions file.

A text that appears twice under one photo counts once. Of items only the captions are used; `equipoise eval` scores
their positives and negatives.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from pydantic import ValidationError

from equipoise.core.errors import Problems, UserError
from equipoise.core.files import read_json, read_text
from equipoise.data.images import ImageSource
from equipoise.data.items import ImageRef, Item
from equipoise.data.readers.captions.groups import read_captions
from equipoise.data.readers.records import as_text, suffix_of
from equipoise.data.readers.sets.kinds import Caption, CaptionSet

FLICKR8K = ("captions.tsv", "Flickr8k.token.txt", "captions.txt")  # what copies of it call the captions
PhotoCaption = tuple[ImageRef, str, str | None]  # photo, caption, id


def caption_set(
    name: str,
    split: str | None,
    source: ImageSource,
    found: Iterable[PhotoCaption],
    left_out: dict[str, str] | None = None,
) -> CaptionSet:
    """The set of some captions, photos in the order in which they first appear."""
    places: dict[tuple[str, object], int] = {}
    photos: list[ImageRef] = []
    texts: dict[tuple[int, str], str | None] = {}
    for photo, text, given in found:
        place = places.setdefault((photo.path, photo.box), len(photos))
        if place == len(photos):
            photos.append(photo)
        texts.setdefault((place, text), given)
    if len(photos) < 2:
        raise UserError(f"{name}: captions of {len(photos)} photos; retrieval needs two or more, each with its path")
    captions = tuple(
        Caption(given or f"{photos[place].path}#{number}", place, text)
        for number, ((place, text), given) in enumerate(texts.items())
    )
    return CaptionSet(name, split, source, tuple(photos), captions, left_out or {})


def from_items(items: Sequence[Item]) -> Iterator[PhotoCaption]:
    return ((item.image, item.caption, item.id) for item in items if item.image is not None)


def from_file(path: Path, left_out: dict[str, str], only: set[str] | None = None) -> Iterator[PhotoCaption]:
    """The captions of any file that `equipoise perturb` reads; what cannot be used goes to `left_out`."""
    without = 0
    for group in read_captions(path):
        left_out.update(group.refused)
        for record in group.records:
            photo = None if group.image is None else ImageRef(path=group.image, box=record.box)
            if record.item is not None:
                photo = Item.model_validate_json(record.item).image
            if photo is None:
                without += 1
            elif only is None or photo.path in only:
                yield photo, record.text, record.source_id
    if without:
        raise UserError(f"{path}: {without:,} captions do not say which photo they are of; retrieval needs its path")


def is_karpathy(path: Path) -> bool:
    """Whether a JSON file begins as Karpathy's dataset_coco.json does; the whole file is 140 MB."""
    if suffix_of(path) != ".json":
        return False
    with as_text(path) as handle:
        start = handle.read(4096)
    return start.lstrip().startswith("{") and '"images"' in start and '"sent' in start


def from_karpathy(path: Path, split: str) -> list[PhotoCaption]:
    """All captions of a split (COCO has 25,010 of its 5,000 test photos; papers that say 25,000 take five of each)."""
    value = read_json(path)
    images = value.get("images") if isinstance(value, dict) else None
    if not isinstance(images, list):
        raise UserError(f"{path}: expected Karpathy's object with images and their sentences")
    problems = Problems(str(path))
    captions: list[PhotoCaption] = []
    splits: dict[str, int] = {}
    for number, image in enumerate(images, 1):
        try:
            splits[image["split"]] = splits.get(image["split"], 0) + 1
            if image["split"] != split:
                continue
            name = "/".join(image[part] for part in ("filepath", "filename") if image.get(part))
            photo = ImageRef(path=name)
            for sentence in image["sentences"]:
                if text := " ".join(sentence["raw"].split()):
                    captions.append((photo, text, str(sentence["sentid"]) if "sentid" in sentence else None))
        except (KeyError, TypeError, AttributeError, ValidationError):
            problems.add(f"image {number}", "expected split, filename and sentences with raw")
    problems.raise_if_any()
    if not captions:
        listed = ", ".join(f"{name} ({count:,})" for name, count in splits.items())
        raise UserError(f"{path}: no image of the split {split!r}; it has {listed} (--splits)")
    return captions


def from_flickr8k(folder: Path, split: str, left_out: dict[str, str]) -> Iterator[PhotoCaption]:
    """Flickr8k's captions of the photos that its list names."""
    listed = folder / f"Flickr_8k.{split}Images.txt"
    if not listed.is_file():
        raise UserError(f"{listed}: no such file; the splits of Flickr8k are train, dev and test (--splits)")
    return from_file(flickr8k_captions(folder), left_out, set(read_text(listed).split()))


def flickr8k_captions(folder: Path) -> Path:
    for name in FLICKR8K:
        if (folder / name).is_file():
            return folder / name
    raise UserError(f"{folder}: no captions of Flickr8k here ({', '.join(FLICKR8K)})")
