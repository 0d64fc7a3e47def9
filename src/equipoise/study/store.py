"""The answers of a study, in SQLite: on the disk before anybody is told so, and never overwritten.

Every answer is a row of its own: annotator, question, revision. A first answer is revision 1; to withdraw it or to
answer again is the next revision, so undo loses nothing. A browser that did not hear our "saved" sends the same
revision again: the same answer is known and not written twice, another one is a conflict (two windows) and refused.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import sqlite3
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, NamedTuple

from equipoise.errors import UserError
from equipoise.study.questions import Answered, Value

FILE = "answers.sqlite"
_SCHEMA = 1
# Of a value NULL means withdrawn; else it is JSON, texts in the study's order.
_TABLES = (
    "CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS answers (annotator TEXT NOT NULL, question INTEGER NOT NULL, "
    "revision INTEGER NOT NULL, value TEXT, at TEXT NOT NULL, "
    "PRIMARY KEY (annotator, question, revision)) WITHOUT ROWID",
)


class Conflict(Exception):
    """Somebody else (another window of the same person) answered in between; `last` is the newest revision."""

    def __init__(self, last: int) -> None:
        super().__init__(f"revision {last} is already there")
        self.last = last


class Row(NamedTuple):
    annotator: str
    question: int
    revision: int
    value: Value | None
    at: str


class Store:
    """One connection that threads take turns with; other processes may have theirs (SQLite's locks)."""

    def __init__(self, folder: str | Path, digest: str) -> None:
        self.path = Path(folder) / FILE
        self._turn = threading.Lock()
        try:
            os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))  # it holds the token
            self._db = sqlite3.connect(self.path, timeout=20, isolation_level=None, check_same_thread=False)
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=FULL")  # a commit returns when the disk has it
            self._db.execute("PRAGMA fullfsync=ON")  # macOS means it only then
            with self._writing():
                for statement in _TABLES:
                    self._db.execute(statement)
                for name, value in (("study", digest), ("schema", str(_SCHEMA)), ("token", secrets.token_urlsafe(24))):
                    self._db.execute("INSERT OR IGNORE INTO about VALUES (?, ?)", (name, value))
        except (sqlite3.Error, OSError) as error:
            raise UserError(f"{self.path}: cannot be opened as the answers of a study ({error})") from None
        if self._about("schema") != str(_SCHEMA):
            raise UserError(f"{self.path}: written by another version of equipoise (schema {self._about('schema')})")
        if self._about("study") != digest:
            raise UserError(f"{self.path}: holds answers to another study; {folder}/study.json was changed since")

    def close(self) -> None:
        with self._turn:
            self._db.close()

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        """One transaction, on the disk when it ends."""
        with self._turn:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._db.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):
                    self._db.execute("ROLLBACK")
                raise

    def _about(self, name: str) -> str:
        with self._turn:
            row = self._db.execute("SELECT value FROM about WHERE name = ?", (name,)).fetchone()
        return str(row[0]) if row else ""

    @property
    def token(self) -> str:
        """Drawn once, so that a server that starts again knows its annotators."""
        return self._about("token")

    def record(
        self, annotator: str, question: int, revision: int, value: Value | None, at: str | None = None
    ) -> Literal["saved", "known"]:
        """Keep an answer (None: withdraw the last); it is on the disk when this returns. Raises Conflict."""
        with self._writing():
            return self._record(annotator, question, revision, value, at)

    def record_all(self, rows: list[Row]) -> int:
        """Many answers, all or none; how many of them are new. Raises Conflict."""
        with self._writing():
            return sum(self._record(*row) == "saved" for row in rows)

    def _record(
        self, annotator: str, question: int, revision: int, value: Value | None, at: str | None
    ) -> Literal["saved", "known"]:
        text = None if value is None else json.dumps(value, separators=(",", ":"), sort_keys=True)
        there = dict(
            self._db.execute(
                "SELECT revision, value FROM answers WHERE annotator = ? AND question = ?", (annotator, question)
            ).fetchall()
        )
        last = max(there, default=0)
        if revision in there and there[revision] == text:
            return "known"
        if revision != last + 1 or (text is None and there.get(last) is None):  # nothing there to be withdrawn
            raise Conflict(last)
        self._db.execute(
            "INSERT INTO answers VALUES (?, ?, ?, ?, ?)",
            (annotator, question, revision, text, at or datetime.now(UTC).isoformat(timespec="milliseconds")),
        )
        return "saved"

    def history(self, annotator: str | None = None) -> list[Row]:
        """Every row, oldest revision first."""
        of, names = ("WHERE annotator = ?", (annotator,)) if annotator is not None else ("", ())
        with self._turn:
            rows = self._db.execute(
                f"SELECT annotator, question, revision, value, at FROM answers {of} ORDER BY 1, 2, 3", names
            ).fetchall()
        return [
            Row(name, question, revision, None if value is None else json.loads(value), at)
            for name, question, revision, value, at in rows
        ]

    def latest(self, annotator: str) -> dict[int, Answered]:
        """The last word of an annotator on each question."""
        return {row.question: Answered(row.revision, row.value) for row in self.history(annotator)}

    def answers(self) -> dict[str, dict[int, Value]]:
        """What stands: annotator -> question -> answer, without what was withdrawn."""
        found: dict[str, dict[int, Value]] = {}
        for row in self.history():
            found.setdefault(row.annotator, {})[row.question] = row.value
        return {
            name: {question: value for question, value in given.items() if value is not None}
            for name, given in found.items()
        }


def open_answers(folder: str | Path, digest: str) -> dict[str, dict[int, Value]]:
    """The answers of a study that stand; an error where nobody has answered yet."""
    if not (Path(folder) / FILE).is_file():
        raise UserError(f"{folder}: nobody has answered yet; `equipoise study serve {folder}` asks")
    store = Store(folder, digest)
    try:
        return store.answers()
    finally:
        store.close()
