"""What is asked of columns of Arrow, whoever read them, and many lines as one."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Sequence
from typing import Any, overload

import numpy as np


def texts_of(column: Any) -> list[Any]:
    """The texts of a column, None where it is null."""
    return list(column.to_numpy(zero_copy_only=False).tolist())


def rows_of(column: Any) -> list[dict[str, str]]:
    """The rows of a struct of texts, equal ones as one and the same object; all are {} where the column is null."""
    names = [column.type.field(place).name for place in range(column.type.num_fields)]
    key = np.zeros(len(column), np.int64)
    if column.null_count:
        return [{}] * len(column)
    coded = [field.dictionary_encode() for field in column.flatten()]
    for one in coded:
        key = np.unique(key, return_inverse=True)[1] * len(one.dictionary) + one.indices.to_numpy()
    _, first, place = np.unique(key, return_index=True, return_inverse=True)
    values = [texts_of(one.dictionary.take(one.indices.take(first))) for one in coded]
    rows = [dict(zip(names, row, strict=True)) for row in zip(*values, strict=True)]
    return [rows[index] for index in place.tolist()]


def distinct(parts: Sequence[Any]) -> bool:
    """Whether no text stands twice in these arrays of texts."""
    import pyarrow
    import pyarrow.compute as compute

    texts = pyarrow.chunked_array([*parts], pyarrow.string())
    return bool(compute.count_distinct(texts, mode="all").as_py() == len(texts))


def every(answers: Any) -> bool:
    """Whether all of them are true that are not null."""
    import pyarrow.compute as compute

    return compute.all(answers).as_py() in (True, None)


def written(texts: Any) -> bool:
    """Whether each has something else than white space in it."""
    import pyarrow.compute as compute

    if texts.null_count:
        return False
    plain = compute.match_substring_regex(texts, "[!-~]")  # nearly all have a letter of ASCII
    return every(plain) or all(text.strip() for text in texts.filter(compute.invert(plain)).to_pylist())


def of_length(lists: Any, count: int) -> bool:
    """Whether each is null or has so many values."""
    import pyarrow.compute as compute

    return every(compute.equal(compute.list_value_length(lists), count)) and not int(lists.flatten().null_count)


def among(texts: Any, known: Collection[str]) -> bool:
    """Whether every text is one of these, or null."""
    import pyarrow
    import pyarrow.compute as compute

    there = compute.is_in(texts, pyarrow.array(known, texts.type), skip_nulls=True)
    return bool((compute.sum(there).as_py() or 0) == len(texts) - texts.null_count)


class Lines(Sequence[bytes]):
    """Many lines in one piece of memory: a million objects would take a third more."""

    def __init__(self) -> None:
        self._text = bytearray()
        self._starts, self._ends = array("q"), array("q")

    def append(self, line: bytes) -> None:
        self._starts.append(len(self._text))
        self._text += line
        self._ends.append(len(self._text))

    def extend(self, lines: Any) -> None:
        """All lines of some bytes, with their ends; or the texts of a column that has no null."""
        text: bytes | memoryview
        ends: Any
        if isinstance(lines, bytes):
            text, ends = lines, np.flatnonzero(np.frombuffer(lines, np.uint8) == ord("\n")) + 1
            ends = ends if text.endswith(b"\n") else np.append(ends, len(text))
        else:
            _, places, texts = lines.buffers()
            ends = np.frombuffer(places, np.int32)[lines.offset : lines.offset + len(lines) + 1]
            text, ends = memoryview(texts)[ends[0] : ends[-1]], ends[1:] - ends[0]
        ends = ends.astype(np.int64) + len(self._text)
        self._starts.append(len(self._text))
        self._starts.frombytes(ends[:-1].tobytes())
        self._ends.frombytes(ends.tobytes())
        self._text += text

    def __len__(self) -> int:
        return len(self._ends)

    @overload
    def __getitem__(self, index: int) -> bytes: ...
    @overload
    def __getitem__(self, index: slice) -> Lines: ...
    def __getitem__(self, index: int | slice) -> bytes | Lines:
        if isinstance(index, slice):
            part = Lines()
            part._text, part._starts, part._ends = self._text, self._starts[index], self._ends[index]
            return part
        return bytes(self._text[self._starts[index] : self._ends[index]])
