"""Helpers that the studies share: where things are, tables in Markdown and as TSV files, rows, arrays and packed data.

inputs.py has what a script reads, jobs.py what takes long.
"""

from __future__ import annotations

import csv
import gzip
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

from equipoise.core.files import atomic_write

ROOT = Path(__file__).resolve().parents[2]
LANGUAGE = ROOT / "src" / "equipoise" / "language" / "data"
SHARED = ROOT.parent / "shared" / "data"  # other people's files: not in CI
TABLES = "docs/appendix/tables"  # below ROOT: a folder of files for each study
Rows = list[list[str]]  # the first has the heads


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> str:
    """A table in Markdown; the first `left` columns are text, the others numbers."""
    lines = [heads, [*["---"] * left, *["---:"] * (len(heads) - left)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def show(heads: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> None:
    print(table(heads, rows, left), end="\n\n")


def ranged(value: float, interval: tuple[float, float], form: str = ".1f", scale: float = 100) -> str:
    """A number with its interval; shares in percent."""
    low, high = interval
    return f"{scale * value:{form}} [{scale * low:{form}}, {scale * high:{form}}]"


def cells(line: str) -> list[str]:
    """The cells of a line of a table in Markdown."""
    return re.split(r"\s*\|\s*", line.strip().removeprefix("|").removesuffix("|").strip())


def tables_in(text: str) -> Iterator[Rows]:
    """Every table of a text in Markdown."""
    rows: Rows = []
    for line in [*text.splitlines(), ""]:
        if line.startswith("|"):
            rows.append(cells(line))
        elif rows:
            yield [row for row in rows if row[0] != "---"]
            rows = []


def plain(cell: str) -> str:
    """A cell without the marks of Markdown; `*`, the mark of a significant difference, stays."""
    whole = re.fullmatch(r"(\*+)([^*]+)\1", cell)
    return (whole[2] if whole else cell).replace("\\*", "*").replace("`", "")


def file_name(title: str) -> str:
    """A table's file, after its first head."""
    return re.sub(r"[^a-z0-9]+", "-", re.sub("[',]", "", plain(title).lower())).strip("-") + ".tsv"


def tsv(rows: Rows) -> str:
    return "".join("\t".join(map(plain, row)) + "\n" for row in rows)


def read_tsv(text: str) -> str:
    """The table of a TSV file in Markdown."""
    heads, *rows = (line.replace("*", "\\*").split("\t") for line in text.splitlines())
    return table(heads, rows)


def write_tables(folder: Path, files: Mapping[str, str]) -> None:
    """Write exactly these files; files that are already right are not touched."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.glob("*.tsv"):
        if path.name not in files:
            path.unlink()
    for name, text in files.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            with atomic_write(path) as handle:
                handle.write(text)


def opened(path: Path) -> TextIO:
    """Open a text file, unpacked where it is NAME.gz."""
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8", newline="")
    return path.open(encoding="utf-8", newline="")


def read_rows(path: Path) -> list[dict[str, str]]:
    """Read the rows of a table with heads: NAME.csv, or columns divided by tabs; maybe packed."""
    with opened(path) as handle:
        return list(csv.DictReader(handle, delimiter="," if ".csv" in path.suffixes else "\t"))


def read_lines(path: Path) -> list[Any]:
    """Read lines of JSON, maybe packed."""
    with opened(path) as handle:
        return list(map(json.loads, handle))


def read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    with np.load(path, allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}


def write_arrays(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path, "wb") as handle:
        np.savez_compressed(handle, allow_pickle=False, **dict(arrays))


def write_packed(path: Path, data: Any, **options: Any) -> int:
    """Write gzipped JSON without a date, so that the same data gives the same bytes; return the number of bytes."""
    packed = gzip.compress(json.dumps(data, separators=(",", ":"), **options).encode(), mtime=0)
    path.write_bytes(packed)
    return len(packed)
