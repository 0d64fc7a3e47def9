"""Lines and tables of text files, plain or gzipped: numbered, of bounded length, without a byte order mark."""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from equipoise.errors import Problems, UserError
from equipoise.files import read_text

MOST_BYTES = 64 * 2**20  # of a line; a file without line ends must not fill the memory
LONGEST_CELL = 10_000_000  # characters; CREPE's lists of negatives pass the csv module's own limit
QUOTES = "A cell that holds a separator, a quote or a line break must be in double quotes."


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


# ---------------------------------------------------------------------------- tables


def cells(handle: IO[str], delimiter: str, quoted: bool = True) -> Iterator[tuple[int, list[str], str]]:
    """(line where it begins, cells, what is wrong with it) of each row.

    Without `quoted` a cell ends at the next separator, whatever quotes it holds.
    """
    csv.field_size_limit(LONGEST_CELL)
    read = csv.reader(handle, delimiter=delimiter, quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE)
    while True:
        begin = read.line_num + 1
        try:
            row = next(read)
        except StopIteration:
            return
        except csv.Error as error:  # a field above the limit; the reader goes on with the next line
            long = "field limit" in str(error)
            yield begin, [], f"longer than {LONGEST_CELL:,} characters" if long else f"not a table ({error})"
            continue
        yield begin, row, ""


def table(
    path: Path, several: tuple[str, ...] = (), quoted: bool = True
) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """The header of a CSV or TSV file, and (line, cells) of each row that is not empty; all problems at once.

    Columns whose name begins with one of `several` may have the same name.
    """
    text = read_text(path).removeprefix("\ufeff")
    first = text.partition("\n")[0]
    usual = "\t" if kind_of(path) == ".tsv" else ","
    delimiter = ";" if usual not in first and ";" in first else usual  # as Excel writes a CSV where 1,5 is a number
    found = cells(io.StringIO(text, newline=""), delimiter, quoted)
    problems = Problems(str(path))
    _, header, problem = next(found, (1, [], ""))
    if problem:
        problems.add("line 1", problem)
        problems.raise_if_any(QUOTES)
    header = [name.strip() for name in header]
    if twice := [name for name in header if name and header.count(name) > 1 and not name.startswith(several)]:
        raise UserError(f"{path}, line 1: two columns are called {twice[0]!r}; which one is meant?")
    rows: list[tuple[int, list[str]]] = []
    for line, row, problem in found:
        if row and len(row) != len(header):
            problem = f"{len(row)} cells, where the header has {len(header)}"
        if problem:
            problems.add(f"line {line}", problem)
        elif row:
            rows.append((line, row))
    problems.raise_if_any(QUOTES)
    if not rows:
        raise UserError(f"{path}: expected a header and rows, found {'only a header' if text.strip() else 'nothing'}")
    return header, rows
