"""Locks on files and folders that end with their process.

POSIX locks the file or the folder itself and leaves no trace. Windows has no such locks: a folder has a lock file
there, and an open file needs none, because Windows does not delete it.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

try:
    import fcntl

    HAS_FLOCK = True
except ImportError:  # Windows
    HAS_FLOCK = False

NAME = ".equipoise.lock"
_held: set[int] = set()


def lock_file(handle: int) -> None:
    """Lock an open file until it is closed; BlockingIOError where another process has it."""
    if HAS_FLOCK:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextlib.contextmanager
def folder_lock(folder: Path, wait: bool) -> Iterator[None]:
    """Lock a folder, which is made; BlockingIOError where another process has it, unless `wait`.

    Some file systems have no locks.
    """
    if not HAS_FLOCK:
        from filelock import FileLock, Timeout

        lock = FileLock(folder / NAME)
        try:
            lock.acquire(timeout=-1 if wait else 0)
        except Timeout:
            raise BlockingIOError from None
        try:
            yield
        finally:
            lock.release()
            with contextlib.suppress(OSError):  # the folder may be gone, or another process may have the lock by now
                (folder / NAME).unlink()
        return
    handle = _handle(folder, wait)
    try:
        yield
    finally:
        if handle in _held:
            _held.remove(handle)
            os.close(handle)


def _handle(folder: Path, wait: bool) -> int:
    while True:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder, os.O_RDONLY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            if os.path.samestat(os.fstat(handle), folder.stat()):
                _held.add(handle)
                return handle
        except BlockingIOError:
            raise
        except FileNotFoundError:  # its last owner removed the folder: try again
            pass
        except OSError:  # a file system without locks
            return -1
        finally:
            if handle not in _held:
                os.close(handle)


def _let_go() -> None:
    """A forked worker that outlives its parent must not keep the parent's locks."""
    while _held:
        os.close(_held.pop())


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_let_go)
