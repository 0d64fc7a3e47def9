"""Zip archives from elsewhere, unpacked as data: nothing leaves the folder, nothing stays when refused.

Left to itself, zipfile silently renames `../x` to `x` and takes any size.
"""

from __future__ import annotations

import filecmp
import shutil
import stat
import zipfile
import zlib
from collections.abc import Callable, Sequence
from lzma import LZMAError
from pathlib import Path

from equipoise.core.errors import Problems, UserError
from equipoise.core.files import stays_inside

MOST_FILES = 500_000  # COCO train2017, the largest archive we know of, has 118,288
MOST_BYTES = 200 * 2**30
MOST_RATIO = 100  # unpacked : packed; annotation files reach 30, photos 1
RATIO_FROM = 100 * 2**20  # below this a high ratio is harmless (a small file of blanks)
_DAMAGED = (zipfile.BadZipFile, zlib.error, LZMAError, EOFError, NotImplementedError, ValueError, RuntimeError, OSError)


def safe_unpack(archive: Path, into: Path, show: Callable[[int, int], None] = lambda done, total: None) -> list[str]:
    """Unpack a zip into `into`, all of it or nothing; the names that now lie there at the top.

    Files that lie there already with the very same bytes are kept, so a second run after a kill works; others are never
    overwritten. `show` is told the bytes written so far, and in all.
    """
    into.mkdir(parents=True, exist_ok=True)
    fresh = into / f".{archive.name}.unpacking"  # inside `into`: a rename never crosses a file system
    try:
        shutil.rmtree(fresh, ignore_errors=True)  # of a run that was killed
        fresh.mkdir()
        with zipfile.ZipFile(archive) as packed:
            _check(archive, packed.infolist())
            done, total = 0, sum(info.file_size for info in packed.infolist())
            for info in packed.infolist():
                target = fresh / info.filename
                folder = target if info.is_dir() else target.parent
                folder.mkdir(parents=True, exist_ok=True)
                if not info.is_dir():
                    with packed.open(info) as source, target.open("xb") as handle:  # "x": no name twice
                        shutil.copyfileobj(source, handle, 2**20)
                    done += info.file_size
                    show(done, total)
        names = sorted(path.name for path in fresh.iterdir())
        _move(archive, fresh, into)
        return names
    except _DAMAGED as error:
        raise UserError(
            f"{archive}: could not be unpacked ({error}); nothing was unpacked. If it is damaged, or no zip, delete it "
            "and get it again"
        ) from error
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _check(archive: Path, members: Sequence[zipfile.ZipInfo]) -> None:
    """Every offending member in one error, before anything is written."""
    problems = Problems(f"{archive}: refused, nothing was unpacked")
    for info in members:
        kind = stat.S_IFMT(info.external_attr >> 16)  # 0 where the archive was not made on Unix
        if not stays_inside(info.filename):
            problems.add(repr(info.filename[:200]), "its path leaves the folder")
        elif kind not in (0, stat.S_IFREG, stat.S_IFDIR):
            problems.add(repr(info.filename[:200]), "a link or a device, neither a file nor a folder")
    packed, total = archive.stat().st_size, sum(info.file_size for info in members)
    ceiling = min(MOST_BYTES, max(RATIO_FROM, packed * MOST_RATIO))
    if total > ceiling:
        problems.add("", f"{packed:,} bytes unpack to {total:,}; at most {ceiling:,} are unpacked")
    if not 0 < len(members) <= MOST_FILES:
        problems.add("", f"{len(members):,} members, where 1 to {MOST_FILES:,} are unpacked")
    problems.raise_if_any("Delete it and get it again from a source you trust.")


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
