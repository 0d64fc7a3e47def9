"""Captions in text files, tables, Parquet files and webdataset archives; the images in them are never read."""

from __future__ import annotations

import functools
import json
import logging
import lzma
import re
import tarfile
import zlib
from collections.abc import Iterator
from itertools import chain, groupby, islice
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from equipoise.core.errors import UserError, refuse_doubled
from equipoise.data.readers import parquet, tars
from equipoise.data.readers.captions.json_layouts import (
    CAPTION_NAMES,
    IMAGE_NAMES,
    MOST_BYTES,
    NAMES,
    RawCaption,
    json_record,
)
from equipoise.data.readers.records import as_text, cells, lines, suffix_of

if TYPE_CHECKING:
    import pyarrow

log = logging.getLogger(__name__)

_KNOWN = {name for wanted in NAMES.values() for name in wanted}
_FLICKR = re.compile(r"(.+\.(?:jpe?g|png|webp|gif|bmp))(#\d+)?", re.IGNORECASE)


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """(number, line). Of a line that is too long the beginning is enough: `clean` refuses it by its length."""
    return ((number, line.rstrip("\r\n")) for number, line, _ in lines(path, most=MOST_BYTES, errors="surrogateescape"))


def _first_line(path: Path) -> str:
    return next(_lines(path), (0, ""))[1]


def read_txt(path: Path) -> Iterator[RawCaption]:
    """A caption a line; but Flickr8k's captions come as tables that are called .txt."""
    first = _first_line(path)
    names = _names(first, _delimiter(first, ""))
    if _is_flickr(first) or ({*names} & {*CAPTION_NAMES} and {*names} & {*IMAGE_NAMES}):
        yield from read_table(path)
        return
    for number, line in _lines(path):
        yield RawCaption(f"line {number}", line)


def read_table(path: Path) -> Iterator[RawCaption]:
    """CSV and TSV with a header that names the caption; or without one: a single column, Flickr's
    `photo.jpg#0<TAB>caption` or CC3M's `caption<TAB>url`. Of a table with urls in place of images, the photos have the
    names that img2dataset gives them: 000000012.jpg is the photo of the thirteenth row."""
    rows = _rows(path)
    first = next(rows, None)
    if first is None:
        return
    where, cells, problem = first
    names = [cell.strip().lower() for cell in cells]
    if {*names} & {*CAPTION_NAMES}:
        refuse_doubled(f"{path}, {where}", (name for name in names if name in _KNOWN))
        _warn_of_texts(path, tuple(cell for cell in names if cell.startswith(("negative", "positive", "neg_caption"))))
    elif len(cells) == 1 or (len(cells) == 2 and _FLICKR.fullmatch(cells[0])):
        names, rows = ["image", "caption"][-len(cells) :], chain([first], rows)
    elif len(cells) == 2 and _is_url(cells[1]):
        names, rows = ["caption", "url"], chain([first], rows)
    else:
        raise UserError(
            f"{path}, {where}: expected a column called {', '.join(CAPTION_NAMES[:4])}; "
            f"found {', '.join(map(ascii, cells[:8]))}"
        )
    by_kind = {kind: [names.index(name) for name in wanted if name in names] for kind, wanted in NAMES.items()}
    places = {kind: columns[0] for kind, columns in by_kind.items() if columns}
    by_number = "url" in names and "image" not in places
    for number, (where, cells, problem) in enumerate(rows):
        if problem:
            yield RawCaption(where, None, problem=problem)
        elif len(cells) <= max(places["caption"], places.get("image", 0)):
            yield RawCaption(where, None, problem="too few columns" if cells else "empty")
        elif any(cell.strip() for cell in cells[len(names) :]):
            yield RawCaption(where, None, problem="too many columns: quotes are missing around a caption")
        else:
            row = {kind: cells[place] for kind, place in places.items() if place < len(cells)}
            photo = f"{number:09d}.jpg" if by_number else row.get("image", "").strip()
            if match := _FLICKR.fullmatch(photo):
                photo = match[1]
            yield RawCaption(where, row["caption"], photo, row.get("id"), together=row.get("image_id") or None)


@functools.cache  # a file is read twice
def _warn_of_texts(path: Path, columns: tuple[str, ...]) -> None:
    if columns:
        log.warning(
            "%s: only captions are read of a table, not %s; make items of it first (equipoise bench build), and "
            "perturbing those adds to them",
            path,
            ", ".join(columns),
        )


Row = tuple[str, list[str], str]  # where, cells, what is wrong with it


def _rows(path: Path) -> Iterator[Row]:
    """The rows of a table. In Flickr's and CC3M's, which have no header, quotes are only quotes."""
    first = _first_line(path)
    if _is_flickr(first) or _is_url(first.rpartition("\t")[2]):
        for number, line in _lines(path):
            yield f"line {number}", line.split("\t") if line else [], ""
        return
    last = 0
    with as_text(path, newline="") as handle:
        for last, row, problem in cells(handle, _delimiter(first, "\t" if suffix_of(path) == ".tsv" else ",")):
            yield f"line {last}", row, problem
    if last:
        _check_last_row(path, last)


