"""The headers of a Parquet file: what each column of each group of rows says of itself.

pyarrow has these numbers too, but where a damaged header contradicts itself, asking pyarrow for them ends the process
(`RowGroupMetaData.column` lets a C++ exception through, 26.0.1), which Python cannot catch. So they are read here:
Thrift's compact form, of which a header uses nine kinds of values. The numbers are claims of a stranger; nothing is
allocated by them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from equipoise.core.errors import UserError

TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, STRUCT = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12
DEEPEST = 16  # structs in structs; a footer has six


@dataclass(frozen=True)
class Column:
    name: str  # with dots
    values: int
    unpacked: int
    packed: int
    dictionary: int | None  # where in the file its page begins


@dataclass(frozen=True)
class Group:
    rows: int
    columns: list[Column]


def groups(path: Path) -> list[Group]:
    """The groups of rows of a file that pyarrow has opened, so that its footer is one."""
    with path.open("rb") as raw:
        end = raw.seek(-8, 2)
        length = int.from_bytes(raw.read(4), "little")
        raw.seek(max(0, end - length))
        footer = raw.read(min(length, end))
    try:
        return [_group(one) for one in _Reader(footer).struct()[4]]
    except (AttributeError, IndexError, KeyError, TypeError, ValueError, RecursionError):
        raise UserError(f"{path}: not a Parquet file (its footer is damaged)") from None


def unpacked_page(header: bytes) -> int:
    """The size of a page when unpacked, from the first bytes of its header; 0 where there is no header."""
    fields = _Reader(header).fields()
    try:
        found = {number: value for number, value in (next(fields), next(fields)) if type(value) is int}
    except (IndexError, ValueError, StopIteration):
        return 0  # pyarrow will say what is wrong
    return max(0, found.get(2, 0))


def _group(fields: dict[int, Any]) -> Group:
    return Group(fields[3], [_column(chunk[3]) for chunk in fields[1]])


def _column(fields: dict[int, Any]) -> Column:
    name = ".".join(part.decode("utf-8", "replace") for part in fields[3])
    return Column(name, fields[5], fields[6], fields[7], fields.get(11))


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data, self.place = data, 0

    def struct(self, depth: int = 0) -> dict[int, Any]:
        return dict(self.fields(depth))

    def fields(self, depth: int = 0) -> Iterator[tuple[int, Any]]:
        if depth > DEEPEST:
            raise ValueError("too deep")
        number = 0
        while True:
            head = self._byte()
            if head == 0:
                return
            number = number + (head >> 4) if head >> 4 else self._zigzag()
            kind = head & 15
            yield number, kind == TRUE if kind in (TRUE, FALSE) else self._value(kind, depth)

    def _value(self, kind: int, depth: int) -> Any:
        if kind in (I16, I32, I64):
            return self._zigzag()
        if kind in (TRUE, FALSE, BYTE):
            return self._byte()
        if kind == DOUBLE:
            return self._bytes(8)
        if kind == BINARY:
            return self._bytes(self._varint())
        if kind in (LIST, SET):
            head = self._byte()
            count = head >> 4 if head >> 4 < 15 else self._varint()
            return [self._value(head & 15, depth + 1) for _ in range(count)]
        if kind == STRUCT:
            return self.struct(depth + 1)
        raise ValueError(f"kind {kind}")

    def _byte(self) -> int:
        self.place += 1
        return self.data[self.place - 1]

    def _bytes(self, count: int) -> bytes:
        if count > len(self.data) - self.place:
            raise ValueError("cut")
        self.place += count
        return self.data[self.place - count : self.place]

    def _varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 0x7F) << shift
            if not byte & 0x80:
                return value
            shift += 7
            if shift > 63:
                raise ValueError("too long a number")

    def _zigzag(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)
