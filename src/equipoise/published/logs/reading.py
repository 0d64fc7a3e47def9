"""Finds which harness wrote each file, and reads the logs of all. `--harness py:module:name` adds one of your own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from equipoise.core.errors import UserError
from equipoise.core.plugins import load_named
from equipoise.data.readers.records import suffix_of
from equipoise.published.logs import columns as named_columns
from equipoise.published.logs import inspect_ai, llava, samples, vlmevalkit
from equipoise.published.logs.opening import records
from equipoise.published.logs.said import Log


@dataclass(frozen=True)
class Harness:
    """A program that writes logs: how a record of its is known, and how its files are read."""

    name: str
    known: Callable[[Mapping[str, object]], bool]  # by the first record of a file
    read: Callable[[Sequence[Path]], list[Log]]


HARNESSES = (
    Harness(vlmevalkit.NAME, vlmevalkit.known, vlmevalkit.read_all),
    Harness(samples.NAME, samples.known, samples.read_all),
    Harness(inspect_ai.NAME, inspect_ai.known, inspect_ai.read_all),
    Harness(llava.NAME, lambda record: llava.known(record) or llava.is_question(record), llava.read_all),
)
SUMMARIES = ("_acc.csv", "_score.csv", "results.json")  # printed scores, read with the log next to them
KINDS = {".xlsx", ".tsv", ".csv", ".json", ".jsonl", ".eval"}


def harness_of(path: Path, harnesses: Sequence[Harness] = HARNESSES) -> Harness | None:
    first = next(records(path), None)
    return next((harness for harness in harnesses if first is not None and harness.known(first)), None)


def read_logs(paths: Sequence[Path], columns: str = "", own: str | None = None) -> tuple[list[Log], list[str]] | None:
    """The logs in files and folders, and a sentence for each file that is none; None where no file is a log."""
    if columns:
        return named_columns.read_all(
            [file for path in paths for file in _files(path)], named_columns.parsed(columns)
        ), []
    harnesses: tuple[Harness, ...] = HARNESSES
    if own:
        what = "a harness (equipoise.published.logs.reading.Harness)"
        harnesses = (cast(Harness, load_named(own, what, lambda value: isinstance(value, Harness))), *HARNESSES)
    by_harness: dict[Harness, list[Path]] = {}
    passed = []
    for file in (file for path in paths for file in _files(path)):
        try:
            harness = harness_of(file, harnesses)
        except UserError as error:
            if file in paths and suffix_of(file) in {".xlsx", ".eval"}:
                raise
            passed.append(str(error).partition("\n")[0])
            continue
        if harness is None:
            passed.append(f"{file}: not a log of {', '.join(harness.name for harness in harnesses)}")
        else:
            by_harness.setdefault(harness, []).append(file)
    if not by_harness:
        return None
    return [log for harness, files in by_harness.items() for log in harness.read(files)], passed


def refuse_unknown(paths: Sequence[Path]) -> None:
    """Raise for files that no other reader of `metrics` takes."""
    for path in paths:
        if held := sorted(file for file in path.rglob("items.jsonl") if file.with_name("result.json").exists()):
            raise UserError(f"{path}: a run folder; its scores: equipoise metrics {held[0]}")
    if any(path.is_dir() or suffix_of(path) in {".xlsx", ".eval"} for path in paths):
        names = ", ".join(harness.name for harness in HARNESSES)
        raise UserError(
            f"{' '.join(map(str, paths))}: no log of {names} in it. Name the columns of another file: --columns "
            "question=...,answer=...,truth=..."
        )


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    files = (file for file in path.rglob("*") if file.is_file() and suffix_of(file) in KINDS and file.name[0] != ".")
    return sorted(file for file in files if not file.name.endswith(SUMMARIES))
