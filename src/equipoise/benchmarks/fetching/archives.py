"""Unpacks downloaded archives safely: nothing is written outside the folder, a refused archive leaves nothing.

Only plain files and folders are taken out, each written by ourselves with default permissions. Python's tarfile
filter "data" would do part of this, but it knows no zip, no size, no number of files and no overwriting, stops at the
first bad member, and in Pythons before 3.11.13 chains of links fool it; so links are refused altogether (no data set
here needs one), and with them the whole class of such tricks. zipfile, left to itself, silently renames `../x` to `x`.
"""

from __future__ import annotations

import contextlib
import filecmp
import gzip
import os
import re
import shutil
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PureWindowsPath
from typing import IO, cast

from equipoise.core.errors import Problems, UserError
from equipoise.data.readers import tars

MOST_FILES = 500_000  # COCO train2017, the largest archive we know of, has 118,288
MOST_BYTES = 200 * 2**30
MOST_RATIO = 100  # unpacked : packed; annotation files reach 30, photos 1
RATIO_FROM = 100 * 2**20  # below this a high ratio is harmless (a small file of blanks)


@dataclass(frozen=True)
class _Member:
    name: str
    size: int
    folder: bool
    oddity: str  # why its kind is refused, or empty
    open: Callable[[], IO[bytes]]


