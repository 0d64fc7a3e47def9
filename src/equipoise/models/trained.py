"""Which items a model was finetuned on, kept in its folder, so that an evaluation on the same items can say so.

The card's sha256 of all items knows only whether a file is the same; a part of it, or a file with some items in common,
is as spoilt. So a short hash of each item lies beside the weights: of its photo's path and its caption, whatever hard
texts were written for it since.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from equipoise.files import atomic_write
from equipoise.items import Item

NAME = "trained_items.txt"
MOST = 2_000_000  # items: 34 MB; of more, nothing is kept
_LENGTH = 16  # hexadecimal digits: two of a million items agree by chance once in 37 million runs


def key(item: Item) -> str:
    photo = item.image.path if item.image is not None else ""
    return hashlib.sha256(f"{photo}\n{item.caption}".encode()).hexdigest()[:_LENGTH]


def keys_of(model: Any, items: Sequence[Item]) -> frozenset[str] | None:
    """Of the items, and of those that the model had been finetuned on before; None where they are too many."""
    if len(items) > MOST:
        return None
    keys = frozenset(map(key, items)) | (_read(getattr(model, "folder", None)) or frozenset())
    return keys if len(keys) <= MOST else None


def write_keys(folder: Path, keys: frozenset[str] | None) -> None:
    if keys is not None:
        with atomic_write(folder / NAME) as handle:
            handle.writelines(f"{one}\n" for one in sorted(keys))


def trained_on(model: Any, items: Sequence[Item]) -> int | None:
    """How many of the items the model was finetuned on; None where its folder does not say."""
    known = _read(getattr(model, "folder", None))
    return None if known is None else sum(key(item) in known for item in items)


def _read(folder: Path | None) -> frozenset[str] | None:
    path = None if folder is None else folder / NAME
    if path is None or not path.is_file() or path.stat().st_size > MOST * (_LENGTH + 1):
        return None
    return frozenset(path.read_text(encoding="ascii", errors="replace").split())
