"""JSON that says one thing: a key that stands twice in an object is an error with its line.

Python and pydantic take the last of the two in silence, so a file that two people edited would be half believed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from json import decoder, scanner
from typing import IO, Any

from equipoise.errors import UserError


class DoubledKey(ValueError):
    """The key, and its line (of the second one) where it is known."""

    def __init__(self, key: str, line: int | None = None) -> None:
        super().__init__(f"the key {key[:100]!r} stands twice in one object")
        self.key, self.line = key, line


def _single(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        raise DoubledKey(next(key for key, _ in pairs if key in seen or seen.add(key)))  # type: ignore[func-returns-value]
    return found


DECODER = json.JSONDecoder(object_pairs_hook=_single)  # nearly as fast as json.loads: one call for each object


def parse(text: str) -> Any:
    """The value of `text`. Raises ValueError (JSONDecodeError, DoubledKey, 5,000 digits) or RecursionError."""
    return DECODER.decode(text)


def why(error: ValueError | RecursionError) -> str:
    """What `parse` raised, in words."""
    if isinstance(error, RecursionError):
        return "JSON nested too deeply to be read"
    if isinstance(error, json.JSONDecodeError):
        return f"not JSON ({error.msg})"
    return str(error) if isinstance(error, DoubledKey) else f"JSON that cannot be read ({error})"


def line_of_doubled(text: str) -> int | None:
    """The line of the first doubled key of `text`. Slow, so it is asked only where there is one."""
    slow = json.JSONDecoder(object_pairs_hook=_single)

    def objects(start: Any, strict: bool, scan: Any, hook: Any, pairs_hook: Any, memo: Any) -> Any:
        places: list[int] = []

        def noted(whole: str, at: int) -> Any:
            places.append(at)
            return scan(whole, at)

        def single(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
            try:
                return _single(pairs)
            except DoubledKey as doubled:
                second = [place for (key, _), place in zip(pairs, places, strict=True) if key == doubled.key][1]
                raise DoubledKey(doubled.key, text.count("\n", 0, second) + 1) from None

        return decoder.JSONObject(start, strict, noted, hook, single, memo)  # type: ignore[attr-defined]

    slow.parse_object = objects  # type: ignore[attr-defined]
    slow.scan_once = scanner.py_make_scanner(slow)  # type: ignore[attr-defined]
    try:
        slow.decode(text)
    except DoubledKey as doubled:
        return doubled.line
    except (ValueError, RecursionError):
        pass
    return None


# ---------------------------------------------------------------------------- a list, without the whole file in memory

_BLANK = re.compile(r"[ \t\r\n]*")
_CHUNK = 1 << 16
_LONGEST = 1 << 26  # characters of one element


class _Window:
    """The part of the file that is being read. It grows while an element is not complete, so reading stays linear."""

    def __init__(self, handle: IO[str]) -> None:
        self.handle, self.text, self.at, self.line = handle, "", 0, 1

    def more(self) -> bool:
        """Forget what was read and read on; False at the end of the file."""
        self.line += self.text.count("\n", 0, self.at)
        self.text, self.at = self.text[self.at :], 0
        new = self.handle.read(max(_CHUNK, len(self.text)))
        self.text += new
        return bool(new)

    def peek(self) -> str:
        """The next character that is not blank; empty at the end of the file."""
        while True:
            match = _BLANK.match(self.text, self.at)
            self.at = match.end() if match else self.at
            if self.at < len(self.text):
                return self.text[self.at]
            if not self.more():
                return ""

    def line_here(self) -> int:
        return self.line + self.text.count("\n", 0, self.at)


def json_array(handle: IO[str], name: str) -> Iterator[Any]:
    """The elements of the list that `handle` holds; a syntax error names its line."""
    window = _Window(handle)
    assert window.peek() == "["
    window.at += 1
    if window.peek() == "]":
        return
    while True:
        window.peek()
        yield _element(window, name)
        mark = window.peek()
        if mark == "]":
            return
        if mark != ",":
            found = repr(mark) if mark else "the end of the file"
            raise UserError(f"{name}, line {window.line_here()}: not JSON (expected ',' or ']', found {found})")
        window.at += 1


def _element(window: _Window, name: str) -> Any:
    while True:
        try:
            value, end = DECODER.raw_decode(window.text, window.at)
        except RecursionError:
            raise UserError(f"{name}, line {window.line_here()}: nested too deeply to be captions") from None
        except json.JSONDecodeError as error:
            if len(window.text) < _LONGEST and window.more():
                continue
            line = window.line + window.text.count("\n", 0, error.pos)
            raise UserError(f"{name}, line {line}: not JSON ({error.msg})") from None
        except DoubledKey as error:
            below = line_of_doubled(window.text[window.at :]) or 1
            raise UserError(f"{name}, line {window.line_here() + below - 1}: {error}") from None
        except ValueError as error:  # a number of 5,000 digits
            raise UserError(f"{name}, line {window.line_here()}: cannot be read ({error})") from None
        # A number at the very end of the window may go on after it.
        if end == len(window.text) and not isinstance(value, str | dict | list) and window.more():
            continue
        window.at = end
        return value
