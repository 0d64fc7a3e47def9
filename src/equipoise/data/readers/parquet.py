"""Reads the rows of Parquet files that we did not write, a few at a time.

A few kilobytes of Parquet can stand for gigabytes: one long text in a dictionary, named by a million rows. So the
size that the footer states limits a batch, and what was decoded is counted. A false footer, or one row with a long
list, can still take much memory before it is refused. Whatever pyarrow raises becomes an error with its row.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from json.encoder import encode_basestring as quoted
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from equipoise.core.errors import UserError, first_line, refuse_doubled

if TYPE_CHECKING:
    import pyarrow

BATCH = 2_000  # rows
ALWAYS_FINE = 128 * 2**20  # bytes decoded, whatever the size of the file
POINTER = 8  # bytes of a value in a Python list, even of None, which takes a bit in Parquet
MOST_DECODED = 1_000  # decoded : size of the file; a dictionary of few values reaches 200

Row = dict[str, object]
Choose: TypeAlias = "Callable[[pyarrow.Schema], Sequence[str] | None]"
T = TypeVar("T")


def rows(path: Path, choose: Choose = lambda schema: None) -> Iterator[tuple[int, Row, str]]:
    """(number from 1, row, "") of each row, or (number, {}, what is wrong with it).

    `choose` picks the columns from the schema; None: all.

    Raises UserError where the file itself cannot be read. Bytes that are UTF-8 text come as text.
    """

    def size(row: Row) -> int:  # a dictionary's text is one in the batch and one per row here
        return sum(len(value) for value in row.values() if type(value) is str)

    for number, row, problem in _read(path, choose, _dicts, size):
        yield number, row or {}, problem


def json_rows(path: Path, choose: Choose = lambda schema: None) -> Iterator[tuple[int, str, str]]:
    """The same with each row as a JSON object, without what is null: structs hold every field in Parquet."""
    for number, line, problem in _read(path, choose, _lines, len):
        yield number, line or "", problem


def _read(
    path: Path, choose: Choose, convert: Callable[[pyarrow.RecordBatch], list[T]], size: Callable[[T], int]
) -> Iterator[tuple[int, T | None, str]]:
    import pyarrow.parquet

    if not path.is_file():
        raise UserError(f"{path}: no such file")
    try:
        file = pyarrow.parquet.ParquetFile(path)
        schema = file.schema_arrow
        groups = [file.metadata.row_group(place) for place in range(file.num_row_groups)]
    except Exception as error:  # strangers' bytes: pyarrow has no list of what it raises
        raise UserError(f"{path}: not a Parquet file ({first_line(error)})") from None
    number, decoded, ceiling = 0, 0, max(ALWAYS_FINE, MOST_DECODED * path.stat().st_size)
    too_much = f"{path}: {path.stat().st_size:,} bytes unfold to more than {ceiling:,} by row "
    advice = "; refused. Write it again as JSONL if this is meant"
    largest = max([1, *(group.total_byte_size for group in groups)])  # a text of this size may be in every row
    with file:
        columns = choose(schema)
        wanted = set(schema.names) if columns is None else {name.split(".")[0] for name in columns}
        _refuse_doubled(path, [field for field in schema if field.name in wanted])
        at_once = min(BATCH, ceiling // largest) or 1
        batches = file.iter_batches(at_once, columns=None if columns is None else list(columns))
        while True:
            try:
                batch = next(batches, None)
                if batch is not None:
                    decoded += batch.get_total_buffer_size() + POINTER * sum(map(_count, batch.columns))
            except Exception as error:
                raise UserError(f"{path}: damaged after row {number:,} ({first_line(error)})") from None
            if batch is None:
                return
            if decoded > ceiling:
                raise UserError(f"{too_much}{number + 1:,}{advice}")
            for row, problem in _converted(batch, convert):
                number += 1
                decoded += 0 if row is None else size(row)
                if decoded > ceiling:
                    raise UserError(f"{too_much}{number:,}{advice}")
                yield number, row, problem


def _count(array: pyarrow.Array) -> int:
    """Its values and all values below them."""
    import pyarrow.types as types

    if types.is_list(array.type) or types.is_large_list(array.type):
        return len(array) + _count(_below(array, array.values))
    return len(array) + sum(map(_count, array.flatten() if types.is_struct(array.type) else []))


def _converted(
    batch: pyarrow.RecordBatch, convert: Callable[[pyarrow.RecordBatch], list[T]]
) -> Iterator[tuple[T | None, str]]:
    try:
        yield from [(row, "") for row in convert(batch)]
        return
    except Exception:  # some row of the batch; find out which
        pass
    for place in range(batch.num_rows):
        try:
            yield convert(batch.slice(place, 1))[0], ""
        except Exception as error:
            yield None, _why(error)


def _dicts(batch: pyarrow.RecordBatch) -> list[Row]:
    rows: list[Row] = batch.to_pylist(maps_as_pydicts="strict")
    return list(map(_as_text, rows)) if any(_holds_bytes(field.type) for field in batch.schema) else rows


def _lines(batch: pyarrow.RecordBatch) -> list[str]:
    return _objects(batch.schema.names, batch.columns, batch.num_rows)


def json_of(array: pyarrow.Array) -> list[str | None]:
    """The JSON of each value, None for null; column by column, as pyarrow needs several times as long for values."""
    import pyarrow.types as types

    kind = array.type
    if types.is_string(kind) or types.is_large_string(kind):
        return [None if value is None else quoted(value) for value in array.to_pylist()]
    texts: list[str | None]
    if types.is_struct(kind):
        names = [kind.field(place).name for place in range(kind.num_fields)]
        texts = [*_objects(names, array.flatten(), len(array))]
    elif types.is_list(kind) or types.is_large_list(kind):
        texts = [f"[{','.join(values)}]" for values in _parts(array, _filled(json_of(_below(array, array.values))))]
    elif types.is_map(kind):
        keys = _filled(json_of(_below(array, array.keys)))
        for some in _parts(array, keys):
            if len(set(some)) < len(some):
                raise KeyError("a key appears twice")
        values = _filled(json_of(_below(array, array.items)))
        pairs = [f"{key}:{value}" for key, value in zip(keys, values, strict=True)]
        texts = [f"{{{','.join(some)}}}" for some in _parts(array, pairs)]
    else:
        values = array.to_pylist(maps_as_pydicts="strict")
        return [None if value is None else json.dumps(_as_text(value), default=str) for value in values]
    if array.null_count:
        return [None if null else text for null, text in zip(array.is_null().to_pylist(), texts, strict=True)]
    return texts


def _objects(names: Sequence[str], columns: Sequence[pyarrow.Array], count: int) -> list[str]:
    """One JSON object per row."""
    members = [[""] * count]
    for name, column in zip(names, columns, strict=True):
        if column.null_count < len(column):
            head = f",{quoted(name)}:"
            members.append([head + value if value else "" for value in json_of(column)])
    return [f"{{{row[1:]}}}" for row in map("".join, zip(*members, strict=True))]


def _filled(values: list[str | None]) -> list[str]:
    return [value or "null" for value in values]


def _below(array: pyarrow.Array, values: pyarrow.Array) -> pyarrow.Array:
    """Those of the values below a column of lists or maps that are in it: it may be part of a longer one."""
    ends = array.offsets
    first, last = (ends[0].as_py(), ends[-1].as_py()) if len(ends) else (0, 0)
    return values.slice(first, last - first)


def _parts(array: pyarrow.Array, values: list[str]) -> Iterator[list[str]]:
    """The values of each row."""
    ends = array.offsets.to_pylist()
    return (values[start - ends[0] : end - ends[0]] for start, end in pairwise(ends))


def _holds_bytes(kind: pyarrow.DataType) -> bool:
    import pyarrow.types as types

    binary = (types.is_binary, types.is_large_binary, types.is_binary_view, types.is_fixed_size_binary)
    if types.is_dictionary(kind):
        return _holds_bytes(kind.value_type)
    return any(test(kind) for test in binary) or any(
        _holds_bytes(kind.field(place).type) for place in range(kind.num_fields)
    )


def _as_text(value: object) -> Any:
    """Bytes as the text they are: files of other programs keep captions so, and `str` would write b'...'."""
    if isinstance(value, bytes):
        return value.decode("utf-8")
    if isinstance(value, dict):
        return {key: part if type(part) is str else _as_text(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_as_text(part) for part in value]
    return value


def _why(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "not UTF-8"
    if isinstance(error, KeyError):
        return f"a key appears twice in a map ({first_line(error)})"
    return f"cannot be read ({first_line(error)})"


def _refuse_doubled(path: Path, fields: Sequence[pyarrow.Field], inside: str = "") -> None:
    refuse_doubled(path, (field.name for field in fields), f"fields of {inside}" if inside else "columns")
    for field in fields:
        below = [field.type.field(place) for place in range(field.type.num_fields)]
        _refuse_doubled(path, below, f"{inside}.{field.name}" if inside else field.name)
