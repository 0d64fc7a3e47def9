"""The cache of embeddings on disk, the options of scoring, and the processes of a torchrun.

The key is a hash of the model's whole card and the input itself (identity.py), so a cache can be shared between runs,
benchmarks and machines and can never answer for another model. Every vector has a checksum. SQLite keeps the file whole
through kills and full disks; what was embedded before either is there after it.

Of several processes the first leads: it alone looks at the run's folder, judges, writes and prints. The others help
with scoring where it says so. A part is embedded in batches of the same shape as the whole would be, so the numbers
are the same.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import sqlite3
import threading
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from equipoise.core.errors import UserError
from equipoise.data.items import ImageRef

log = logging.getLogger(__name__)
AT_ONCE = 300  # rows of a statement; SQLite's limit on variables is 999 in old builds
Vector = NDArray[np.float32]
T = TypeVar("T")


class Keys:
    """Makes keys: the hash of several parts, each with its length, so that no two lists of parts share one."""

    def __init__(self, *parts: str | bytes) -> None:
        self._common = hashlib.sha256()
        for part in parts:
            _update(self._common, part)

    def __call__(self, *parts: str | bytes) -> bytes:
        """The key of the common parts and these."""
        digest = self._common.copy()
        for part in parts:
            _update(digest, part)
        return digest.digest()


def _update(digest: Any, part: str | bytes) -> None:
    raw = part.encode() if isinstance(part, str) else part
    digest.update(len(raw).to_bytes(8, "little") + raw)


def _crc(key: bytes, vector: bytes) -> int:
    """A checksum of key and vector, so that a vector under the wrong key is noticed too."""
    return zlib.crc32(vector, zlib.crc32(key))


class EmbeddingCache:
    """key -> float32 vector. `folder=None` keeps everything in memory for this run only. Threads may share one."""

    def __init__(self, folder: Path | None) -> None:
        self.path: Path | None = None
        self._memory: dict[bytes, Vector] = {}
        self._reading, self._writing = threading.Lock(), threading.Lock()
        if folder is None:
            return
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(
                f"{folder}: the cache folder cannot be made ({error.strerror}); name another with --cache"
            ) from None
        self.path = folder / "embeddings.sqlite"
        try:
            self.database = self._connected()
            self.database.execute("PRAGMA page_size=16384")  # the usual 4096 holds one vector of 512 and wastes half
            self.database.execute("PRAGMA journal_mode=WAL")  # by which reading need not wait for writing
            self.database.execute("PRAGMA synchronous=NORMAL")
            self.database.execute(
                "CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB NOT NULL, crc INTEGER NOT NULL)"
            )
            self._readable, self._reader = self._connected(), os.getpid()
        except sqlite3.Error as error:
            raise self._failed(error) from None

    def _connected(self) -> sqlite3.Connection:
        assert self.path is not None
        return sqlite3.connect(self.path, timeout=60, check_same_thread=False)

    def _failed(self, error: Exception) -> UserError:
        return UserError(
            f"{self.path}: the embedding cache failed ({error}). What was stored stays; make room, name another folder "
            "with --cache, or delete this file: it holds nothing that cannot be computed again."
        )

    def get(self, keys: Sequence[bytes]) -> dict[bytes, Vector]:
        """The vectors that are there, for distinct `keys`."""
        if self.path is None:
            return {name: self._memory[name] for name in keys if name in self._memory}
        vectors: dict[bytes, Vector] = {}
        damaged = 0
        try:
            with self._reading:
                if self._reader != os.getpid():  # a forked process must not use its parent's connection
                    self._readable, self._reader = self._connected(), os.getpid()
                if not self._readable.execute("SELECT 1 FROM vectors LIMIT 1").fetchone():
                    return {}
            for start in range(0, len(keys), AT_ONCE):
                part = keys[start : start + AT_ONCE]
                query = f"SELECT key, vector, crc FROM vectors WHERE key IN ({','.join('?' * len(part))})"
                with self._reading:
                    rows = self._readable.execute(query, part).fetchall()
                whole = [(name, raw) for name, raw, crc in rows if crc == _crc(name, raw)]
                damaged += len(rows) - len(whole)
                vectors.update((name, np.frombuffer(raw, np.float32)) for name, raw in whole)
        except (sqlite3.Error, TypeError, ValueError) as error:  # the last two: no bytes, or bytes that are no vector
            raise self._failed(error) from None
        if damaged:
            log.warning("%s: %d vectors are damaged and are computed again", self.path, damaged)
        return vectors

    def put(self, vectors: Mapping[bytes, Vector] | Iterable[tuple[bytes, Vector]]) -> None:
        """Store vectors durably before returning."""
        pairs = vectors.items() if isinstance(vectors, Mapping) else vectors
        if self.path is None:
            self._memory.update(pairs)
            return
        raw = ((name, np.asarray(vector, np.float32).tobytes()) for name, vector in pairs)
        values = [value for name, vector in raw for value in (name, vector, _crc(name, vector))]
        try:
            with self._writing, self.database:
                for start in range(0, len(values), 3 * AT_ONCE):  # each statement waits for Python's lock
                    part = values[start : start + 3 * AT_ONCE]
                    places = ",".join(["(?,?,?)"] * (len(part) // 3))
                    self.database.execute(f"INSERT OR REPLACE INTO vectors VALUES {places}", part)
        except sqlite3.Error as error:
            raise self._failed(error) from None

    def close(self) -> None:
        if self.path is not None:
            self._readable.close()
            self.database.close()


class CacheWriter:
    """Puts vectors into a cache next to the work that makes them, a few times per second: a kill costs little, and
    little is left to write at the end."""

    EVERY = 0.25

    def __init__(self, cache: EmbeddingCache) -> None:
        self._cache = cache
        self._new: dict[bytes, Vector] = {}
        self._last = time.monotonic()
        self._pool = ThreadPoolExecutor(1)
        self._writing: list[Future[None]] = []

    def add(self, vectors: Mapping[bytes, Vector]) -> None:
        self._new.update(vectors)
        if time.monotonic() - self._last > self.EVERY:
            self._wait()  # a disk that is slower than the model must not fill the memory
            self.flush()

    def flush(self) -> None:
        """Begin to write what is there; leaving the context waits for it."""
        if self._new:
            self._writing.append(self._pool.submit(self._cache.put, self._new))
        self._new, self._last = {}, time.monotonic()

    def _wait(self) -> None:
        while self._writing:
            self._writing.pop(0).result()

    def __enter__(self) -> CacheWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.flush()
        self._pool.shutdown()
        if kind is None:  # an error while storing does not hide the one that is on its way
            self._wait()


@dataclass(frozen=True)
class Ranks:
    """Which of how many processes this is."""

    number: int = 0
    count: int = 1

    def share(self, values: Sequence[T]) -> list[T]:
        """The part of this process: neighbours stay together, as they lie on the disk."""
        start = len(values) * self.number // self.count
        end = len(values) * (self.number + 1) // self.count
        return list(values[start:end])

    def exchange(self, part: T) -> list[T]:
        """The parts of all processes, in their order."""
        if self.count == 1:
            return [part]
        import torch.distributed as dist

        parts: list[Any] = [None] * self.count
        try:
            dist.all_gather_object(parts, part)
        except RuntimeError as error:
            raise UserError(f"another process of this torchrun has ended; its message says why ({error})") from None
        return parts

    def lead(self, scores: bool) -> None:
        """The first process says whether there is anything to score."""
        self.exchange(scores)

    def follow(self) -> bool:
        """For the other processes: whether there is anything to score."""
        return self.exchange(False)[0]


ALONE = Ranks()


@dataclass(frozen=True)
class ScoringOptions:
    """Options that affect speed, not results beyond rounding."""

    batch_size: int
    workers: int
    cache: EmbeddingCache | None = None
    allow_missing: bool = False
    ranks: Ranks = ALONE


@dataclass(kw_only=True)
class Work:
    """The by-products of scoring, for every kind of model."""

    bad: dict[ImageRef, str] = field(default_factory=dict)  # photos that cannot be used, and why
    digests: dict[str, bytes] = field(default_factory=dict)  # path -> SHA-256 of the photo
    counts: dict[str, int] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)


@contextlib.contextmanager
def joined() -> Iterator[Ranks]:
    """The processes that torchrun started, each with its own GPU where there are any; else this one alone."""
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        yield ALONE
        return
    import torch
    import torch.distributed as dist

    if torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))  # what "cuda" means from here on
    dist.init_process_group("gloo", timeout=timedelta(hours=6))  # vectors go by way of the processors
    try:
        yield Ranks(dist.get_rank(), dist.get_world_size())
    finally:
        dist.destroy_process_group()
