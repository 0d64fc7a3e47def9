"""JSON that says one thing: a key that stands twice in an object is an error with its line.

Python and pydantic take the last of the two in silence, so a file that two people edited would be half believed.
"""

from __future__ import annotations

import json
from json import decoder, scanner
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
