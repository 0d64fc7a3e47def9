"""The word lists of perturb by their names: perturb/data/vocabulary.txt, which says what each is for."""

from __future__ import annotations

import functools
import re
from importlib import resources

_SECTION = re.compile(r"\[([^\]]+)\]")


def word_set(name: str) -> frozenset[str]:
    """For asking whether a list holds a word."""
    return frozenset(_lists()[name])


def word_list(name: str) -> tuple[str, ...]:
    """In the order of the file, for drawing from it."""
    return _lists()[name]


@functools.cache
def _lists() -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    section: list[str] = []
    text = resources.files("equipoise.perturb").joinpath("data", "vocabulary.txt").read_text(encoding="utf-8")
    for line in text.splitlines():
        if match := _SECTION.fullmatch(line):
            if match[1] in found:
                raise ValueError(f"perturb/data/vocabulary.txt: two lists are called {match[1]!r}")
            section = found[match[1]] = []
        elif not line.startswith("#"):
            section += (word.strip() for word in line.split(",") if word.strip())
    return {name: tuple(words) for name, words in found.items()}
