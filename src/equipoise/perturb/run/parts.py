"""The finished parts of a long run, beside its output, so that a killed run goes on where it stopped.

`OUT.parts/manifest.json` says whose parts these are: input, recipe, seed and the code and word lists that wrote them.
`NNNNNN.jsonl` are the items of one shard, `NNNNNN.json` its counts and the hash of its items; the counts are written
last, so a shard with counts is whole. A shard is a pure function of its captions and the manifest, which is why the
joined bytes do not depend on who wrote which part, or when.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from equipoise.core import run_folder
from equipoise.core.errors import UserError
from equipoise.core.files import atomic_write, read_json, sha256_file, write_json


class Parts:
    """The folder of parts of one output file."""

    def __init__(self, out: str | Path, listing: bool = False) -> None:
        self.out = Path(out).resolve()  # parts lie where the output will, so that it can be renamed in one step
        self.folder = self.out.with_name(self.out.name + ".parts")
        self.listing = listing  # whether each shard also lists what was dropped, and why

    @property
    def manifest(self) -> Path:
        return self.folder / "manifest.json"

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Nobody else may write these parts meanwhile; a folder in which nothing was begun goes again."""
        with run_folder.locked(self.folder, name=self.out):
            try:
                yield
            finally:
                with contextlib.suppress(OSError):
                    self.folder.rmdir()

    def open(self, identity: dict[str, Any]) -> None:
        """Begin, or go on with parts of the same run; parts of another run are never mixed in."""
        if (there := run_folder.claim_of(self.manifest)) is not None and there["command"] in (None, "perturb"):
            run_folder.refuse_other(self.folder, *in_words(there["run"], identity))
        run_folder.take(self.folder, "perturb", identity, claim=self.manifest.name)

    def _paths(self, number: int) -> tuple[Path, Path]:
        return self.folder / f"{number:06d}.jsonl", self.folder / f"{number:06d}.json"

    def finished(self, number: int) -> dict[str, object] | None:
        """The counts of a shard whose items are there and whole."""
        items, counts = self._paths(number)
        if not counts.is_file() or not items.is_file() or (self.listing and not self._listed(number).is_file()):
            return None
        try:
            found: dict[str, Any] = read_json(counts)
        except UserError:  # damaged: the shard is done again
            return None
        whole = isinstance(found, dict) and sha256_file(items) == found.get("sha256")
        return found if whole else None

    def _listed(self, number: int) -> Path:
        return self.folder / f"{number:06d}.dropped"

    def write(
        self, number: int, lines: Iterable[str], counts: dict[str, object], dropped: Iterable[str] = ()
    ) -> dict[str, Any]:
        """Write a shard, its counts last."""
        items, beside = self._paths(number)
        if self.listing:
            with atomic_write(self._listed(number), "wb") as handle:
                handle.write("".join(line + "\n" for line in dropped).encode())
        raw = "".join(line + "\n" for line in lines).encode()
        with atomic_write(items, "wb") as handle:
            handle.write(raw)
        counts = {**counts, "sha256": hashlib.sha256(raw).hexdigest()}
        write_json(beside, counts)
        return counts

    def join(self, shards: int) -> Path:
        """All shards in order as one file, still among the parts."""
        joined = self.folder / "joined.jsonl"
        _concatenate([self._paths(number)[0] for number in range(shards)], joined)
        return joined

    def join_dropped(self, shards: int, path: Path) -> None:
        """What all shards dropped, as one file of the user's."""
        _concatenate([self._listed(number) for number in range(shards)], path)

    def publish(self, joined: Path) -> None:
        """Give the joined file the output's name, and remove the parts. Through a symlink its target is replaced."""
        os.replace(joined, self.out)
        self.remove()

    def remove(self) -> None:
        """The manifest goes last: whatever a kill leaves of the folder still says whose it is."""
        for path in self.folder.iterdir() if self.folder.is_dir() else ():
            if path != self.manifest and path.is_file():
                path.unlink(missing_ok=True)
        shutil.rmtree(self.folder, ignore_errors=True)

    def remove_if_of(self, identity: dict[str, Any]) -> None:
        """What a kill during `publish` left behind."""
        there = run_folder.claim_of(self.manifest)
        if there is not None and not run_folder.differences(there["run"], identity):
            self.remove()


def _concatenate(files: Iterable[Path], path: Path) -> None:
    with atomic_write(path, "wb") as target:
        for file in files:
            with file.open("rb") as handle:
                shutil.copyfileobj(handle, target, 1 << 20)


def in_words(there: dict[str, object], here: dict[str, Any]) -> tuple[dict[str, object], dict[str, object]]:
    """Two identities for `run_folder.refuse_other`, with words where a hash would tell a person nothing."""
    found = [dict(there), dict(here)]
    files = [one.pop("input", None) or {} for one in found]
    if files[0] != files[1]:
        names = [", ".join(one) or "nothing" for one in files]
        since = ("as it was then", "which has changed since") if names[0] == names[1] else ("", "")
        for one, name, when in zip(found, names, since, strict=True):
            one["the captions"] = f"{name}, {when}" if when else name
    codes = [one.pop("code", None) for one in found]
    if codes[0] != codes[1]:
        found[0]["the rules"], found[1]["the rules"] = "those of another version", "this version's"
    return found[0], found[1]
