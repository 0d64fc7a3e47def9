"""Tar archives, whole or refused.

Python takes a broken header for the end of the archive, so one flipped byte would lose every member after it and
nobody would know. Everybody who opens a tar here passes `tarinfo=Member` and walks through `members`.
"""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from typing import Self

_PIECE = 2**20
_MOST_BLANK = 64 * 2**20  # archives end in a few kilobytes of zeros; gigabytes of them are a bomb


class Member(tarfile.TarInfo):
    """A header that is an error where it is broken."""

    @classmethod
    def fromtarfile(cls, archive: tarfile.TarFile) -> Self:
        try:
            return super().fromtarfile(archive)
        except tarfile.HeaderError as error:
            if type(error).__name__ in {"EOFHeaderError", "EmptyHeaderError"}:  # the end, with and without its mark
                raise
            raise tarfile.ReadError(str(error)) from None


def members(archive: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
    """Every member; after the end there may be blanks only, else a header was wiped out or two archives were joined."""
    yield from archive
    rest, blank = archive.fileobj, 0
    while rest is not None and (piece := rest.read(_PIECE)):
        blank += len(piece)
        if piece.strip(b"\0") or blank > _MOST_BLANK:
            raise tarfile.ReadError("more data after the end of the archive")
