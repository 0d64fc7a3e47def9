"""Ways in which a file goes wrong: its bytes, its values, and those that change nothing of what it says."""

from __future__ import annotations

import csv
import io
import json
import random
from collections.abc import Callable
from typing import Any

VALUES: list[Any] = [
    None, True, False, 0, -1, 1, 0.5, 1e308, -1e308, 5e-324, 10**30, 2**63, -(2**63) - 1, float("nan"), float("inf"),
    -float("inf"), "", " ", "x", "\x1b[31mred\x1b[0m", "\u202eabc", "\ud800", "\x00", "é\u0301", "\U0001f600", "=1+1",
    "../../etc/passwd", "/etc/passwd", "a\nb", "a\r\nb", "1", "1.0", "NaN", "<script>", "a" * 5000, [], {}, [[]],
    [None], [1, "x"], {"": None}, {"id": 1}, [0.1] * 200, "\ufeff", "C:\\x", "a/../b", "[bold]", "0x10", "1_000",
    "１２",
]  # fmt: skip
BYTES = [
    b"1" * 5000, b"-1e999", b"NaN", b"[" * 5000, b'{"a":' * 3000, b'"\\ud800"', b'"\\u001b[31m"', b"null", b"\xff\xfe",
    b"\0" * 600, b"\x1b]0;x\x07", b"=cmd()", b"99999999999999999999", b"\r", b"\n", b"\r\n", b"\xe2\x80\xa8", b"\x0c",
    b'"', b",", b"\t", b"\xef\xbb\xbf", b"\x80", b"\x1c", b"\x85", b"}", b"]", b":", b"\\", b"0", b"-", b"e9", b"1e400",
]  # fmt: skip


def of_bytes(data: bytes, draw: random.Random) -> bytes:
    for _ in range(draw.choice((1, 1, 1, 2, 3, 5))):
        place = draw.randrange(len(data) + 1)
        end = min(len(data), place + draw.choice((1, 1, 2, 4, 8, 16, 64, 300)))
        what = draw.randrange(8)
        if what == 0 and place < len(data):
            data = data[:place] + bytes([data[place] ^ (1 << draw.randrange(8))]) + data[place + 1 :]
        elif what == 1 and place < len(data):
            data = data[:place] + bytes([draw.randrange(256)]) + data[place + 1 :]
        elif what == 2:
            data = data[:place]
        elif what == 3:
            data = data[:place] + data[end:]
        elif what == 4:
            data = data[:end] + data[place:]
        elif what == 5:
            data = data[:place] + draw.choice(BYTES) + data[end if draw.random() < 0.5 else place :]
        elif what == 6:
            lines = data.split(b"\n")
            one, two = draw.randrange(len(lines)), draw.randrange(len(lines))
            lines.insert(one, lines[two])
            data = b"\n".join(lines)
        else:
            data = data[:place] + draw.randbytes(draw.choice((1, 2, 4, 8))) + data[end:]
    return data


def of_value(value: Any, draw: random.Random) -> Any:
    """The value with something in it changed, at a random depth."""
    if isinstance(value, dict) and value and draw.random() < 0.9:
        key = draw.choice(list(value))
        what = draw.random()
        if what < 0.1:
            return {k: v for k, v in value.items() if k != key}
        if what < 0.15:
            return {(draw.choice(("", "x", key.upper(), key + " ")) if k == key else k): v for k, v in value.items()}
        if what < 0.2:
            return value | {draw.choice(("extra", "id", "", "\x1b[0m", "__class__")): draw.choice(VALUES)}
        return value | {key: of_value(value[key], draw)}
    if isinstance(value, list) and value and draw.random() < 0.9:
        place, what = draw.randrange(len(value)), draw.random()
        if what < 0.1:
            return value[:place] + value[place + 1 :]
        if what < 0.2:
            return [*value, value[place]]
        return [*value[:place], of_value(value[place], draw), *value[place + 1 :]]
    if isinstance(value, float) and value == value and draw.random() < 0.5:  # round() of NaN raises
        return draw.choice((value + draw.choice((1e-9, -1e-9, 0.1, -0.1)), 0.25, 0.5, -0.0, 0.0, round(value), -value))
    if isinstance(value, str) and draw.random() < 0.3:
        return draw.choice(
            (value + "\x1b[2J", value + "\u2028", value * 50, value[::-1], value + "\ud83d", value + " ")
        )
    return draw.choice(VALUES)


def dumped(value: Any, draw: random.Random) -> bytes:
    """JSON of it, in one of the ways in which people's programs write it."""
    text = json.dumps(
        value,
        ensure_ascii=draw.random() < 0.7,
        separators=draw.choice(((", ", ": "), (",", ":"), (" ,\t", " : "))),
    )
    return text.encode("utf-8", "surrogatepass")


def json_file(data: bytes, draw: random.Random) -> bytes:
    return dumped(of_value(json.loads(data), draw), draw)


def json_lines(data: bytes, draw: random.Random) -> bytes:
    rows = [json.loads(line) for line in data.splitlines()]
    for _ in range(draw.choice((1, 1, 2, 4))):
        place = draw.randrange(len(rows))
        rows[place] = of_value(rows[place], draw)
    return b"".join(dumped(row, draw) + draw.choice((b"\n", b"\n", b"\r\n", b"\n\n")) for row in rows)


def table(mark: str) -> Callable[[bytes, random.Random], bytes]:
    def change(data: bytes, draw: random.Random) -> bytes:
        rows = list(csv.reader(io.StringIO(data.decode()), delimiter=mark))
        for _ in range(draw.choice((1, 1, 2, 4))):
            row = draw.choice(rows[: draw.choice((1, len(rows)))])
            if row:
                what, cell = draw.random(), draw.randrange(len(row))
                if what < 0.1:
                    row.pop(cell)
                elif what < 0.2:
                    row.append(row[cell])
                else:
                    value = draw.choice(VALUES)
                    row[cell] = value if isinstance(value, str) else json.dumps(value)
        out = io.StringIO()
        writer = csv.writer(out, delimiter=mark, lineterminator=draw.choice(("\n", "\r\n")))
        for row in rows:
            writer.writerow(row)
        return out.getvalue().encode("utf-8", "surrogatepass")

    return change


def same_lines(data: bytes, draw: random.Random) -> bytes:
    """The same records, written otherwise: order of keys, blanks, escapes, ends of lines, a byte order mark."""
    mark = b"\xef\xbb\xbf" if draw.random() < 0.3 else b""
    rows = [json.loads(line) for line in data.splitlines()]
    rows = [dict(draw.sample(list(row.items()), len(row))) for row in rows]
    end = draw.choice((b"\n", b"\r\n"))
    return mark + end.join(dumped(row, draw) for row in rows) + draw.choice((b"", end))
