"""The elements of a JSON list, one after another, without the whole file in memory."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import IO, Any

from equipoise.errors import UserError
from equipoise.formats.json_text import DECODER, DoubledKey, line_of_doubled

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
    window, decoder = _Window(handle), DECODER
    assert window.peek() == "["
    window.at += 1
    if window.peek() == "]":
        return
    while True:
        window.peek()
        yield _element(window, decoder, name)
        mark = window.peek()
        if mark == "]":
            return
        if mark != ",":
            found = repr(mark) if mark else "the end of the file"
            raise UserError(f"{name}, line {window.line_here()}: not JSON (expected ',' or ']', found {found})")
        window.at += 1


def _element(window: _Window, decoder: json.JSONDecoder, name: str) -> Any:
    while True:
        try:
            value, end = decoder.raw_decode(window.text, window.at)
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
