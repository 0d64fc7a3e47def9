"""Rows of Parquet as lines of JSON, made by column: a Python object for every value takes ten times as long."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np
import pydantic_core


class Unlike(Exception):
    """A column of a type, or with a value, that is read row by row."""


def json_lines(batch: Any, sparse: Collection[str] = ()) -> Any:
    """An array of strings: each row as `pydantic_core.to_json` writes it, without the columns that are null in it.

    Structs called as in `sparse` are written without their nulls too. Raises Unlike, or whatever pyarrow does, where
    rows must be looked at one by one.
    """
    batch.validate(full=True)  # UTF-8
    if not batch.num_columns:
        raise Unlike("no columns")
    columns = [_json(column, name, sparse) for name, column in zip(batch.schema.names, batch.columns, strict=True)]
    return _joined("{", _object(batch.schema.names, columns, True, batch.num_rows, 0), "}")


# The JSON of each value of a column: a text, the value's own, and another text; null stays null. The texts around it
# are added with those of the column above, as joining them all takes a while each time.
_Column = tuple[str, Any, str]


def _json(array: Any, name: str, sparse: Collection[str]) -> _Column:
    import pyarrow
    import pyarrow.types as types

    kind = array.type
    if types.is_string(kind) or types.is_large_string(kind):
        if _special(array):
            return "", _each(array, lambda value: pydantic_core.to_json(value).decode()), ""
        return '"', array, '"'
    if types.is_integer(kind) or types.is_boolean(kind):
        return "", array.cast(pyarrow.string()), ""
    if types.is_float64(kind):
        return "", _each(array, lambda value: pydantic_core.to_json(value, inf_nan_mode="constants").decode()), ""
    if types.is_struct(kind):
        names = [kind.field(place).name for place in range(kind.num_fields)]
        if not names:
            raise Unlike("a struct without fields")
        fields = [_json(*one, sparse) for one in zip(array.flatten(), names, strict=True)]
        return "{", _where(array, _object(names, fields, name in sparse, len(array), array.null_count)), "}"
    if types.is_map(kind) and types.is_string(kind.key_type):
        return "{", _where(array, _map(array, sparse)), "}"
    if types.is_list(kind) or types.is_large_list(kind):
        offsets, values = _below(array, array.values)
        return "[", _where(array, _concatenated(offsets, _whole(_json(values, name, sparse)))), "]"
    raise Unlike(str(kind))


def _whole(column: _Column) -> Any:
    before, values, after = column
    return _joined(before, values, after) if before or after else values


def _special(array: Any) -> bool:
    """Whether some text has a character that stands in JSON as something else."""
    if array.buffers()[2] is None:
        return False
    width = np.int64 if array.type == "large_string" else np.int32
    ends = np.frombuffer(array.buffers()[1], width)[array.offset : array.offset + len(array) + 1]
    letters = np.frombuffer(array.buffers()[2], np.uint8)[ends[0] : ends[-1]] if len(array) else np.zeros(0, np.uint8)
    return bool(((letters < 0x20) | (letters == ord('"')) | (letters == ord("\\"))).any())


def _object(names: Sequence[str], fields: Sequence[_Column], drop_nulls: bool, rows: int, nulls: int) -> Any:
    """The fields of each row with commas between; in so many rows the object itself is null, and anything may stand."""
    import pyarrow
    import pyarrow.compute as compute

    keys = [json.dumps(name, ensure_ascii=False) + ":" for name in names]
    first_is_there = fields[0][1].null_count == nulls or not drop_nulls
    parts: list[Any] = []
    for place, (key, (before, values, after)) in enumerate(zip(keys, fields, strict=True)):
        # A comma goes before each but the first; where that may be missing, after each, and the last is taken off.
        key, after = ("," + key if place else key, after) if first_is_there else (key, after + ",")
        missing = "" if drop_nulls else key + "null"
        if values.null_count == rows:
            parts.append(missing)
        elif values.null_count:
            parts.append(compute.fill_null(_joined(key + before, values, after), missing))
        else:
            parts += [key + before, values, after]
    parts = _merged(parts)
    whole = (
        pyarrow.array(parts * rows, pyarrow.string())
        if isinstance(parts[-1], str) and len(parts) == 1
        else _joined(*parts)
    )
    return whole if first_is_there else compute.utf8_rtrim(whole, ",")


def _merged(parts: Sequence[Any]) -> list[Any]:
    """Plain texts that follow one another as one."""
    found: list[Any] = []
    for part in parts:
        if isinstance(part, str) and found and isinstance(found[-1], str):
            found[-1] += part
        else:
            found.append(part)
    return found


def _map(array: Any, sparse: Collection[str]) -> Any:
    import pyarrow.compute as compute

    offsets, keys, values = _below(array, array.keys, array.items)
    if keys.null_count:
        raise Unlike("a map with a key that is null")
    if len(keys):
        codes = compute.dictionary_encode(keys).indices.to_numpy(zero_copy_only=False).astype(np.int64)
        row = np.repeat(np.arange(len(array)), np.diff(offsets))
        if len(np.unique(row * len(keys) + codes)) < len(keys):
            raise Unlike("a map with a key twice")
    values = _whole(_json(values, "", sparse))
    before, keys, after = _json(keys, "", sparse)
    return _concatenated(offsets, _joined(before, keys, after + ":", compute.fill_null(values, "null")))


def _below(array: Any, *below: Any) -> tuple[Any, ...]:
    """Where each row begins and ends in the columns below, and the part of these that belongs to the rows."""
    offsets = array.offsets.to_numpy()
    first, last = int(offsets[0]), int(offsets[-1])
    return offsets - first, *(one.slice(first, last - first) for one in below)


def _concatenated(offsets: Any, values: Any) -> Any:
    """The values of each row with commas between."""
    import pyarrow
    import pyarrow.compute as compute

    whole = compute.fill_null(values, "null") if values.null_count else values
    whole = whole if whole.type == pyarrow.string() else whole.cast(pyarrow.string())
    lists = pyarrow.ListArray.from_arrays(pyarrow.array(offsets, pyarrow.int32()), whole)
    return compute.binary_join(lists, ",")


def _joined(*parts: Any) -> Any:
    """The parts of each row one after another; null where one is."""
    import pyarrow.compute as compute

    return compute.binary_join_element_wise(*parts, "")


def _where(array: Any, texts: Any) -> Any:
    """The texts, and null where the array has none."""
    import pyarrow
    import pyarrow.compute as compute

    return compute.if_else(array.is_valid(), texts, pyarrow.scalar(None, texts.type)) if array.null_count else texts


def _each(array: Any, write: Callable[[Any], str]) -> Any:
    import pyarrow

    values = array.to_pylist()
    return pyarrow.array([None if value is None else write(value) for value in values], pyarrow.string())
