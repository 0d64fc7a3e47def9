"""REPLACE's words, from data/words.toml: the lexicon of the paper's files, and what `replace-clean` judges by."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

_DATA = tomllib.loads((Path(__file__).with_name("data") / "words.toml").read_text(encoding="utf-8"))


def words(name: str) -> frozenset[str]:
    return _words(_DATA["sets"][name])


def _words(text: str) -> frozenset[str]:
    found = [part.strip() for part in text.split(",")]
    shared = [words(part[1:]) for part in found if part.startswith("@")]
    return frozenset(part for part in found if not part.startswith("@")).union(*shared)


LEXICON: dict[str, dict[str, dict[str, str]]] = _DATA["lexicon"]
NEAR, COMPATIBLE, EXCLUDES = (
    {word: _words(text) for word, text in _DATA[name].items()} for name in ("near", "compatible", "excludes")
)
OPPOSITE: dict[str, str] = _DATA["opposite"]
ARTICLES = ("a", "an", "the")
REASONS: dict[str, str] = _DATA["reasons"]
WHILE_HOLDING = re.compile("|".join(_DATA["while_holding"]["patterns"]))
