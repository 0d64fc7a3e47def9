"""What a server answered and what was asked of it, on disk: a killed run asks nothing twice and keeps its budget."""

from __future__ import annotations

import hashlib
import sqlite3
import threading
from pathlib import Path
from typing import NamedTuple

from equipoise.errors import UserError


class Answer(NamedTuple):
    text: str
    finish: str  # "stop"; "length" where the answer was cut; "refused" where the server took the request for a bad one


class Answers:
    """Answers on disk (SQLite, whole through kills), or in memory where no folder is given."""

    def __init__(self, folder: str | None) -> None:
        self.path = None if folder is None else Path(folder) / "llm.sqlite"
        self._lock = threading.Lock()
        try:
            if self.path is not None:
                self.path.parent.mkdir(parents=True, exist_ok=True)
            name = ":memory:" if self.path is None else str(self.path)
            self._database = sqlite3.connect(name, timeout=60, check_same_thread=False)
            self._database.execute("PRAGMA journal_mode=WAL")
            self._database.execute("PRAGMA synchronous=NORMAL")
            self._database.execute(
                "CREATE TABLE IF NOT EXISTS answers (key BLOB PRIMARY KEY, text TEXT NOT NULL, finish TEXT NOT NULL)"
            )
            self._database.execute("CREATE TABLE IF NOT EXISTS spent (key BLOB PRIMARY KEY, requests INTEGER NOT NULL)")
        except (sqlite3.Error, OSError) as error:
            raise self._failed(error) from None

    def _failed(self, error: Exception) -> UserError:
        return UserError(
            f"{self.path}: the cache of the model's answers failed ({error}); make room, name another --cache, "
            "or delete it"
        )

    def get(self, name: str) -> Answer | None:
        try:
            with self._lock:
                row = self._database.execute("SELECT text, finish FROM answers WHERE key = ?", (_key(name),)).fetchone()
        except sqlite3.Error as error:
            raise self._failed(error) from None
        return None if row is None else Answer(*row)

    def put(self, name: str, answer: Answer) -> None:
        # A lone surrogate (legal in JSON, not in UTF-8) must not break the cache.
        text = answer.text.encode("utf-8", "replace").decode()
        try:
            with self._lock, self._database:
                row = (_key(name), text, answer.finish)
                self._database.execute("INSERT OR REPLACE INTO answers VALUES (?, ?, ?)", row)
        except sqlite3.Error as error:
            raise self._failed(error) from None

    def spend(self, name: str, most: int) -> bool:
        """Count one more request of `name`, before it is sent; False where that would be more than `most`."""
        try:
            with self._lock, self._database:
                self._database.execute("INSERT OR IGNORE INTO spent VALUES (?, 0)", (_key(name),))
                done = self._database.execute(
                    "UPDATE spent SET requests = requests + 1 WHERE key = ? AND requests < ?", (_key(name), most)
                )
                return done.rowcount == 1
        except sqlite3.Error as error:
            raise self._failed(error) from None

    def spent(self, name: str) -> int:
        """The requests of `name` so far, those of earlier runs among them."""
        try:
            with self._lock:
                row = self._database.execute("SELECT requests FROM spent WHERE key = ?", (_key(name),)).fetchone()
        except sqlite3.Error as error:
            raise self._failed(error) from None
        return 0 if row is None else int(row[0])


def _key(name: str) -> bytes:
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()
