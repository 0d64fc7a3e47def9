"""Rows of other people's Parquet files, a bounded number of bytes at a time.

A few kilobytes of Parquet can stand for gigabytes: one long text in a dictionary, named by a million rows; pages that
unpack to thousands of times their size; a list of a billion nulls. What a group of rows can cost is read from its
headers before it is opened, and what was decoded is counted. Whatever pyarrow raises becomes an error with its row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import IO, Any

from equipoise.core.errors import UserError
from equipoise.data.readers.parquet_headers import Group, groups, unpacked_page

BATCH = 2_000  # rows, where they are short
BUDGET = 64 * 2**20  # bytes that a batch may hold by the dictionaries of its columns
LARGEST_DICTIONARY = 64 * 2**20  # writers stop at 1 MB
RATIO_FROM = 128 * 2**20  # a column of a row group, or all that is decoded, is looked at from here on
MOST_RATIO = 200  # unpacked : packed, of one column; texts reach 30
MOST_DECODED = 1_000  # decoded : size of the file; a dictionary of few values reaches 200
MOST_VALUES = 10_000  # in a row, on average: lists of negatives

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
    except Exception as error:  # strangers' bytes: pyarrow has no list of what it raises
        raise UserError(f"{path}: not a Parquet file ({_said(error)})") from None
    decoded, ceiling = 0, max(RATIO_FROM, MOST_DECODED * path.stat().st_size)
    with file, path.open("rb") as raw:
        columns = choose(schema)
        _refuse_doubled(path, schema, columns)
        number = 0
        for group, header in enumerate(groups(path)):
            size = _batch_size(path, raw, header, group, columns)
            batches = file.iter_batches(size, row_groups=[group], columns=None if columns is None else list(columns))
            while True:
                try:
                    batch = next(batches, None)
                    decoded += 0 if batch is None else batch.get_total_buffer_size()
                except Exception as error:
                    raise UserError(f"{path}: damaged after row {number:,} ({_said(error)})") from None
                if batch is None:
                    break
                for row, problem in _converted(batch):
                    number += 1
                    # a dictionary's text is one in the batch and one per row here
                    decoded += sum(len(value) for value in row.values() if type(value) is str)
                    if decoded > ceiling:
                        raise UserError(
                            f"{path}: {path.stat().st_size:,} bytes unfold to more than {ceiling:,} by row "
                            f"{number:,}; refused. Write it again as JSONL if this is meant"
                        )
                    yield number, row, problem


def _converted(batch: Any) -> Iterator[tuple[Row, str]]:
    convert = _as_text if any(_holds_bytes(field.type) for field in batch.schema) else _as_it_is
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


def _as_it_is(value: Any) -> Any:
    return value


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
        return f"a key appears twice in a map ({_said(error)})"
    return f"cannot be read ({_said(error)})"


def _said(error: Exception) -> str:
    return str(error).split("\n")[0][:200] or type(error).__name__


def _refuse_doubled(path: Path, schema: Any, columns: Sequence[str] | None) -> None:
    wanted = None if columns is None else {name.split(".")[0] for name in columns}
    names = [name for name in schema.names if wanted is None or name in wanted]
    if twice := [name for name in names if names.count(name) > 1]:
        raise UserError(f"{path}: two columns are called {twice[0]!r}; which one is meant?")
    for name in names:
        _refuse_doubled_fields(path, schema.field(name).type, name)


def _refuse_doubled_fields(path: Path, kind: Any, name: str) -> None:
    below = [kind.field(place) for place in range(kind.num_fields)]
    names = [field.name for field in below]
    if twice := [one for one in names if names.count(one) > 1]:
        raise UserError(f"{path}: two fields of {name} are called {twice[0]!r}; which one is meant?")
    for field in below:
        _refuse_doubled_fields(path, field.type, f"{name}.{field.name}")


def _batch_size(path: Path, raw: IO[bytes], group: Group, number: int, columns: Sequence[str] | None) -> int:
    """How many rows may be decoded at a time; a group that no size makes safe is refused."""
    dictionaries: dict[str, int] = {}  # of each column that is read, the bytes of its dictionary
    values: list[int] = []  # in a row, on average
    for column in group.columns:
        name = column.name
        if columns is not None and not any(f"{name}.".startswith(f"{one}.") for one in columns):
            continue
        if column.unpacked > RATIO_FROM and column.unpacked > MOST_RATIO * max(1, column.packed):
            raise UserError(f"{path}: column {name}: {column.packed:,} bytes unpack to {column.unpacked:,}; refused")
        if column.values > MOST_VALUES * max(1, group.rows) and column.values > BATCH * MOST_VALUES:
            raise UserError(f"{path}: column {name}: {column.values:,} values in {group.rows:,} rows; refused")
        dictionaries[name] = 0
        values.append(-(-column.values // max(1, group.rows)))
        if column.dictionary is not None:
            raw.seek(max(0, column.dictionary))
            size = dictionaries[name] = unpacked_page(raw.read(16))
            if size > LARGEST_DICTIONARY:
                raise UserError(f"{path}: column {name}: a dictionary of {size:,} bytes; refused")
    size = _rows_of(dictionaries.values(), values)
    if 10 * size > min(BATCH, group.rows):
        return size
    return _rows_of(_longest(path, number, columns, dictionaries), values)  # 20 rows at a time would take minutes


def _rows_of(largest: Iterable[int], values: Sequence[int]) -> int:
    """How many rows fit, where each of a column's values may be its largest."""
    return max(1, min(BATCH, BUDGET // max(1, sum(one * many for one, many in zip(largest, values, strict=True)))))


def _longest(path: Path, group: int, columns: Sequence[str] | None, dictionaries: dict[str, int]) -> list[int]:
    """At most so many bytes has a value of each column: the longest text of its dictionary.

    Where that cannot be seen, the bytes of the whole dictionary: no text can be longer. Read as dictionaries, the texts
    are there once, whatever the rows make of them.
    """
    import pyarrow.compute
    import pyarrow.parquet

    sizes = list(dictionaries.values())
    try:
        with pyarrow.parquet.ParquetFile(path, read_dictionary=list(dictionaries)) as file:
            chosen = None if columns is None else list(columns)
            batch = next(file.iter_batches(BATCH, row_groups=[group], columns=chosen))
        leaves = [leaf for column in batch.columns for leaf in _leaves(column)]
        if len(leaves) != len(sizes):
            return sizes
        for place, leaf in enumerate(leaves):
            if pyarrow.types.is_dictionary(leaf.type) and len(leaf.dictionary):
                longest = pyarrow.compute.max(pyarrow.compute.binary_length(leaf.dictionary)).as_py()
                sizes[place] = min(sizes[place], longest)
    except Exception:  # whoever decodes it next will say what is wrong
        pass
    return sizes


def _leaves(array: Any) -> Iterator[Any]:
    """The columns of a nested array, in the order of the file."""
    import pyarrow.types as types

    if types.is_struct(array.type):
        for place in range(array.type.num_fields):
            yield from _leaves(array.field(place))
    elif types.is_map(array.type):
        yield from (*_leaves(array.keys), *_leaves(array.items))
    elif types.is_list(array.type) or types.is_large_list(array.type):
        yield from _leaves(array.values)
    else:
        yield array
