"""Text files as they are or gzipped (captions.json.gz): opened the same way, known by the name before .gz."""

from __future__ import annotations

import gzip
import io
from pathlib import Path
from typing import IO


def kind_of(path: Path) -> str:
    """.json for captions.json and captions.json.gz."""
    return (Path(path.stem).suffix if path.suffix.lower() == ".gz" else path.suffix).lower()


def opened(path: Path) -> IO[bytes]:
    return gzip.open(path, "rb") if path.suffix.lower() == ".gz" else path.open("rb")  # type: ignore[return-value]


def as_text(path: Path, newline: str | None = None) -> IO[str]:
    """Bytes that are not UTF-8 become surrogates, which the reader finds and names."""
    return io.TextIOWrapper(opened(path), "utf-8-sig", "surrogateescape", newline)
