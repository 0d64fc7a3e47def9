"""One caption as a file has it, and the names under which files keep captions, images and ids."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from pydantic import ValidationError

from equipoise.files import json_line
from equipoise.items import Item

LONGEST = 2_000  # characters of a caption; text encoders read a few hundred
MOST_BYTES = 64 * LONGEST  # of one line: a caption with its ids and paths; what comes after is skipped, not stored

CAPTION_NAMES = ("caption", "captions", "title", "text", "sentence", "raw", "comment")
IMAGE_NAMES = ("image", "filepath", "file_name", "filename", "image_path", "image_name", "file", "path")
ID_NAMES = ("id", "caption_id", "sentid", "key")
TOGETHER_NAMES = ("image_id", "imgid")  # say which captions are of one image, where its path is not told


class Raw(NamedTuple):
    """One caption as the file has it; `problem` says why there is none."""

    where: str
    text: Any
    image: Any = None
    id: Any = None
    problem: str = ""
    together: Any = None  # the same for all captions of one image, where there is no path
    box: tuple[float, float, float, float] | None = None  # the region that the caption is about
    item: str | None = None  # the whole item as JSON, where the file holds items


def first_of(wanted: Iterable[str], names: list[str]) -> int | None:
    return next((names.index(name) for name in wanted if name in names), None)


def json_record(where: str, value: Any) -> Iterator[Raw]:
    """A string, an object with a caption or a list of captions, or an item with its positives and negatives."""
    if isinstance(value, str):
        yield Raw(where, value)
        return
    if not isinstance(value, dict):
        yield Raw(where, None, problem="neither text nor an object")
        return
    if "positives" in value or "negatives" in value:
        yield _item(where, value)
        return
    lower = {str(key).lower(): key for key in value}
    caption, image, name, together = (
        next((value[lower[known]] for known in names if known in lower and value[lower[known]] is not None), None)
        for names in (CAPTION_NAMES, IMAGE_NAMES, ID_NAMES, TOGETHER_NAMES)
    )
    if isinstance(caption, list):
        for number, text in enumerate(caption):
            given = None if name is None else f"{name}#{number}"
            yield Raw(
                f"{where}, caption {number + 1}", text, image, given, together=where if together is None else together
            )
    else:
        yield Raw(where, caption, image, name, together=together)


def _item(where: str, value: dict[str, Any]) -> Raw:
    """An item goes through the run whole, so that perturbing only adds to it; what is not one would lose its texts."""
    try:
        item = Item.model_validate_json(json.dumps(value))
    except ValidationError as error:
        field = next((str(part) for part in error.errors()[0]["loc"]), "")
        return Raw(where, None, problem=f"not a valid item ({field})")
    return Raw(
        where, item.caption, None if item.image is None else item.image.path, item.id, item=json_line(item.to_json())
    )
