"""Captions in Parquet files and webdataset archives; the images in them are never read."""

from __future__ import annotations

import json
import lzma
import tarfile
import zlib
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path, PurePosixPath
from typing import Any

from equipoise.errors import UserError
from equipoise.formats import parquet, tars
from equipoise.items import item_row
from equipoise.perturb.reading.raw import (
    CAPTION_NAMES,
    ID_NAMES,
    IMAGE_NAMES,
    MOST_BYTES,
    TOGETHER_NAMES,
    Raw,
    json_record,
)

# ---------------------------------------------------------------------------- Parquet


def read_parquet(path: Path) -> Iterator[Raw]:
    """Items whole; of other files only the columns of caption, image path and ids, never the images themselves."""
    columns: dict[str, str] = {}

    def choose(schema: Any) -> list[str] | None:
        if {"positives", "negatives"} & set(schema.names):
            return None
        columns.update(_columns(path, schema))
        return list(columns.values())

    for number, row, problem in parquet.rows(path, choose):
        where = f"row {number}"
        if problem:
            yield Raw(where, None, problem=problem)
        elif columns:
            values = {kind: row[name.split(_PATH)[0]] for kind, name in columns.items()}
            yield from json_record(where, {kind: values.get(kind) for kind in _KINDS})
        else:
            yield from json_record(where, json.loads(item_row(row)))


_KINDS = ("caption", "image", "id", "image_id")
_PATH = ".path"


def _columns(path: Path, schema: Any) -> dict[str, str]:
    """Which column holds what; of the images, the first that holds paths."""
    names = schema.names
    lower = {name.lower(): name for name in names}
    known = (CAPTION_NAMES, IMAGE_NAMES, ID_NAMES, TOGETHER_NAMES)
    found = {
        kind: [lower[name] for name in wanted if name in lower] for kind, wanted in zip(_KINDS, known, strict=True)
    }
    if not found["caption"]:
        raise UserError(
            f"{path}: expected a column called {', '.join(CAPTION_NAMES[:4])}; found {', '.join(names[:12])}"
        )
    for kind in ("caption", "id", "image_id"):
        found[kind] = found[kind][:1]
    twice = [name for columns in found.values() for name in columns if names.count(name) > 1]
    if twice:
        raise UserError(f"{path}: two columns are called {twice[0]!r}; which one is meant?")
    found["image"] = [column for name in found["image"] if (column := _path_column(schema.field(name)))]
    return {kind: columns[0] for kind, columns in found.items() if columns}


def _path_column(field: Any) -> str | None:
    """The column that holds the image's path: itself, or the `path` of a struct; None where it holds bytes."""
    import pyarrow.types as types

    kind = field.type.value_type if types.is_dictionary(field.type) else field.type
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return str(field.name)
    has_path = types.is_struct(kind) and kind.get_field_index("path") >= 0
    return f"{field.name}{_PATH}" if has_path else None


# ---------------------------------------------------------------------------- webdataset

_IMAGE_SUFFIXES = frozenset(".jpg .jpeg .png .webp .gif .bmp".split())


def read_tar(path: Path) -> Iterator[Raw]:
    """Webdataset: members with the same name up to the first dot belong together; `.txt` is the caption."""
    captions = 0
    try:
        with tarfile.open(path, "r|*", tarinfo=tars.Member) as archive:
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
                    yield Raw(f"member {name}", text, image, together=key)
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
