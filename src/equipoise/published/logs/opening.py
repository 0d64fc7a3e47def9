"""Opens a log as a stream of records, whatever it is: a sheet, a table, JSON lines, a list, one large object, a zip."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import IO, Any

from equipoise.core.errors import Problems, UserError
from equipoise.core.files import opened
from equipoise.data.readers.records import (
    EMPTY,
    Window,
    as_text,
    cells,
    element,
    is_table,
    json_array,
    require_file,
    rows,
    suffix_of,
)
from equipoise.data.readers.xlsx import opened_zip, sheet_rows

LISTS = ("samples", "logs")  # of a large object: the list of its records


def records(path: Path, problems: Problems | None = None) -> Iterator[dict[str, Any]]:
    """The records of a file, one at a time. Broken lines go to `problems`, which the caller shows."""
    require_file(path)
    kind = suffix_of(path)
    if kind == ".xlsx":
        yield from (row for _, row in sheet_rows(path))
    elif kind in {".csv", ".tsv"} or (kind not in {".json", ".jsonl", ".eval"} and is_table(path)):
        yield from _table(path, kind, problems)
    elif is_object(path):
        yield from (value for name, value in members(path) if name in LISTS and isinstance(value, dict))
    else:
        for where, value, problem in rows(path):
            if isinstance(value, dict):
                yield value
            elif problem != EMPTY and problems is not None:
                problems.add(where, problem or "expected a JSON object")


def _table(path: Path, kind: str, problems: Problems | None) -> Iterator[dict[str, object]]:
    with _text(path) as handle:
        first = handle.readline()
        handle.seek(0)
        delimiter = max("\t" if kind == ".tsv" else ",", ";", key=first.count)
        cell_rows = cells(handle, delimiter)
        header = [name.strip() for name in next(cell_rows, (1, [], ""))[1]]
        if any("\udc80" <= letter <= "\udcff" for name in header for letter in name):
            raise UserError(f"{path}: not UTF-8 text. Save it as UTF-8: in Excel, 'CSV UTF-8'")
        for line, row, problem in cell_rows:
            if len(row) == len(header):
                yield dict(zip(header, row, strict=True))
            elif (row or problem) and problems is not None:
                problems.add(f"line {line}", problem or f"{len(row)} cells, where the header has {len(header)}")


def _text(path: Path) -> IO[str]:
    with opened(path) as raw:
        wide = raw.read(2) in {b"\xff\xfe", b"\xfe\xff"}
    return io.TextIOWrapper(opened(path), "utf-16", newline="") if wide else as_text(path, newline="")


def is_object(path: Path) -> bool:
    """Whether a file is one JSON object with a list of records, or a zip of them."""
    if suffix_of(path) == ".eval":
        return True
    if suffix_of(path) != ".json":
        return False
    with as_text(path) as handle:
        return handle.read(4096).lstrip("\ufeff \t\r\n")[:1] == "{" and any(
            name in LISTS for name, _ in islice(members(path), 60)
        )


def members(path: Path) -> Iterator[tuple[str, Any]]:
    """(name, value) of each member of a large JSON object; each element of a list in LISTS comes alone. An .eval zip
    has the same members: those of its header, then its samples."""
    if suffix_of(path) == ".eval":
        yield from _zipped(path)
        return
    with as_text(path) as handle:
        window = Window(handle)
        if window.peek() != "{":
            return
        window.at += 1
        while window.peek() == '"':
            name = element(window, str(path))
            window.peek()
            window.at += 1  # the colon
            if window.peek() == "[" and name in LISTS:
                for record in json_array(window, str(path)):
                    yield name, record
                window.at += 1
            else:
                yield name, element(window, str(path))
            if window.peek() == ",":
                window.at += 1
        if window.peek() != "}":
            raise UserError(
                f"{path}, line {window.line_here()}: cut off; the log was not finished, or not copied whole"
            )


def _zipped(path: Path) -> Iterator[tuple[str, object]]:
    with opened_zip(path, "an inspect_ai log") as packed:
        names = packed.namelist()
        if head := [name for name in ("header.json", "_journal/start.json") if name in names]:
            yield from json.loads(packed.read(head[0])).items()
        for name in names:
            if name.startswith("samples/") and name.endswith(".json"):
                yield "samples", json.loads(packed.read(name))
