"""The finished parts of a long run, beside its output, so that a killed run goes on where it stopped.

`OUT.parts/manifest.json` says whose parts these are: input, recipe, seed and the code and word lists that wrote them.
`NNNNNN.jsonl` are the items of one shard, `NNNNNN.json` its counts and the hash of its items; the counts are written
last, so a shard with counts is whole. A shard is a pure function of its captions and the manifest, which is why the
joined bytes do not depend on who wrote which part, or when.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from equipoise.errors import UserError
from equipoise.files import atomic_write, make_folder, read_json, write_json

try:
    import fcntl
except ImportError:  # no such locks on Windows
    fcntl = None  # type: ignore[assignment]


class Parts:
    """The folder of parts of one output file."""

    def __init__(self, out: str | Path) -> None:
        self.out = Path(out).resolve()  # parts lie where the output will, so that it can be renamed in one step
        self.folder = self.out.with_name(self.out.name + ".parts")

    @property
    def manifest(self) -> Path:
        return self.folder / "manifest.json"

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Nobody else may write these parts meanwhile; the lock goes with the process, however that ends."""
        make_folder(self.folder)
        number = os.open(self.folder, os.O_RDONLY) if fcntl else -1
        try:
            if fcntl:
                with contextlib.suppress(OSError):  # a file system without locks
                    try:
                        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    except BlockingIOError:
                        raise UserError(
                            f"{self.out}: another run is writing it now; wait for its end, or name another --out"
                        ) from None
            yield
        finally:
            if fcntl:
                os.close(number)
            with contextlib.suppress(OSError):
                self.folder.rmdir()  # only where nothing was begun

    def open(self, identity: dict[str, Any]) -> None:
        """Begin, or go on with parts of the same run; parts of another run are never mixed in."""
        if self.manifest.is_file():
            found = read_json(self.manifest)
            if found != identity:
                theirs = found if isinstance(found, dict) else {}
                names = sorted(
                    name for name in identity.keys() | theirs.keys() if identity.get(name) != theirs.get(name)
                )
                raise UserError(
                    f"{self.folder}: holds the parts of another run (other {', '.join(names)}). Give the same "
                    f"arguments to finish it, delete the folder to begin anew, or name another --out."
                )
        elif self.folder.exists() and any(not _is_own(path) for path in self.folder.iterdir()):
            raise UserError(f"{self.folder}: not empty and without a manifest; delete it or name another --out")
        else:
            write_json(self.manifest, identity)

    def _paths(self, number: int) -> tuple[Path, Path]:
        return self.folder / f"{number:06d}.jsonl", self.folder / f"{number:06d}.json"

    def finished(self, number: int) -> dict[str, Any] | None:
        """The counts of a shard whose items are there and whole."""
        items, counts = self._paths(number)
        if not counts.is_file() or not items.is_file():
            return None
        try:
            found: dict[str, Any] = read_json(counts)
        except UserError:  # damaged: the shard is done again
            return None
        with items.open("rb") as handle:
            whole = hashlib.file_digest(handle, "sha256").hexdigest() == found.get("sha256")
        return found if whole else None

    def write(self, number: int, lines: Iterable[str], counts: dict[str, Any]) -> dict[str, Any]:
        """Write a shard, its counts last."""
        items, beside = self._paths(number)
        raw = "".join(line + "\n" for line in lines).encode()
        with atomic_write(items, "wb") as handle:
            handle.write(raw)
        counts = {**counts, "sha256": hashlib.sha256(raw).hexdigest()}
        write_json(beside, counts)
        return counts

    def join(self, shards: int) -> Path:
        """All shards in order as one file, still among the parts."""
        joined = self.folder / "joined.jsonl"
        with atomic_write(joined, "wb") as target:
            for number in range(shards):
                with self._paths(number)[0].open("rb") as handle:
                    shutil.copyfileobj(handle, target, 1 << 20)
        return joined

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
        if self.manifest.is_file() and read_json(self.manifest) == identity:
            self.remove()


def _is_own(path: Path) -> bool:
    """A manifest that was being written when the kill came."""
    return path.name.startswith(".manifest.json.")


@functools.cache
def code_hash() -> str:
    """Hash of the rules and word lists: parts written by other rules must not be joined with today's."""
    digest = hashlib.sha256()
    for path in _code_files():
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def _code_files() -> Iterator[Path]:
    package = Path(__file__).resolve().parents[2]
    for folder in (package / "perturb", package / "words"):
        yield from sorted(path for path in folder.rglob("*") if path.suffix in {".py", ".txt", ".gz"})