def safe_unpack(archive: Path, into: Path, show: Callable[[int, int], None] = lambda done, total: None) -> list[str]:
    """Unpack a tar, tar.gz or zip into `into`, all of it or nothing; the names that now lie there at the top.

    Files that lie there already with the very same bytes are kept, so a second run after a kill works; others are never
    overwritten. `show` is told the bytes written so far, and in all.
    """
    archive, into = Path(archive), Path(into)
    into.mkdir(parents=True, exist_ok=True)
    temporary = into / f".{archive.name}.unpacking"  # inside `into`: a rename never crosses a file system
    try:
        with _opened(archive) as members:
            total = _check(archive, into, members)
            free = shutil.disk_usage(into).free
            if total > free:
                raise UserError(
                    f"{archive}: {total:,} bytes when unpacked, but {into} has {free:,} free; nothing was unpacked"
                )
            shutil.rmtree(temporary, ignore_errors=True)  # of a run that was killed
            temporary.mkdir()
            _write(temporary, members(), lambda done: show(done, total))
        names = sorted(path.name for path in temporary.iterdir())
        _move(archive, temporary, into)
        return names
    except (tarfile.TarError, zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
        raise UserError(
            f"{archive}: damaged, or not a tar, tar.gz or zip ({error}); nothing was unpacked. Get it again"
        ) from error
    except (OSError, ValueError, RuntimeError) as error:
        raise UserError(f"{archive}: could not be unpacked ({error}); nothing was unpacked") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


@contextlib.contextmanager
def _opened(archive: Path) -> Iterator[Callable[[], Iterator[_Member]]]:
    """A function that runs through the members; called twice, to check and then to write."""
    if not archive.is_file():
        raise UserError(f"{archive}: no such file")
    with archive.open("rb") as raw:
        magic = raw.read(4)
        raw.seek(0)
        if magic[:2] == b"PK":
            with zipfile.ZipFile(raw) as packed:
                _require_all(packed, raw)
                yield lambda: _zip_members(packed)
        elif magic[:2] == b"\x1f\x8b":
            with gzip.GzipFile(fileobj=raw) as unzipped:
                yield lambda: _tar_members(unzipped)
        else:
            yield lambda: _tar_members(raw)


def _require_all(packed: zipfile.ZipFile, raw: IO[bytes]) -> None:
    """The directory ends by saying how many members it lists. zipfile does not look: one flipped byte in the length of
    a comment makes an entry swallow those after it."""
    end = raw.seek(-22 - len(packed.comment), os.SEEK_END)
    (count,) = struct.unpack("<10xH10x", raw.read(22))
    if count == 0xFFFF and end >= 76:  # the count is in a larger record, before the pointer to that
        raw.seek(end - 76)
        (count,) = struct.unpack("<32xQ16x", raw.read(56))
    if count != len(packed.infolist()):
        raise zipfile.BadZipFile(f"{len(packed.infolist()):,} members in a directory of {count:,}")


def _zip_members(packed: zipfile.ZipFile) -> Iterator[_Member]:
    for info in packed.infolist():
        kind = stat.S_IFMT(info.external_attr >> 16)  # 0 where the archive was not made on Unix
        oddity = ""
        if kind == stat.S_IFLNK:
            oddity = "a link; links are never unpacked"
        elif kind not in (0, stat.S_IFREG, stat.S_IFDIR):
            oddity = "neither a file nor a folder"
        elif info.flag_bits & 1:
            oddity = "encrypted"
        # orig_filename, because zipfile cuts `filename` at a NUL byte
        yield _Member(info.orig_filename, info.file_size, info.is_dir(), oddity, lambda info=info: packed.open(info))  # type: ignore[misc]


def _tar_members(raw: IO[bytes] | gzip.GzipFile) -> Iterator[_Member]:
    raw.seek(0)
    with tarfile.open(fileobj=cast(IO[bytes], raw), mode="r:", tarinfo=tars.TarMember) as packed:
        for info in tars.members(packed):
            oddity = ""
            if info.issym() or info.islnk():
                oddity = f"a link to {info.linkname}; links are never unpacked"
            elif not (info.isreg() or info.isdir()):
                oddity = "a device or pipe, neither a file nor a folder"
            yield _Member(info.name, info.size, info.isdir(), oddity, lambda info=info: packed.extractfile(info))  # type: ignore[arg-type, misc]


def _check(archive: Path, into: Path, members: Callable[[], Iterator[_Member]]) -> int:
    """Every offending member in one error; the total size otherwise. Reads names alone, writes nothing."""
    problems = Problems(f"{archive}: refused, nothing was unpacked")
    ceiling = min(MOST_BYTES, max(RATIO_FROM, archive.stat().st_size * MOST_RATIO))
    seen: dict[str, bool] = {}  # cleaned name -> is a folder
    total = 0
    for count, member in enumerate(members(), 1):
        total += member.size
        parts = [part for part in member.name.split("/") if part not in ("", ".")]
        clean = "/".join(parts)
        where = f"member {count}, {member.name[:200]!r}"
        if oddity := member.oddity or _name_oddity(member.name):
            problems.add(where, oddity)
        elif clean in seen and not (seen[clean] and member.folder):
            problems.add(where, "the same name twice")
        seen[clean] = member.folder
        if total > ceiling:  # stop: to go on would unpack the bomb in memory
            problems.add(
                where,
                f"with it {archive.stat().st_size:,} bytes unpack to {total:,}; at most {ceiling:,} are unpacked "
                "(the rest was not looked at)",
            )
            break
        if count > MOST_FILES:
            problems.add(where, f"more than {MOST_FILES:,} members (the rest was not looked at)")
            break
    for name in seen:
        parents = name.split("/")[:-1]
        above = ["/".join(parents[:depth]) for depth in range(1, len(parents) + 1)]
        if through := next((parent for parent in above if not seen.get(parent, True)), None):
            problems.add(repr(name[:200]), f"lies in {through!r}, which is a file")
    if not seen:
        problems.add("", "the archive is empty")
    problems.raise_if_any("Delete it and get it again from a source you trust.")
    return total


def _name_oddity(name: str) -> str:
    if "\0" in name:
        return "a NUL byte in its name"
    if name.startswith(("/", "\\")) or PureWindowsPath(name).drive:
        return "an absolute path"
    if ".." in re.split(r"[\\/]", name):
        return "its path leaves the folder (..)"
    return ""


def _write(folder: Path, members: Iterator[_Member], show: Callable[[int], None]) -> None:
    done = 0
    for member in members:
        target = folder / member.name
        if member.folder:
            target.mkdir(parents=True, exist_ok=True)
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        with member.open() as source, target.open("xb") as handle:  # "x": nothing is written twice
            shutil.copyfileobj(source, handle, 2**20)
            if handle.tell() != member.size:
                raise EOFError(f"{member.name} ends early")
        done += member.size
        show(done)


def _move(archive: Path, fresh: Path, into: Path) -> None:
    """Move all to where it belongs, or nothing where something else lies there."""
    problems = Problems(f"{archive}: some of its files are in the way of others; nothing was unpacked")
    places = [(path, into / path.relative_to(fresh)) for path in sorted(fresh.rglob("*"))]
    for path, there in places:
        if there.is_symlink():
            problems.add(str(there), "a link lies here already")
        elif there.exists() and path.is_dir() != there.is_dir():
            problems.add(str(there), "a file and a folder of one name")
        elif there.is_file() and not filecmp.cmp(path, there, shallow=False):
            problems.add(str(there), "lies here already, with other contents")
    problems.raise_if_any("Move these away, or unpack into another folder.")
    for path, there in places:
        if path.is_dir():
            there.mkdir(exist_ok=True)
        elif not there.exists():
            path.rename(there)
