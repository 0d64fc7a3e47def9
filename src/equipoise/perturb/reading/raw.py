"""One caption as a file has it, and the names under which files keep captions, images and ids."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

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


def first_of(wanted: Iterable[str], names: list[str]) -> int | None:
    return next((names.index(name) for name in wanted if name in names), None)


def json_record(where: str, value: Any) -> Iterator[Raw]:
    """A string, or an object with a caption or a list of captions."""
    if isinstance(value, str):
        yield Raw(where, value)
        return
    if not isinstance(value, dict):
        yield Raw(where, None, problem="neither text nor an object")
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
