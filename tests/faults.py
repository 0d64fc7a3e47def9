"""Faults at the n-th write of any command: a full disk, a kill, a short write; then the same command once more.

A verb is put through all of them by a row in test_faults.py. `python tests/faults.py KIND N ARGUMENTS...` runs one
command of equipoise with the fault in it; writes are counted in the process itself, at `os.replace`, `os.fsync` and the
`write` of every file that Python opens for writing.
"""

from __future__ import annotations

import builtins
import contextlib
import errno
import io
import os
import signal
import sys
from typing import Any

KINDS = ("full", "kill", "short")


class Faults:
    def __init__(self, kind: str, at: int) -> None:
        self.kind, self.at, self.count = kind, at, 0

    def due(self) -> bool:
        self.count += 1
        if self.count == self.at and self.kind == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        return self.count >= self.at if self.kind == "full" else self.count == self.at  # a full disk stays full

    def strike(self) -> None:
        if self.due():
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def install(faults: Faults) -> None:
    """Every file that is opened for writing from now on goes through `faults`."""
    replace, fsync = os.replace, os.fsync

    def faulty_replace(*arguments: Any, **options: Any) -> None:
        faults.strike()
        replace(*arguments, **options)

    def faulty_fsync(number: int) -> None:
        faults.strike()
        fsync(number)

    def wrapped(opened: Any) -> Any:
        if not opened.writable() or not isinstance(opened.name, int | str | os.PathLike):
            return opened
        write = opened.write

        def faulty_write(data: Any) -> Any:
            if faults.due():
                write(data[: len(data) // 2])  # what a disk still took
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return write(data)

        with contextlib.suppress(AttributeError):  # a raw file
            opened.write = faulty_write
        return opened

    real_open, real_fdopen = io.open, os.fdopen
    os.replace, os.fsync = faulty_replace, faulty_fsync
    builtins.open = io.open = lambda *a, **k: wrapped(real_open(*a, **k))  # type: ignore[assignment]
    os.fdopen = lambda *a, **k: wrapped(real_fdopen(*a, **k))


if __name__ == "__main__":
    kind, number, *arguments = sys.argv[1:]
    from equipoise.__main__ import main

    if kind != "none":
        install(Faults(kind, int(number)))
    sys.argv = ["equipoise", *arguments]
    main()
