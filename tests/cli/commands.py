"""Helpers that the tests of single commands share."""

from __future__ import annotations

from collections.abc import Callable

Run = Callable[..., tuple[int, str, str]]


EVAL = ("eval", "py:mine:Model", "--bench", "items.jsonl", "--images", "photos")


def refused(result: tuple[int, str, str], *parts: str) -> None:
    code, _, error = result
    message = " ".join(error.split())
    assert code == 2, error
    for part in parts:
        assert part in message, message