def _check_last_row(path: Path, begin: int) -> None:
    """A quote that is never closed makes the rest of the file one caption."""
    with as_text(path, newline="") as handle:
        rest = list(islice(handle, begin - 1, None))
    if len(rest) > 1 and sum(line.count('"') for line in rest) % 2:
        raise UserError(f'{path}, line {begin}: a quote (") is opened here and not closed before the file ends')


def _is_flickr(line: str) -> bool:
    photo, tab, _ = line.partition("\t")
    return bool(tab and _FLICKR.fullmatch(photo))


def _is_url(cell: str) -> bool:
    return cell.startswith(("http://", "https://"))


def _delimiter(header: str, usual: str) -> str:
    """The mark between the names of a header, whatever the file's suffix; the usual one where there is none."""
    for mark in (usual, "\t", ",", ";", "|"):
        if mark and mark in header and {*_names(header, mark)} & {*CAPTION_NAMES}:
            return mark
    return usual


def _names(header: str, mark: str) -> list[str]:
    return [cell.strip().strip('"').lower() for cell in header.split(mark)] if mark else []


def read_parquet(path: Path) -> Iterator[RawCaption]:
    """Items whole; of other files only the columns of caption, image path and ids, never the images themselves."""
    columns: dict[str, str] = {}

    def choose(schema: pyarrow.Schema) -> list[str] | None:
        if {"positives", "negatives"} & set(schema.names):
            return None
        columns.update(_columns(path, schema))
        return list(columns.values())

    for number, line, problem in parquet.json_rows(path, choose):
        where = f"row {number}"
        if problem:
            yield RawCaption(where, None, problem=problem)
            continue
        row = json.loads(line)
        if columns:
            row = {kind: row.get(columns[kind].split(_PATH)[0]) if kind in columns else None for kind in NAMES}
        yield from json_record(where, row)


_PATH = ".path"


def _columns(path: Path, schema: pyarrow.Schema) -> dict[str, str]:
    """Which column holds what; of the images, the first that holds paths."""
    names = schema.names
    lower = {name.lower(): name for name in names}
    by_kind = {kind: [lower[name] for name in wanted if name in lower] for kind, wanted in NAMES.items()}
    if not by_kind["caption"]:
        raise UserError(
            f"{path}: expected a column called {', '.join(CAPTION_NAMES[:4])}; found {', '.join(names[:12])}"
        )
    for kind in ("caption", "id", "image_id"):
        by_kind[kind] = by_kind[kind][:1]
    used = {name for columns in by_kind.values() for name in columns}
    refuse_doubled(path, (name for name in names if name in used))
    by_kind["image"] = [column for name in by_kind["image"] if (column := _path_column(schema.field(name)))]
    return {kind: columns[0] for kind, columns in by_kind.items() if columns}


def _path_column(field: pyarrow.Field) -> str | None:
    """The column that holds the image's path: itself, or the `path` of a struct; None where it holds bytes."""
    import pyarrow.types as types

    kind = field.type.value_type if types.is_dictionary(field.type) else field.type
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return str(field.name)
    has_path = types.is_struct(kind) and kind.get_field_index("path") >= 0
    return f"{field.name}{_PATH}" if has_path else None


_IMAGE_SUFFIXES = frozenset(".jpg .jpeg .png .webp .gif .bmp".split())


def read_tar(path: Path) -> Iterator[RawCaption]:
    """Webdataset: members with the same name up to the first dot belong together; `.txt` is the caption."""
    captions = 0
    try:
        with tarfile.open(path, "r|*", tarinfo=tars.TarMember) as archive:
            for key, members in groupby(_tar_members(archive), key=lambda member: member[0]):
                image: str | None = None
                texts: list[tuple[str, str]] = []
                for _, name, text in members:
                    if text is None:
                        image = name
                    else:
                        texts.append((name, text))
                for name, text in texts:
                    captions += 1
                    yield RawCaption(f"member {name}", text, image, together=key)
    except (tarfile.TarError, EOFError, OSError, zlib.error, lzma.LZMAError) as error:
        if isinstance(error, PermissionError):
            raise
        raise UserError(f"{path}: the archive cannot be read to its end ({error})") from None
    if not captions:
        raise UserError(f"{path}: holds no captions; they are expected in members that end in .txt")


def _tar_members(archive: tarfile.TarFile) -> Iterator[tuple[str, str, str | None]]:
    """(key, name, text of a caption or None for an image)."""
    for member in tars.members(archive):
        archive.members.clear()  # type: ignore[attr-defined]  # tarfile keeps all: 2.2 GB for an archive of 4.7 MB
        name = PurePosixPath(member.name)
        suffix = "." + name.name.split(".")[-1].lower()
        if not member.isfile() or suffix not in _IMAGE_SUFFIXES | {".txt"}:
            continue
        key = str(name.parent / name.name.split(".")[0])
        if suffix != ".txt":
            yield key, str(name), None
            continue
        content = archive.extractfile(member)
        raw = content.read(MOST_BYTES) if content else b""
        yield key, str(name), raw.decode("utf-8", "surrogateescape")
