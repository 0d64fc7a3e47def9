"""The runs below a folder, a row each: what is running, what failed and why, what finished.

No link is followed, and nothing is believed: a file that is no record of ours is a row that says so. What was read is
kept until its file changes, so that a folder of 500 runs can be looked at every other second.
"""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from equipoise.core.errors import UserError, printable
from equipoise.core.files import sha256_json
from equipoise.core.progress import STATUS, is_alive
from equipoise.evaluation.metrics import shown
from equipoise.evaluation.record import Numbers
from equipoise.report.tables import percent
from equipoise.train.run.log import LOG

RESULT = "result.json"
TRAINING = "run.json"  # the claim of a training; importing its module would load torch
MOST_BYTES = 64 << 20  # of a record; a larger one is not read
MOST_FOLDERS = 50_000
TAIL = 1 << 16  # bytes of a log that are read for its last line
FRESH = 2_000_000_000  # nanoseconds within which a folder may change without a new time
_LONG = 300  # characters of a name
_LATEST = 1e11  # seconds since 1970; a browser shows no time that is much later


@dataclass
class Row:
    """A run as the page shows it; `at` is its record below the folder."""

    at: str
    kind: str  # run, training or command
    state: str  # running, failed, killed, stopped, finished or unreadable
    when: float = 0.0  # seconds since 1970
    began: float | None = None
    what: str = ""  # the model, recipe or verb
    bench: str = ""
    n: int | None = None
    step: int | None = None
    numbers: list[tuple[str, str]] = field(default_factory=list)
    bars: list[dict[str, object]] = field(default_factory=list)
    error: str = ""
    process: dict[str, object] = field(default_factory=dict)  # of a command's status; the page has no use for it

    @property
    def name(self) -> str:
        """The folder, or the file that a command writes."""
        folder, _, file = self.at.rpartition("/")
        beside = file.removesuffix(STATUS).strip(".") if self.kind == "command" else ""
        return "/".join(filter(None, (folder, beside))) or "."

    def value(self) -> dict[str, Any]:
        fields = {
            name: value for name, value in vars(self).items() if value not in (None, "", []) and name != "process"
        }
        return fields | {"name": printable(self.name)}


class _Bar(BaseModel):
    model_config = ConfigDict(strict=True, allow_inf_nan=False)
    what: str = Field(max_length=_LONG)
    unit: str = Field(max_length=_LONG)
    done: int
    total: int
    rate: float


class _Status(BaseModel):
    model_config = ConfigDict(strict=True, allow_inf_nan=False)
    verb: str = Field(max_length=_LONG)
    state: str = Field(pattern="^(started|running|finished|failed|stopped)$")
    pid: int
    host: str
    started: float = Field(ge=0, le=_LATEST)
    updated: float = Field(ge=0, le=_LATEST)
    bars: list[_Bar] = Field(max_length=20)
    error: str


