"""No substitution more often than asked.

Words have few synonyms and few opposites, so a few dozen substitutions are half of a set, and whoever has seen them
knows a positive from a negative without its photo or its caption. A cap trades texts for that.
"""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from equipoise.items import Item, Text
from equipoise.perturb.bias.refine import KINDS, Kind, keep_texts, rewrite_file

Substitution = tuple[Kind, str, str]  # what was replaced, by what; in small letters


def substitution(kind: Kind, text: Text) -> Substitution | None:
    if text.edit is None or text.edit.op != "replace":
        return None
    return kind, (text.edit.source or "").lower(), (text.edit.to or "").lower()


def cap_items(read: Callable[[], Iterable[Item]], most: int, seed: int = 0, keep_all: bool = False) -> Iterator[Item]:
    """Items with at most so many texts of each substitution, drawn; one left without any text goes, if not keep_all."""
    names = (substitution(kind, text) for item in read() for kind in KINDS for text in getattr(item, kind))
    found = Counter(name for name in names if name is not None)
    rng = random.Random(f"cap {seed}")
    kept = {name: set(rng.sample(range(count), most)) for name, count in sorted(found.items()) if count > most}
    place = {name: itertools.count() for name in kept}

    def keep(kind: Kind, text: Text) -> bool:
        name = substitution(kind, text)
        return name is None or name not in kept or next(place[name]) in kept[name]

    return keep_texts(read, keep, keep_all)


def cap_file(path: Path, most: int, seed: int, keep_all: bool) -> tuple[dict[str, int], dict[str, int]]:
    """An items file in place; returns how many texts there were and are, and the edits that are."""
    return rewrite_file(path, lambda read: cap_items(read, most, seed, keep_all), "--cap left nothing")
