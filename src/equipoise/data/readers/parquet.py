"""Reads the rows of Parquet files that we did not write, a few at a time.

A few kilobytes of Parquet can stand for gigabytes: one long text in a dictionary, named by a million rows. So the
size that the footer states limits a batch, and what was decoded is counted. A false footer, or one row with a long
list, can still take much memory before it is refused. Whatever pyarrow raises becomes an error with its row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from equipoise.core.errors import UserError, first_line

BATCH = 200  # rows
ALWAYS_FINE = 128 * 2**20  # bytes decoded, whatever the size of the file
POINTER = 8  # bytes of a value in a Python list, even of None, which takes a bit in Parquet
MOST_DECODED = 1_000  # decoded : size of the file; a dictionary of few values reaches 200

Row = dict[str, Any]
Choose = Callable[[Any], Sequence[str] | None]


def rows(path: Path, choose: Choose = lambda schema: None) -> Iterator[tuple[int, Row, str]]:
    """(number from 1, row, "") of each row, or (number, {}, what is wrong with it).

    `choose` picks the columns from the schema; None: all.

    Raises UserError where the file itself cannot be read. Bytes that are UTF-8 text come as text.
    """
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
            for row, problem in _converted(batch):
                number += 1
                # a dictionary's text is one in the batch and one per row here
                decoded += sum(len(value) for value in row.values() if type(value) is str)
                if decoded > ceiling:
                    raise UserError(f"{too_much}{number:,}{advice}")
                yield number, row, problem


def _count(array: Any) -> int:
    """Its values and all values below them."""
    import pyarrow.types as types

    if types.is_list(array.type) or types.is_large_list(array.type):
        return len(array) + _count(array.flatten())
    return len(array) + sum(map(_count, array.flatten() if types.is_struct(array.type) else []))


def _converted(batch: Any) -> Iterator[tuple[Row, str]]:
    convert = _as_text if any(_holds_bytes(field.type) for field in batch.schema) else lambda row: row
    try:
        yield from [(convert(row), "") for row in _dicts(batch.schema.names, batch.columns, batch.num_rows)]
        return
    except Exception:  # some row of the batch; find out which
        pass
    for place in range(batch.num_rows):
        try:
            yield convert(batch.slice(place, 1).to_pylist(maps_as_pydicts="strict")[0]), ""
        except Exception as error:
            yield {}, _why(error)


def values_of(array: Any) -> list[Any]:
    """What `array.to_pylist(maps_as_pydicts="strict")` gives, column by column.

    pyarrow makes an object of its own of every value first, which takes several times as long.
    """
    import pyarrow.types as types

    kind = array.type
    whole = types.is_integer(kind) or types.is_float32(kind) or types.is_float64(kind)
    if types.is_string(kind) or types.is_large_string(kind) or (whole and not array.null_count):
        return list(array.to_numpy(zero_copy_only=False).tolist())
    found: list[Any]
    if types.is_struct(kind):
        found = list(_dicts([kind.field(place).name for place in range(kind.num_fields)], array.flatten(), len(array)))
    elif types.is_list(kind) or types.is_large_list(kind):
        found = [part for (part,) in _cut(array, array.values)]
    elif types.is_map(kind):
        found = [_map(*parts) for parts in _cut(array, array.keys, array.items)]
    else:
        return list(array.to_pylist(maps_as_pydicts="strict"))
    missing = array.is_null().to_numpy(zero_copy_only=False).nonzero()[0] if array.null_count else ()
    for place in missing:
        found[place] = None
    return found


def _dicts(names: Sequence[str], columns: Sequence[Any], rows: int) -> list[Row]:
    if not columns:
        return [{} for _ in range(rows)]
    return [dict(zip(names, row, strict=True)) for row in zip(*map(values_of, columns), strict=True)]


def _cut(array: Any, *below: Any) -> Iterator[tuple[list[Any], ...]]:
    """The part of each column below that belongs to each row."""
    ends = array.offsets.to_numpy()
    first, last = (int(ends[0]), int(ends[-1])) if len(ends) else (0, 0)
    whole = [values_of(one.slice(first, last - first)) for one in below]
    ends = (ends - first).tolist()
    return (tuple(values[start:end] for values in whole) for start, end in pairwise(ends))


def _map(keys: list[Any], values: list[Any]) -> dict[Any, Any]:
    found = dict(zip(keys, values, strict=True))
    if len(found) < len(keys):
        raise KeyError("a key appears twice")
    return found


def _holds_bytes(kind: Any) -> bool:
    import pyarrow.types as types

    binary = (types.is_binary, types.is_large_binary, types.is_binary_view, types.is_fixed_size_binary)
    if types.is_dictionary(kind):
        return _holds_bytes(kind.value_type)
    return any(test(kind) for test in binary) or any(
        _holds_bytes(kind.field(place).type) for place in range(kind.num_fields)
    )


def _as_text(value: Any) -> Any:
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


def _refuse_doubled(path: Path, fields: Sequence[Any], inside: str = "") -> None:
    names = [field.name for field in fields]
    if twice := [name for name in names if names.count(name) > 1]:
        what = f"fields of {inside}" if inside else "columns"
        raise UserError(f"{path}: two {what} are called {twice[0]!r}; which one is meant?")
    for field in fields:
        below = [field.type.field(place) for place in range(field.type.num_fields)]
        _refuse_doubled(path, below, f"{inside}.{field.name}" if inside else field.name)
