"""Lines of text files, plain or gzipped: numbered, of bounded length, without a byte order mark."""

from __future__ import annotations

import contextlib
import gzip
import io
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from equipoise.errors import UserError

MOST_BYTES = 64 * 2**20  # of a line; a file without line ends must not fill the memory


def kind_of(path: Path) -> str:
    """.json for captions.json and captions.json.gz."""
    return (Path(path.stem).suffix if path.suffix.lower() == ".gz" else path.suffix).lower()


def opened(path: Path) -> IO[bytes]:
    return gzip.open(path, "rb") if path.suffix.lower() == ".gz" else path.open("rb")  # type: ignore[return-value]


@contextlib.contextmanager
def whole(path: Path) -> Iterator[None]:
    """What reading a file may raise, as errors for people."""
    try:
        yield
    except PermissionError:
        raise UserError(f"{path}: no permission to read it") from None
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not UTF-8 text ({error.reason})") from None
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise UserError(f"{path}: not a whole gzip file; pack or download it again") from None


def as_text(path: Path, newline: str | None = None, errors: str = "surrogateescape") -> IO[str]:
    """Bytes that are not UTF-8 become surrogates, which the reader finds and names."""
    return io.TextIOWrapper(opened(path), "utf-8-sig", errors, newline)


def lines(path: Path, most: int = 0, errors: str = "strict") -> Iterator[tuple[int, str, str]]:
    """(number, line, what is wrong with it) of each line, with its end. Of one that is longer than `most` bytes the
    rest is skipped, not stored."""
    most = most or MOST_BYTES
    with opened(path) as handle:
        number = 0
        while line := handle.readline(most):
            number += 1
            piece, problem = line, ""
            while not piece.endswith(b"\n") and (piece := handle.readline(most)):
                problem = f"longer than {most:,} bytes; the rest was not looked at"
            line = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
            try:
                text = line.decode("utf-8", errors)
            except UnicodeDecodeError as error:
                text, problem = "", problem or f"not UTF-8 text (byte {error.start} of the line)"
            yield number, text, problem
