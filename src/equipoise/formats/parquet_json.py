"""Rows of Parquet as lines of JSON, made by column: a Python object for every value takes ten times as long."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np
import pydantic_core


class Unlike(Exception):
    """A column of a type, or with a value, that is read row by row."""


def json_lines(batch: Any, sparse: Collection[str] = ()) -> list[str]:
    """Each row as `pydantic_core.to_json` writes it, without the columns that are null in it.

    Structs called as in `sparse` are written without their nulls too. Raises Unlike, or whatever pyarrow does, where
    rows must be looked at one by one.
    """
    batch.validate(full=True)  # UTF-8
    if not batch.num_columns:
        raise Unlike("no columns")
    columns = [_json(column, name, sparse) for name, column in zip(batch.schema.names, batch.columns, strict=True)]
    return list(_object(batch.schema.names, columns, True).to_numpy(zero_copy_only=False).tolist())


def _json(array: Any, name: str, sparse: Collection[str]) -> Any:
    """An array of strings: the JSON of each value; null stays null."""
    import pyarrow
    import pyarrow.types as types

    kind = array.type
    if types.is_string(kind) or types.is_large_string(kind):
        if _special(array):
            return _each(array, lambda value: pydantic_core.to_json(value).decode())
        return _joined('"', array, '"')
    if types.is_integer(kind) or types.is_boolean(kind):
        return array.cast(pyarrow.string())
    if types.is_float64(kind):
        return _each(array, lambda value: pydantic_core.to_json(value, inf_nan_mode="constants").decode())
    if types.is_struct(kind):
        names = [kind.field(place).name for place in range(kind.num_fields)]
        if not names:
            raise Unlike("a struct without fields")
        fields = [_json(*one, sparse) for one in zip(array.flatten(), names, strict=True)]
        return _where(array, _object(names, fields, name in sparse))
    if types.is_map(kind) and types.is_string(kind.key_type):
        return _where(array, _joined("{", _map(array, sparse), "}"))
    if types.is_list(kind) or types.is_large_list(kind):
        offsets, values = _below(array, array.values)
        return _where(array, _joined("[", _concatenated(offsets, _json(values, name, sparse)), "]"))
    raise Unlike(str(kind))


def _special(array: Any) -> bool:
    """Whether some text has a character that stands in JSON as something else."""
    if array.buffers()[2] is None:
        return False
    width = np.int64 if array.type == "large_string" else np.int32
    ends = np.frombuffer(array.buffers()[1], width)[array.offset : array.offset + len(array) + 1]
    letters = np.frombuffer(array.buffers()[2], np.uint8)[ends[0] : ends[-1]] if len(array) else np.zeros(0, np.uint8)
    return bool(((letters < 0x20) | (letters == ord('"')) | (letters == ord("\\"))).any())


def _object(names: Sequence[str], fields: Sequence[Any], drop_nulls: bool) -> Any:
    import pyarrow.compute as compute

    keys = [json.dumps(name, ensure_ascii=False) + ":" for name in names]
    parts = [
        compute.fill_null(_joined(key, field, ","), "" if drop_nulls else f"{key}null,")
        for key, field in zip(keys, fields, strict=True)
    ]
    return _joined("{", compute.utf8_rtrim(_joined(*parts), ","), "}")


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
    pairs = _joined(_json(keys, "", sparse), ":", compute.fill_null(_json(values, "", sparse), "null"))
    return _concatenated(offsets, pairs)


def _below(array: Any, *below: Any) -> tuple[Any, ...]:
    """Where each row begins and ends in the columns below, and the part of these that belongs to the rows."""
    offsets = array.offsets.to_numpy()
    first, last = int(offsets[0]), int(offsets[-1])
    return offsets - first, *(one.slice(first, last - first) for one in below)


def _concatenated(offsets: Any, values: Any) -> Any:
    """The values of each row with commas between."""
    import pyarrow
    import pyarrow.compute as compute

    whole = compute.fill_null(values, "null").cast(pyarrow.string())
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
