"""JSON that says one thing: a key that stands twice in an object is an error with its line.

Python and pydantic take the last of the two in silence, so a file that two people edited would be half believed.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from json import decoder, scanner
from operator import itemgetter
from typing import Any


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


def surely_single(text: str, keys: int) -> bool:
    """Whether no key stands twice in a line that a reader found at least so many distinct keys in.

    A key is a quote and a colon. Where no quote has white space after it there are at least as many of these pairs as
    keys were written, so no more pairs than distinct keys means that none was written twice. False: it cannot be told
    by counting, which is quick but is misled by a text that begins with a colon.
    """
    return text.count('":') <= keys and not ('" ' in text or '"\t' in text or '"\r' in text) and len(text) < _LONG


class Shapes:
    """Tells lines without doubled keys by their shape: most lines of a file are written alike.

    Without a backslash every quote begins or ends a string. What stands between the strings, numbers taken out, is then
    the shape: it says which strings are keys, and of which object. A line of a known shape with known keys needs no
    second reading; any other is parsed.
    """

    def __init__(self) -> None:
        self._keys: dict[bytes, Callable[[list[bytes]], Any]] = {}
        self._single: set[Any] = set()

    def doubled(self, text: str) -> str:
        """What is wrong with a line that is JSON otherwise; "" where no key of it stands twice."""
        parts = text.encode().split(b'"')
        between = b'"'.join(parts[::2])
        shape = between.translate(None, _NUMBERS)
        keys = self._keys.get(shape)
        if keys and len(between) < _LONG and "\\" not in text and (shape, keys(parts)) in self._single:
            return ""
        try:
            parse(text)
        except (ValueError, RecursionError) as error:
            return why(error)
        if "\\" not in text and len(self._single) < _MOST_SHAPES:
            places = [place for place in range(1, len(parts) - 1, 2) if parts[place + 1].lstrip().startswith(b":")]
            if places:
                self._single.add((shape, self._keys.setdefault(shape, itemgetter(*places))(parts)))
        return ""


_NUMBERS = b"0123456789+-.eE"
_LONG = 4_000  # bytes of a line, or between its strings: Python refuses numbers of more digits, and is asked
_MOST_SHAPES = 10_000  # that are kept


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