class Listing:
    """The runs below `root`, looked for again at each call of `rows`."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self._records: dict[Path, tuple[tuple[int, ...], Row]] = {}
        self._folders: dict[Path, tuple[int, list[Path], list[Path]]] = {}

    def rows(self) -> list[Row]:
        """Running ones first, then what ended badly, then the finished, each the latest first."""
        known_rows = [self._row(path) for path in self._files()]
        known = {path for path, _ in known_rows}
        self._records = {path: record for path, record in self._records.items() if path in known}
        rows = _merged({path: row for path, row in known_rows if row is not None})
        order = {"running": 0, "finished": 2}
        return sorted(rows, key=lambda row: (order.get(row.state, 1), -row.when, row.at))

    def _files(self) -> list[Path]:
        """Our records below the root, of folders that are no links."""
        paths: list[Path] = []
        folders = [self.root]
        for folder in folders:
            below, files = self._entries(folder)
            folders += below[: MOST_FOLDERS - len(folders)]
            paths += files
        return paths

    def _entries(self, folder: Path) -> tuple[list[Path], list[Path]]:
        try:
            stamp = folder.stat(follow_symlinks=False).st_mtime_ns
            before = self._folders.get(folder)
            if before is not None and before[0] == stamp:
                return before[1], before[2]
            below, files = [], []
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.name in (RESULT, LOG) or entry.name.endswith(STATUS):
                        if entry.is_file(follow_symlinks=False):
                            files.append(folder / entry.name)
                    elif entry.name[0] != "." and entry.is_dir(follow_symlinks=False):
                        below.append(folder / entry.name)
        except OSError:  # removed, or not ours to read
            return [], []
        if time.time_ns() - stamp > FRESH:
            self._folders[folder] = stamp, below, files
        return below, files

    def _row(self, path: Path) -> tuple[Path, Row | None]:
        try:
            now = path.stat(follow_symlinks=False)
        except OSError:
            return path, None
        stamp = now.st_mtime_ns, now.st_size, now.st_ino
        known = self._records.get(path)
        if known is None or known[0] != stamp:
            known = stamp, self._read(path, now.st_mtime, now.st_size)
            self._records[path] = known
        return path, known[1]

    def _read(self, path: Path, when: float, size: int) -> Row:
        at = path.relative_to(self.root).as_posix().encode("utf-8", "replace").decode()  # names need not be text
        kind, read = "command", _command
        if path.name == RESULT:
            kind, read = "run", _result
        elif path.name == LOG:
            kind, read = "training", _training
        row = Row(at, kind, "unreadable", when)
        try:
            if size > MOST_BYTES and kind != "training":
                raise ValueError(f"{size:,} bytes are too many")
            read(path, row)
        except OSError as error:
            row.error = f"cannot be read ({error.strerror})"
        except Exception:  # any JSON may stand there
            row.error = "no record of equipoise, or damaged"
        return row


def _json(path: Path) -> Any:
    with path.open("rb") as handle:  # nothing of it is trusted, so two equal keys do not matter
        return json.loads(handle.read(MOST_BYTES))


def _cut(value: object) -> str:
    """A name out of a file, safe to show."""
    return printable(str(value)[:_LONG], lines=True)


def _result(path: Path, row: Row) -> None:
    """The few numbers of a list. They are not checked against their hash; the page of the run does that."""
    value = _json(path)
    metrics = value["metrics"]
    rule = metrics.get("rule")
    headline = metrics.get("macro") or (metrics["averages"][rule] if rule else metrics["overall"])  # macro: schema 4
    numbers = Numbers.model_validate_json(json.dumps({name: headline[name] for name in ("n", "ties", "metrics")}))
    row.state, row.n = "finished", numbers.n
    row.what, row.bench = _cut(value["model"]["spec"]), _cut(value["benchmark"]["name"])
    if value.get("date"):
        row.when = datetime.fromisoformat(value["date"]).timestamp()
    measured = [metric for metric in shown([numbers.metrics]) if metric.less is None][:3]
    row.numbers = [(_cut(metric.title), percent(numbers, metric.name)) for metric in measured]


def _training(path: Path, row: Row) -> None:
    row.state = "finished" if (path.parent / "model").is_dir() else "stopped"
    claim = path.parent / TRAINING
    if claim.is_file() and not claim.is_symlink():
        row.what = _cut(_json(claim)["run"]["recipe"])
    with path.open("rb") as handle:
        handle.seek(max(0, handle.seek(0, os.SEEK_END) - TAIL))
        lines = handle.read(TAIL).split(b"\n")[:-1]  # without one that is being written
    last = [value for value in map(_line, lines[-50:]) if value]
    row.step = max((value["step"] for value in last if type(value.get("step")) is int), default=0)
    if losses := [value["loss"] for value in last if isinstance(value.get("loss"), float)]:
        row.numbers = [("loss", f"{losses[-1]:.3f}")]


def _line(text: bytes) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _command(path: Path, row: Row) -> None:
    """As it was written; whether its process is still there is asked in `_merged`, again and again."""
    status = _Status.model_validate_json(json.dumps(_json(path)))
    row.state, row.what = status.state, _cut(status.verb)
    row.when, row.began, row.error = status.updated, status.started, printable(status.error, lines=True)
    row.bars = [bar.model_dump() | {"what": _cut(bar.what), "unit": _cut(bar.unit)} for bar in status.bars]
    row.process = status.model_dump(include={"state", "pid", "host", "updated"})


def _merged(given: dict[Path, Row]) -> list[Row]:
    """A training and its status are one row; a finished command is listed by its results, if it has any."""
    rows = {path: replace(row) for path, row in given.items()}
    results = [path.parent for path, row in rows.items() if row.kind != "command"]
    holding = {above for folder in results for above in (folder, *folder.parents)}
    shown = []
    for path, row in rows.items():
        if row.kind == "command":
            if row.state in ("started", "running"):
                row.state = "running" if is_alive(row.process) else "killed"
            if row.state == "killed":
                row.error = "its process ended without a word: killed, out of memory, or the machine stopped"
            training = rows.get(path.parent / LOG) if path.name == STATUS else None
            if training is not None and row.state != "unreadable":
                training.began, training.bars = row.began, row.bars
                if training.state != "finished" or row.state == "running":
                    training.state, training.error, training.when = row.state, row.error, max(row.when, training.when)
                continue
            if row.state == "finished" and path.name == STATUS and path.parent in holding:
                continue
        shown.append(row)
    return shown


def version(rows: list[Row]) -> str:
    return sha256_json([row.value() for row in rows])[:16]


def refuse_links(root: Path, folder: Path) -> None:
    """Raise where a file of a run is a link out of `root`, or no plain file."""
    for entry in folder.iterdir():
        if entry.is_dir():
            continue
        target = entry.resolve()
        if root not in target.parents or not target.is_file():
            name = printable(entry.name)
            raise UserError(f"{name}: a link that leads out of the folder, or no plain file; this run is not shown")
