"""The photos of a run: one digest of their bytes, and how many may be unreadable.

Two folders may hold other photos under the same names, and a run on one of them is not a run on the other. Size and
date do not tell (a copy has a new date, a changed pixel need not change the size), so the bytes are hashed, each
time a run is started: for a folder those of the items' photos, for tar and Parquet shards the files. That is as fast as
the disk: COCO's 118,287 photos (19 GB) take half a minute at 600 MB per second, and less from memory. A source of
one's own is asked for every photo, unless its attribute `digest` says what its photos are.
"""

from __future__ import annotations

import hashlib
import os
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from equipoise.errors import UserError
from equipoise.files import sha256_file, sha256_json
from equipoise.images.opening import ImageProblem
from equipoise.images.sources import FolderImages, ImageSource, ParquetImages, TarImages, absent
from equipoise.progress import is_quiet, progress
from equipoise.train.data.batches import Part

MAX_SKIPPED = 0.01  # share of the items whose image may be unreadable
SHOWN = 5
_TOGETHER = 1000  # photos handed to the threads at a time: Ctrl-C waits for no more
_BAR_FROM = 5000  # photos that take long enough for a bar
_Found = TypeVar("_Found")


@dataclass(frozen=True)
class Photos:
    sha256: str
    count: int
    unread: list[str]  # "item: why", of items whose photo is missing or cannot be read

    def to_json(self) -> dict[str, str | int]:
        return {"count": self.count, "sha256": self.sha256}


def read_photos(parts: Sequence[Part], *, show: bool = False) -> Photos:
    """Hash the photos of all parts, those of a source that several parts share once."""
    started = time.monotonic()
    sources = {id(part.images): part.images for part in parts}
    wanted: dict[int, dict[str, None]] = {number: {} for number in sources}
    for part in parts:
        wanted[id(part.images)] |= dict.fromkeys(item.image.path for item in part.items if item.image is not None)
    hashed = {number: _hashed(source, sorted(wanted[number]), show) for number, source in sources.items()}
    unread = [
        f"{item.id}: {reason}"
        for part in parts
        for item in part.items
        if item.image is not None and (reason := hashed[id(part.images)][1].get(item.image.path))
    ]
    count = sum(map(len, wanted.values()))
    seconds = time.monotonic() - started
    if show and seconds > 1 and not is_quiet():
        print(f"{count:,} photos hashed in {seconds:.0f} s: they are part of what makes this run", file=sys.stderr)
    return Photos(sha256_json([hashed[id(part.images)][0] for part in parts]), count, unread)


def _hashed(source: ImageSource, paths: Sequence[str], show: bool) -> tuple[str, dict[str, str]]:
    """(digest of the photos, path -> why it cannot be read)."""
    if isinstance(source, TarImages | ParquetImages):
        shards = _in_threads(sha256_file, source.paths, show, "shards")
        problems = {path: f"{path}: not {source}" for path in absent(source, paths)}
        return sha256_json([sorted(shards), sorted(problems)]), problems
    if isinstance(said := getattr(source, "digest", None), str):  # photos that follow from their paths
        return sha256_json([said, list(paths)]), {}
    problems = {}

    def digest(path: str) -> str | None:
        try:
            return hashlib.sha256(source.read(path)).hexdigest()
        except ImageProblem as problem:
            problems[path] = str(problem)
            return None

    if isinstance(source, FolderImages):
        digests: list[str | None] = _in_threads(digest, paths, show and len(paths) >= _BAR_FROM, "photos")
    else:  # somebody's own, which need not stand threads
        digests = [digest(path) for path in paths]
    return sha256_json([list(pair) for pair in zip(paths, digests, strict=True)]), problems


def _in_threads(work: Callable[[Any], _Found], values: Sequence[str | Path], show: bool, unit: str) -> list[_Found]:
    found: list[_Found] = []
    bar = progress(len(values), "hashing", unit) if show else nullcontext(lambda count: None)
    with bar as advance, ThreadPoolExecutor(min(16, 2 * (os.cpu_count() or 1))) as pool:
        for start in range(0, len(values), _TOGETHER):
            found += pool.map(work, values[start : start + _TOGETHER])
            advance(len(found) - start)
    return found


def refuse_skipped(skipped: Sequence[str], items: int, most: float) -> None:
    """Stop a run of which more is skipped than was agreed to: its card would speak of data that it never saw."""
    if len(skipped) <= most * items:
        return
    more = [f"... and {len(skipped) - SHOWN:,} more"] if len(skipped) > SHOWN else []
    told = "\n  ".join([*skipped[:SHOWN], *more])
    raise UserError(
        f"{len(skipped):,} of {items:,} items ({100 * len(skipped) / items:.1f} %) have an image that cannot be read, "
        f"more than --max-skipped {most:g} allows:\n  {told}\n"
        "Is the image folder the right one? Repair or remove them, or allow a larger share with --max-skipped."
    )
