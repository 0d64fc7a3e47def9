"""What every benchmark states about itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from equipoise.items import Item

PAIR_CHANCE = {"original": 1 / 2}  # caption against one negative
TRIPLE_CHANCE = {"original": 1 / 2, "augmented": 1 / 3, "brittleness": 1 / 3}


@dataclass(frozen=True)
class Download:
    """One file at its official address; `bench fetch` says the size before it starts."""

    url: str
    to: str  # path below the folder the user names
    size: int | None = None  # bytes, where known
    sha256: str | None = None
    unpack: bool = False  # an archive, unpacked beside itself


@dataclass(frozen=True)
class Benchmark:
    """One benchmark: facts for `bench list`, a loader, and how its paper averages.

    `load(source, splits)` turns the annotation files below `source` into Items; every item carries the
    tag `split`. `splits` maps each split to the number of items that the published files hold (None
    where nobody published one). `macro` names the tags whose groups are averaged without weights, outermost
    first: ("split",) is the mean of the splits; () is the plain mean over items.
    """

    name: str
    title: str
    splits: Mapping[str, int | None]
    chance: Mapping[str, float]
    ties: str  # how the paper's own code counts a tie; ours is never a win
    licence: str
    citation: str
    url: str
    get: str  # steps that get the files, for people
    load: Callable[[Path, Sequence[str]], list[Item]]
    macro: tuple[str, ...] = ()
    least: int = 1  # groups of the innermost macro tag with fewer items are left out (ARO: 25)
    metrics: tuple[str, ...] = ()  # the paper's metrics beside Original: "tot", "groups", "ranks"
    downloads: tuple[Download, ...] = field(default=())
    drawn: bool = False  # load() draws the images below `source` itself: no files are needed
    notes: str = ""
