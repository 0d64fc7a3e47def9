"""The printed numbers of the two papers, from published.json: rows by table, and the known errors in them.

Read from the papers' own text. Tables 7 and 8 of the hard-positive paper and Figures 4 to 8 of CE-CLIP are pictures in
the text that is at hand, so their numbers are missing; those of its Tables 4 to 6 are counted in its released files
(`equipoise bench build replace` rebuilds them). None of these numbers came with an interval or a seed. A row is named
after one of our models (jobs.py) or, where we have none, as the paper names it.
"""

from __future__ import annotations

import json
from pathlib import Path

Rows = dict[str, list[float | None]]
_KNOWN = json.loads((Path(__file__).parents[1] / "published.json").read_text(encoding="utf-8"))


def rows(name: str) -> Rows:
    printed: Rows = _KNOWN[name]["rows"] if name in _KNOWN else {}
    return printed


def defects(name: str) -> list[str]:
    known: list[str] = _KNOWN[name]["defects"] if name in _KNOWN else []
    return known
