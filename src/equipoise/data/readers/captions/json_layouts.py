"""Captions in JSON: strings, objects with a caption, items, COCO, Karpathy's splits, Visual Genome's regions.

Visual Genome's region_descriptions.json is part of what CE-CLIP+ trains on: [{"id": 1, "regions": [{"region_id": 1382,
"image_id": 1, "phrase": "the clock is green", "x": 421, "y": 57, "width": 82, "height": 139}, ...]}, ...]. A phrase is
about its region, so its box is kept. The file does not say in which of its two folders an image lies: where VG_100K/
and VG_100K_2/ lie next to it they are looked up there.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from equipoise.core.errors import UserError
from equipoise.core.files import json_line
from equipoise.data.items import Item, in_full
from equipoise.data.readers.records import rows

LONGEST = 2_000  # characters of a caption; text encoders read a few hundred
MOST_BYTES = 64 * LONGEST  # of one line: a caption with its ids and paths; what comes after is skipped, not stored

CAPTION_NAMES = ("caption", "captions", "title", "text", "sentence", "raw", "comment")
IMAGE_NAMES = ("image", "filepath", "file_name", "filename", "image_path", "image_name", "file", "path")
NAMES = {  # of columns and fields; `image_id` groups the captions of one image if its path is missing
    "caption": CAPTION_NAMES,
    "image": IMAGE_NAMES,
    "id": ("id", "caption_id", "sentid", "key"),
    "image_id": ("image_id", "imgid"),
}


class RawCaption(NamedTuple):
    """One caption as the file has it; `problem` says why there is none."""

    where: str
    text: object
    image: object = None
    id: object = None
    problem: str = ""
    together: object = None  # the same for all captions of one image, where there is no path
    box: tuple[float, float, float, float] | None = None  # the region that the caption is about
    item: str | None = None  # the whole item as JSON, where the file holds items


def json_record(where: str, value: object) -> Iterator[RawCaption]:
    """A string, an object with a caption or a list of captions, or an item with its positives and negatives."""
    if isinstance(value, str):
        yield RawCaption(where, value)
        return
    if not isinstance(value, dict):
        yield RawCaption(where, None, problem="neither text nor an object")
        return
    if "positives" in value or "negatives" in value:
        yield _item(where, value)
        return
    fields = {str(key).lower(): content for key, content in value.items()}

    def first(kind: str) -> object:
        return next((fields[name] for name in NAMES[kind] if fields.get(name) is not None), None)

    caption, image, name, together = first("caption"), first("image"), first("id"), first("image_id")
    if isinstance(caption, list):
        for number, text in enumerate(caption):
            given = None if name is None else f"{name}#{number}"
            yield RawCaption(
                f"{where}, caption {number + 1}", text, image, given, together=where if together is None else together
            )
    else:
        yield RawCaption(where, caption, image, name, together=together)


def _item(where: str, value: dict[str, object]) -> RawCaption:
    """An item goes through the run whole, so that perturbing only adds to it; what is not one would lose its texts."""
    try:
        item = Item.model_validate_json(json.dumps(in_full(value, where.split()[-1])))
    except ValidationError as error:
        field = next((str(part) for part in error.errors()[0]["loc"]), "")
        return RawCaption(where, None, problem=f"not a valid item ({field})")
    return RawCaption(
        where, item.caption, None if item.image is None else item.image.path, item.id, item=json_line(item.to_json())
    )


def read_json(path: Path) -> Iterator[RawCaption]:
    """JSONL and JSON lists are streamed; COCO's object has to be read whole, since its annotations may stand in any
    order."""
    for number, (where, value, problem) in enumerate(rows(path, most=MOST_BYTES, errors="surrogateescape"), 1):
        if problem:  # reports count by reason, so there are few
            yield RawCaption(where, None, problem="not JSON" if problem.startswith(("not JSON", "JSON ")) else problem)
        elif not where:
            yield from _whole(path, value)
        elif isinstance(value, dict) and isinstance(value.get("regions"), list):
            yield from _regions(f"image {number}", value, path)
        else:
            yield from json_record(where, value)


def _whole(path: Path, value: object) -> Iterator[RawCaption]:
    if isinstance(value, dict) and isinstance(value.get("annotations"), list):
        yield from _coco(value)
    elif isinstance(value, dict) and isinstance(value.get("images"), list):
        yield from _karpathy(value["images"])
    else:
        keys = f"an object with {', '.join(map(repr, list(value)[:8]))}" if isinstance(value, dict) else None
        raise UserError(
            f"{path}: expected a list of captions, of objects with a caption, or COCO's object with images and "
            f"annotations; found {keys or type(value).__name__}"
        )


def _coco(value: dict[str, Any]) -> Iterator[RawCaption]:
    """COCO's annotations by image, images in the order in which they first appear."""
    images = value.get("images")
    names = {  # by the text of the id, since some programs write numbers here and text there
        str(image.get("id")): image.get("file_name")
        for image in (images if isinstance(images, list) else ())
        if isinstance(image, dict) and isinstance(image.get("id"), int | str)
    }
    by_image: dict[str | None, list[RawCaption]] = {}
    for number, note in enumerate(value["annotations"], 1):
        where = f"annotation {number}"
        if not isinstance(note, dict) or not isinstance(note.get("image_id"), int | str):
            by_image.setdefault(None, []).append(RawCaption(where, None, problem="no image_id"))
            continue
        image = str(note["image_id"])
        raw = RawCaption(where, note.get("caption"), names.get(image), note.get("id"), together=image)
        by_image.setdefault(image, []).append(raw)
    for raws in by_image.values():
        yield from raws


def _karpathy(images: list[object]) -> Iterator[RawCaption]:
    """The whole file of Karpathy's splits: images with their sentences."""
    for number, image in enumerate(images, 1):
        where = f"image {number}"
        if not isinstance(image, dict) or not isinstance(image.get("sentences"), list):
            yield RawCaption(where, None, problem="no sentences")
            continue
        name = "/".join(str(image[key]) for key in ("filepath", "filename") if image.get(key))
        for place, sentence in enumerate(image["sentences"], 1):
            given = sentence if isinstance(sentence, dict) else {}
            yield RawCaption(f"{where}, sentence {place}", given.get("raw"), name, given.get("sentid"), together=where)


FOLDERS = ("VG_100K", "VG_100K_2")
_SIDES = ("x", "y", "width", "height")


def _regions(where: str, value: dict[str, Any], path: Path) -> Iterator[RawCaption]:
    image = str(value.get("id", value.get("image_id", "")))
    photo = f"{_folder_of(path.parent).get(image, '')}{image}.jpg"
    for place, region in enumerate(value["regions"], 1):
        here = f"{where}, region {place}"
        if not isinstance(region, dict):
            yield RawCaption(here, None, problem="not a region")
            continue
        sides = [float(side) for name in _SIDES if isinstance(side := region.get(name), int | float)]
        if len(sides) < len(_SIDES) or not all(map(math.isfinite, sides)) or min(sides[2:]) <= 0:
            yield RawCaption(here, None, problem="a region without an area")
            continue
        x, y, width, height = sides
        yield RawCaption(here, region.get("phrase"), photo, region.get("region_id"), box=(x, y, width, height))


@functools.cache
def _folder_of(parent: Path) -> dict[str, str]:
    """Image id -> its folder, with a slash."""
    return {path.stem: f"{folder}/" for folder in FOLDERS for path in (parent / folder).glob("*.jpg")}
