"""Captions from users' files, grouped by image; the formats are in `json_layouts.py` and `layouts.py`.

The captions of an image are put together, because a negative must not be true by another caption of the same image.
COCO annotations are grouped by `image_id` wherever they stand; in all other formats the captions of an image must stand
next to each other, so that memory does not grow with the file. A file that cannot be understood is the user's error. A
caption that cannot be used is left out and counted, and the report says where and why.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby, islice
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from equipoise.core.errors import UserError, printable, reading
from equipoise.core.files import no_such_file, opened, whole
from equipoise.data.items import ImageRef
from equipoise.data.readers.captions.json_layouts import LONGEST, RawCaption, read_json
from equipoise.data.readers.captions.layouts import read_parquet, read_table, read_tar, read_txt
from equipoise.data.readers.records import suffix_of

MOST_TOGETHER = 50  # captions of one image; a file with the same image on every line must not fill the memory


class CaptionRecord(NamedTuple):
    """A caption that can be used. `number` is its place in the input, which makes its id."""

    number: int
    text: str
    source_id: str | None
    box: tuple[float, float, float, float] | None = None
    item: str | None = None  # as JSON, where the file holds items


class Group(NamedTuple):
    """The captions of one image (or a single caption without one), and those left out: (where, reason)."""

    image: str | None
    records: tuple[CaptionRecord, ...]
    refused: tuple[tuple[str, str], ...] = ()

    @property
    def captions(self) -> int:
        return len(self.records) + len(self.refused)


_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufff9-\ufffb]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_LATIN = re.compile(r"[A-Za-z\u00c0-\u024f]")


def clean(text: object) -> tuple[str, str]:
    """(the caption with white space made single blanks, "") or ("", why it cannot be used)."""
    if not isinstance(text, str):
        return "", "no caption" if text is None else "the caption is not text"
    if len(text) > LONGEST:
        return "", f"longer than {LONGEST:,} characters"
    if _SURROGATE.search(text):
        return "", "not UTF-8"
    text = " ".join(text.replace("\ufeff", "").split())
    if not text:
        return "", "empty"
    if text.isascii() and text.isprintable():  # nearly all captions; what follows takes longer
        return (text, "") if _LATIN.search(text) else ("", "no words")
    if _CONTROL.search(text):
        return "", "control characters"
    letters = sum(map(str.isalpha, text))
    if not letters:
        return "", "no words"
    if len(_LATIN.findall(text)) * 2 < letters:
        return "", "not in Latin letters"  # rules, word lists and prompts are for English
    return text, ""


def _image(value: object) -> tuple[str | None, str]:
    """(the image's path below its folder or None, "") or (None, why not)."""
    if isinstance(value, dict):  # an Items file, or Hugging Face's image columns
        value = value.get("path")
    if value is None or value == "":
        return None, ""
    return _image_path(value) if isinstance(value, str) else (None, "the image is not a path")


@functools.lru_cache(maxsize=256)  # the captions of an image follow each other
def _image_path(value: str) -> tuple[str | None, str]:
    if _SURROGATE.search(value):
        return None, "the image's path is not UTF-8"
    try:
        return ImageRef(path=value).path, ""
    except ValidationError:
        return None, "the image's path leaves its folder"


def read_captions(path: str | Path, limit: int | None = None) -> Iterator[Group]:
    """The captions of a file, or of all files of a folder, grouped by image; the first `limit` captions."""
    files = caption_files(path)
    raws: Iterable[RawCaption] = (raw for file in files for raw in _raw_records(file, several=len(files) > 1))
    numbered = enumerate(islice(raws, limit))
    place = 0
    for key, members in groupby(_placed(numbered), key=lambda member: member[0]):
        while part := list(islice(members, 1 if key is None else MOST_TOGETHER)):
            records = tuple(member for _, _, member in part if isinstance(member, CaptionRecord))
            refused = tuple(member for _, _, member in part if not isinstance(member, CaptionRecord))
            place += len(part)
            yield Group(next((image for _, image, _ in part if image), None), records, refused)
    if not place:
        raise UserError(f"{path}: holds no captions")


Placed = tuple[str | None, str | None, CaptionRecord | tuple[str, str]]


def _placed(numbered: Iterable[tuple[int, RawCaption]]) -> Iterator[Placed]:
    """(what is the same for all captions of an image, the image, the record or (where, reason)).

    What was refused without an image must not part the captions around it.
    """
    before: str | None = None
    for number, raw in numbered:
        text, reason = clean(raw.text) if not raw.problem else ("", raw.problem)
        if reason and raw.item is not None:
            text, reason = str(raw.text), ""  # an item stays, whatever its caption: the recipe refuses to edit it
        image, wrong = _image(raw.image)
        key = f"image {image}" if image else None if raw.together is None else f"together {raw.together}"
        if reason or wrong:
            yield key or before, None, (printable(raw.where), reason or wrong)
        else:
            before = key
            given = None if raw.id is None else printable(str(raw.id)[:200])
            yield key, image, CaptionRecord(number, text, given, raw.box, raw.item)


def caption_files(path: str | Path) -> list[Path]:
    """The file itself, or the caption files of a folder in the order of their names."""
    path = Path(path)
    if path.is_dir():
        files = sorted(file for file in path.iterdir() if suffix_of(file) in _READERS and _is_readable(file))
        if not files:
            raise UserError(f"{path}: no caption files; expected {_known()}")
        if odd := [file.name for file in files if not file.is_file()]:  # a pipe would be waited for without end
            raise UserError(f"{path}: {', '.join(odd[:3])}: not a plain file; move it out of the folder")
        return files
    if not path.exists():
        raise no_such_file(path)
    if not path.is_file():
        raise UserError(f"{path}: not a plain file; captions are read twice, so write them to a file first")
    if suffix_of(path) not in _READERS or not _is_readable(path):
        raise UserError(f"{path}: unknown kind of file; expected {_known()}")
    return [path]


def _is_readable(path: Path) -> bool:
    """Neither hidden nor a packed file that was packed again."""
    return path.name[0] != "." and (path.suffix.lower() != ".gz" or suffix_of(path) not in _PACKED)


def _known() -> str:
    return f"{', '.join(_READERS)}; text and JSON also gzipped (.json.gz)"


def _raw_records(path: Path, several: bool) -> Iterator[RawCaption]:
    """The records of a file; where there are several files, each record says of which it is."""
    suffix = suffix_of(path)
    with whole(path):
        if suffix not in _PACKED:
            with opened(path) as handle:
                if handle.read(2) in {b"\xff\xfe", b"\xfe\xff"}:
                    raise UserError(f"{path}: UTF-16 text; save it as UTF-8")
        records = _READERS[suffix](path)
        while True:
            with reading(path):
                raw = next(records, None)
            if raw is None:
                return
            if several:
                together = None if raw.together is None else f"{path.name}, {raw.together}"
                yield raw._replace(where=f"{path.name}, {raw.where}", together=together)
            else:
                yield raw


_PACKED: dict[str, Callable[[Path], Iterator[RawCaption]]] = {".parquet": read_parquet, ".tar": read_tar}
_READERS: dict[str, Callable[[Path], Iterator[RawCaption]]] = {
    ".txt": read_txt,
    ".csv": read_table,
    ".tsv": read_table,
    ".jsonl": read_json,
    ".json": read_json,
    **_PACKED,
}
