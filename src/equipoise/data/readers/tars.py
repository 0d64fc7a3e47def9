"""Reads tar archives; a damaged one is refused instead of read in part.

Python takes a broken header for the end of the archive, so one flipped byte would silently lose every member after
it. Code that opens a tar passes `tarinfo=Member` and iterates over `members`.
"""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from typing import Self

_PIECE = 2**20
_LARGEST_HEADER = 2**20
_LONG_HEADERS = (
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
)
_MOST_BLANK = 64 * 2**20  # archives end in a few kilobytes of zeros; gigabytes of them are a bomb


class TarMember(tarfile.TarInfo):
    """A header that is an error where it is broken."""

    @classmethod
    def fromtarfile(cls, archive: tarfile.TarFile) -> Self:
        try:
            member = super().fromtarfile(archive)
        except tarfile.HeaderError as error:
            if type(error).__name__ == "EOFHeaderError":  # the block of zeros at its end
                raise
            cut = "it ends without its end mark, so it was cut off: get it again, or pack it again with tar"
            raise tarfile.ReadError(cut if type(error).__name__ == "EmptyHeaderError" else str(error)) from None
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, RecursionError) as error:
            raise tarfile.ReadError(f"a header that cannot be read ({error})") from None  # tarfile expects honest ones
        if member.size < 0:
            raise tarfile.ReadError(f"{member.name[:200]!r} has {member.size} bytes")
        return member

    def _proc_member(self, archive: tarfile.TarFile) -> object:
        """Names and headers that continue elsewhere are read by tarfile in one piece: a giant one is a bomb."""
        if self.size < 0 or (self.type in _LONG_HEADERS and self.size > _LARGEST_HEADER):
            raise tarfile.ReadError(f"a header of {self.size:,} bytes")
        return super()._proc_member(archive)  # type: ignore[misc]


def members(archive: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
    """Every member; after the end there may be blanks only, else a header was wiped out or two archives were joined."""
    last = -1
    for member in archive:
        if member.offset <= last:  # a negative size further on would loop forever
            raise tarfile.ReadError("a header that points backwards")
        last = member.offset
        yield member
    rest, blank = archive.fileobj, 0
    while rest is not None and (piece := rest.read(_PIECE)):
        blank += len(piece)
        if piece.strip(b"\0") or blank > _MOST_BLANK:
            raise tarfile.ReadError("more data after the end of the archive")
