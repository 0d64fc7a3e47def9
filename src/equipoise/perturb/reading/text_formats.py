"""Captions in text files: lines, tables and JSON as people and other programs write them."""

from __future__ import annotations

import csv
import functools
import json
import logging
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from equipoise.errors import UserError, reading
from equipoise.files import parse_json
from equipoise.formats import json_text
from equipoise.perturb.reading.gzipped import as_text, kind_of, opened
from equipoise.perturb.reading.json_stream import json_array
from equipoise.perturb.reading.raw import (
    CAPTION_NAMES,
    ID_NAMES,
    IMAGE_NAMES,
    MOST_BYTES,
    TOGETHER_NAMES,
    Raw,
    first_of,
    json_record,
)
from equipoise.perturb.reading.visual_genome import regions

log = logging.getLogger(__name__)

_FLICKR = re.compile(r"(.+\.(?:jpe?g|png|webp|gif|bmp))(#\d+)?", re.IGNORECASE)
_CC3M = re.compile(r"[^\t]*\thttps?://[^\t]*", re.IGNORECASE)


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """(number, line); bytes that are not UTF-8 become surrogates, which `clean` finds. A line of any length is safe."""
    with opened(path) as handle:
        number = 0
        while line := handle.readline(MOST_BYTES):
            number += 1
            whole = line
            while not whole.endswith(b"\n") and (whole := handle.readline(MOST_BYTES)):
                pass
            yield number, line.decode("utf-8-sig" if number == 1 else "utf-8", "surrogateescape").rstrip("\r\n")


def _first_line(path: Path) -> str:
    return next(_lines(path), (0, ""))[1]


# ---------------------------------------------------------------------------- text, tables


def read_txt(path: Path) -> Iterator[Raw]:
    """A caption a line; but Flickr8k's captions come as tables that are called .txt."""
    first = _first_line(path)
    names = _names(first, _delimiter(first, ""))
    if _is_flickr(first) or ({*names} & {*CAPTION_NAMES} and {*names} & {*IMAGE_NAMES}):
        yield from read_table(path)
        return
    for number, line in _lines(path):
        yield Raw(f"line {number}", line)


def read_table(path: Path) -> Iterator[Raw]:
    """CSV and TSV with a header that names the caption; or without one: a single column, Flickr's
    `photo.jpg#0<TAB>caption`, or CC3M's `caption<TAB>address`, whose photos have the names that img2dataset gives."""
    rows = _rows(path)
    first = next(rows, None)
    if first is None:
        return
    where, cells, problem = first
    names = [cell.strip().lower() for cell in cells]
    caption = first_of(CAPTION_NAMES, names)
    known = {*CAPTION_NAMES, *IMAGE_NAMES, *ID_NAMES, *TOGETHER_NAMES}
    if caption is not None and (twice := [name for name in names if name in known and names.count(name) > 1]):
        raise UserError(f"{path}, {where}: two columns are called {twice[0]!r}; which one is meant?")
    image = name = together = None
    is_cc3m = False
    if caption is not None:
        _warn_of_texts(path, tuple(cell for cell in names if cell.startswith(("negative", "positive", "neg_caption"))))
        image, name, together = (first_of(wanted, names) for wanted in (IMAGE_NAMES, ID_NAMES, TOGETHER_NAMES))
    elif len(cells) == 1:
        caption = 0
    elif len(cells) == 2 and _FLICKR.fullmatch(cells[0]):
        caption, image = 1, 0
    elif _CC3M.fullmatch("\t".join(cells)):
        caption, name, is_cc3m = 0, 1, True
    else:
        raise UserError(
            f"{path}, {where}: expected a column called {', '.join(CAPTION_NAMES[:4])}; "
            f"found {', '.join(map(ascii, cells[:8]))}"
        )
    body = rows if names[caption] in CAPTION_NAMES else _with_first(first, rows)
    for number, (where, cells, problem) in enumerate(body):
        if problem:
            yield Raw(where, None, problem=problem)
        elif len(cells) <= max(caption, image or 0):
            yield Raw(where, None, problem="too few columns" if cells else "empty")
        elif any(cell.strip() for cell in cells[len(names) :]):
            yield Raw(where, None, problem="too many columns: quotes are missing around a caption")
        else:
            photo = None if image is None else cells[image].strip()
            if photo and (match := _FLICKR.fullmatch(photo)):
                photo = match[1]
            elif is_cc3m:  # ten thousand photos a folder, numbered by row: img2dataset's defaults
                photo = f"{number // 10_000:05d}/{number:09d}.jpg"
            given, group = (
                cells[place] if place is not None and place < len(cells) else None for place in (name, together)
            )
            yield Raw(where, cells[caption], photo, given, together=group or None)


@functools.cache  # a file is read twice
def _warn_of_texts(path: Path, columns: tuple[str, ...]) -> None:
    if columns:
        log.warning(
            "%s: only captions are read of a table, not %s; make items of it first (equipoise bench build), and "
            "perturbing those adds to them",
            path,
            ", ".join(columns),
        )


Row = tuple[str, list[str], str]


def _with_first(first: Row, rows: Iterator[Row]) -> Iterator[Row]:
    yield first
    yield from rows


