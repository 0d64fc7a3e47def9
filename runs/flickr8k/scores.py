"""What a model said of the test photos, small enough to keep of every model: 0.1 MB each.

One npz: of each kind of item the scores of caption, positive and negative, of every search its rank, of every pair that
the experts judged the score; beside each the number of its photo, over which intervals are taken.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.files import atomic_write

Arrays = Mapping[str, NDArray[Any]]


def numbers(names: Sequence[str], photos: Sequence[str]) -> NDArray[np.int16]:
    """Which photo each name is."""
    place = {name: number for number, name in enumerate(photos)}
    return np.array([place[name] for name in names], np.int16)


def write_scores(path: Path, arrays: Arrays) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path, "wb") as handle:
        np.savez_compressed(handle, **arrays)


def read_scores(path: Path) -> dict[str, NDArray[Any]]:
    with np.load(path, allow_pickle=False) as held:
        return {name: held[name] for name in held.files}


def read_rows(out: Path, *stages: str) -> Iterator[dict[str, Any]]:
    """The lines of what run.py wrote: a folder with one file for each model, or a file of them all (keep.py)."""
    if out.is_file():
        rows = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
        for stage in stages:
            yield from (row for row in rows if row["stage"] == stage)
        return
    for stage in stages:
        for path in sorted((out / stage).glob("*.json")):
            yield json.loads(path.read_text(encoding="utf-8"))
