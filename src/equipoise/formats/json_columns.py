"""Large JSONL files as columns of Arrow, some megabytes at a time: a record at a time takes several times as long.

Arrow's reader is as strict as ours where it is given the columns: another field or type, a key twice, a control sign
in a text, half a surrogate are errors there too. What it takes and ours does not (two objects on a line, one object
over two, a null, bytes that are no UTF-8) is looked for here. A block that is not surely good is not judged at all: it
goes to whoever reads line by line, who knows better and says what is wrong.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from equipoise.formats import json_text

Block = tuple[int, bytes]  # the number of its first line, its lines

LARGE = 20 * 2**20  # bytes of a file; below, one record at a time takes a second
BLOCK = 4 * 2**20
_TAGS_FROM, _MOST_TAGS = 20, 50  # lines that tags are learned from, and how many of them


def many_lines(path: Path) -> bool:
    """Whether a file is worth reading by column."""
    return path.is_file() and path.stat().st_size > LARGE


def blocks(path: Path, most: int) -> Iterator[Block]:
    """All lines of a file, whole, some megabytes at a time; of a line of more than `most` bytes the beginning, and
    nothing after it."""
    number = 1
    with path.open("rb") as handle:
        while block := handle.read(BLOCK):
            if not block.endswith(b"\n"):
                rest = handle.readline(most)
                block += rest
                if len(rest) == most:
                    yield number, block
                    return
            yield number, block.removeprefix(b"\xef\xbb\xbf") if number == 1 else block
            number += block.count(b"\n")


def columns(block: bytes, schema: Sequence[tuple[str, Any]]) -> dict[str, Any] | None:
    """The columns of a block, tags among them as a struct of texts; None where some line of it may not fit.

    A column is null where a line has no such field, and also where it says null: see `whole`.
    """
    import pyarrow
    import pyarrow.json

    count = _whole_lines(block)
    if not count or b"\0" in block:
        return None
    try:
        if not block.isascii():
            block.decode()
        tags = pyarrow.struct([(name, pyarrow.string()) for name in _tags(block)])
        table = pyarrow.json.read_json(
            pyarrow.BufferReader(block),
            read_options=pyarrow.json.ReadOptions(use_threads=False, block_size=len(block) + 1),
            parse_options=pyarrow.json.ParseOptions(
                explicit_schema=pyarrow.schema([*schema, *([("tags", tags)] if tags.num_fields else [])]),
                unexpected_field_behavior="error",
            ),
        )
    except (pyarrow.ArrowException, ValueError, RecursionError):
        return None
    if table.num_rows != count:
        return None
    return {name: table.column(name).combine_chunks() for name in table.column_names}


def _whole_lines(block: bytes) -> int:
    """How many lines a block has, where each begins an object and ends one; else 0.

    Such a line holds whole objects: one that goes on in the next line would need a comma between } and {. Where a block
    has as many objects as lines, each line is one.
    """
    signs = np.frombuffer(block, np.uint8)
    ends = np.flatnonzero(signs == ord("\n"))
    starts = ends[:-1] + 1 if block.endswith(b"\n") else ends + 1
    if b"\r\n" in block[-4:]:
        ends = ends - 1
        if not (signs[ends] == ord("\r")).all():
            return 0
    last = ends - 1 if len(starts) < len(ends) else np.append(ends - 1, len(block) - 1)
    whole = block[:1] == b"{" and (signs[starts] == ord("{")).all() and (signs[last] == ord("}")).all()
    return len(last) if whole else 0


def _tags(block: bytes) -> list[str]:
    """The names of the tags of the first lines, in the order they come."""
    names: dict[str, None] = {}
    for line in block[: 2**16].split(b"\n")[:_TAGS_FROM]:
        try:
            value = json_text.parse(line.decode())
        except (json.JSONDecodeError, UnicodeDecodeError):
            break  # the last one, cut
        if isinstance(value, dict) and isinstance(tags := value.get("tags"), dict):
            names.update(dict.fromkeys(tags))
    if len(names) > _MOST_TAGS:
        raise ValueError("too many tags")
    return list(names)


def whole(block: bytes, name: str, columns: Mapping[str, Any]) -> bool:
    """Whether a column that may be left out, but not be null, is there in every line, or in none; so for its fields."""
    import pyarrow.types as types

    column = columns.get(name)
    if column is None:
        return True
    if column.null_count == len(column):
        return f'"{name}"'.encode() not in block and b"\\u" not in block  # by which a key may be written otherwise
    fields = column.flatten() if types.is_struct(column.type) else ()
    return not column.null_count and not any(field.null_count for field in fields)