def _rows(path: Path) -> Iterator[Row]:
    """The rows of a table. In Flickr's and CC3M's, which have no header, quotes are only quotes."""
    first = _first_line(path)
    if _is_flickr(first) or _CC3M.fullmatch(first):
        for number, line in _lines(path):
            yield f"line {number}", line.split("\t") if line else [], ""
        return
    delimiter = _delimiter(first, "\t" if kind_of(path) == ".tsv" else ",")
    with as_text(path, newline="") as handle:
        reader, begin = csv.reader(handle, delimiter=delimiter), 1
        while True:
            before, begin = begin, reader.line_num + 1
            try:
                cells = next(reader)
            except StopIteration:
                _check_last_row(path, before, begin)
                return
            except csv.Error as error:  # a field above csv's limit of 128 KiB; the reader goes on with the next line
                long = "field limit" in str(error)
                yield f"line {begin}", [], f"longer than {csv.field_size_limit():,} characters" if long else str(error)
                continue
            yield f"line {begin}", cells, ""


def _check_last_row(path: Path, begin: int, end: int) -> None:
    """A quote that is never closed makes the rest of the file one caption."""
    if end - begin < 2:
        return
    with as_text(path, newline="") as handle:
        if sum(line.count('"') for line in islice(handle, begin - 1, end - 1)) % 2:
            raise UserError(f'{path}, line {begin}: a quote (") is opened here and not closed before the file ends')


def _is_flickr(line: str) -> bool:
    photo, tab, _ = line.partition("\t")
    return bool(tab and _FLICKR.fullmatch(photo))


def _delimiter(header: str, usual: str) -> str:
    """What stands between the names of a header, whatever the file is called; the usual one where there is none."""
    for mark in (usual, "\t", ",", ";", "|"):
        if mark and mark in header and {*_names(header, mark)} & {*CAPTION_NAMES}:
            return mark
    return usual


def _names(header: str, mark: str) -> list[str]:
    return [cell.strip().strip('"').lower() for cell in header.split(mark)] if mark else []


# ---------------------------------------------------------------------------- JSON


def read_jsonl(path: Path) -> Iterator[Raw]:
    for number, line in _lines(path):
        where = f"line {number}"
        if not line.strip():
            yield Raw(where, None, problem="empty")
            continue
        try:
            value = json_text.parse(line)
        except json_text.DoubledKey as error:
            yield Raw(where, None, problem=str(error))
            continue
        except (ValueError, RecursionError):
            long = len(line.encode("utf-8", "surrogateescape")) >= MOST_BYTES - 1
            yield Raw(where, None, problem=f"longer than {MOST_BYTES:,} bytes" if long else "not JSON")
            continue
        yield from json_record(where, value)


def read_json(path: Path) -> Iterator[Raw]:
    """A list is streamed; COCO's object has to be read whole, since its annotations may stand in any order."""
    if _is_jsonl(path):
        yield from read_jsonl(path)
        return
    with as_text(path) as handle:
        opening = handle.read(4096).lstrip()[:1]
        handle.seek(0)
        if opening == "[":
            for number, value in enumerate(json_array(handle, str(path)), 1):
                if isinstance(value, dict) and isinstance(value.get("regions"), list):
                    yield from regions(f"image {number}", value, path)
                else:
                    yield from json_record(f"record {number}", value)
            return
        if not opening:
            return
        with reading(path):
            value = parse_json(handle.read(), str(path))
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


def _is_jsonl(path: Path) -> bool:
    """Whether an object stands on each line, as `datasets` writes files that are called .json."""
    lines = (line for _, line in _lines(path) if line.strip())
    try:
        return isinstance(json.loads(next(lines, "")), dict) and next(lines, "").lstrip().startswith("{")
    except (ValueError, RecursionError):
        return False


def _coco(value: dict[str, Any]) -> Iterator[Raw]:
    """COCO's annotations by image, images in the order in which they first appear."""
    images = value.get("images")
    names = {  # by the text of the id, since some programs write numbers here and text there
        str(image.get("id")): image.get("file_name")
        for image in (images if isinstance(images, list) else ())
        if isinstance(image, dict) and isinstance(image.get("id"), int | str)
    }
    by_image: dict[str | None, list[Raw]] = {}
    for number, note in enumerate(value["annotations"], 1):
        where = f"annotation {number}"
        if not isinstance(note, dict) or not isinstance(note.get("image_id"), int | str):
            by_image.setdefault(None, []).append(Raw(where, None, problem="no image_id"))
            continue
        image = str(note["image_id"])
        raw = Raw(where, note.get("caption"), names.get(image), note.get("id"), together=image)
        by_image.setdefault(image, []).append(raw)
    for raws in by_image.values():
        yield from raws


def _karpathy(images: list[Any]) -> Iterator[Raw]:
    """The whole file of Karpathy's splits: images with their sentences."""
    for number, image in enumerate(images, 1):
        where = f"image {number}"
        if not isinstance(image, dict) or not isinstance(image.get("sentences"), list):
            yield Raw(where, None, problem="no sentences")
            continue
        name = "/".join(str(image[key]) for key in ("filepath", "filename") if image.get(key))
        for place, sentence in enumerate(image["sentences"], 1):
            given = sentence if isinstance(sentence, dict) else {}
            yield Raw(f"{where}, sentence {place}", given.get("raw"), name, given.get("sentid"), together=where)
