"""Answers of language models on disk, so that nothing is asked twice, and how many requests were made."""

from __future__ import annotations

import hashlib
import sqlite3
import threading
from pathlib import Path
from typing import Any, NamedTuple

from equipoise.core.errors import UserError


def from_cache(given: int, kept: int) -> str:
    """Shown because the model behind the server may have changed since."""
    return f"{kept:,} of {given:,} answers read from cache"


class KeptAnswer(NamedTuple):
    text: str
    finish: str  # "stop"; "length" if the answer was cut; "refused" if the server refused the request


class AnswerStore:
    """Answers on disk (SQLite), or in memory if no folder is given."""

    def __init__(self, folder: str | None) -> None:
        self.path = None if folder is None else Path(folder) / "llm.sqlite"
        self._lock = threading.Lock()
        try:
            if self.path is not None:
                self.path.parent.mkdir(parents=True, exist_ok=True)
            name = ":memory:" if self.path is None else str(self.path)
            self._database = sqlite3.connect(name, timeout=60, check_same_thread=False)
        except (sqlite3.Error, OSError) as error:
            raise self._failed(error) from None
        for setting in ("journal_mode=WAL", "synchronous=NORMAL"):
            self._run(f"PRAGMA {setting}")
        self._run("CREATE TABLE IF NOT EXISTS answers (key BLOB PRIMARY KEY, text TEXT NOT NULL, finish TEXT NOT NULL)")
        self._run("CREATE TABLE IF NOT EXISTS spent (key BLOB PRIMARY KEY, requests INTEGER NOT NULL)")

    def _failed(self, error: Exception) -> UserError:
        return UserError(
            f"{self.path}: the cache of the model's answers failed ({error}); free disk space, name another "
            "--cache, or delete it"
        )

    def _run(self, statement: str, *values: object) -> tuple[Any, int]:
        """The first row found, and the number of rows changed."""
        try:
            with self._lock, self._database:
                done = self._database.execute(statement, values)
                return done.fetchone(), done.rowcount
        except sqlite3.Error as error:
            raise self._failed(error) from None

    def get(self, name: str) -> KeptAnswer | None:
        row, _ = self._run("SELECT text, finish FROM answers WHERE key = ?", _key(name))
        return None if row is None else KeptAnswer(*row)

    def put(self, name: str, answer: KeptAnswer) -> None:
        # A lone surrogate is legal in JSON, but not in UTF-8.
        text = answer.text.encode("utf-8", "replace").decode()
        self._run("INSERT OR REPLACE INTO answers VALUES (?, ?, ?)", _key(name), text, answer.finish)

    def spend(self, name: str, most: int) -> bool:
        """Count a request of `name` before it is sent; False if there were `most` already."""
        self._run("INSERT OR IGNORE INTO spent VALUES (?, 0)", _key(name))
        more = "UPDATE spent SET requests = requests + 1 WHERE key = ? AND requests < ?"
        return self._run(more, _key(name), most)[1] == 1

    def spent(self, name: str) -> int:
        row, _ = self._run("SELECT requests FROM spent WHERE key = ?", _key(name))
        return 0 if row is None else int(row[0])


def _key(name: str) -> bytes:
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()
