"""Workers that read, hash and decode photos: threads, or processes where there are many images and cores.

Python's lock holds threads at about 700 photos per second. Processes get the slots as shared memory and are started
as plain programs, so that neither torch nor the user's script is loaded again in each. They end when their socket is
closed, so also when we are killed.
"""

from __future__ import annotations

import contextlib
import hashlib
import mmap
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import Any

import numpy as np

from equipoise.images import opening as images
from equipoise.images.opening import ImageProblem, Named, PixelBudget, use_image
from equipoise.images.sources import ImageSource
from equipoise.models.preprocess import Preprocess

KEPT = 16 * 2**20  # bytes of a job that are kept until it is known what to decode; the rest is read again

Found = bytes | str  # the SHA-256 of a photo, or what is wrong with it
Make = Callable[[Any], Any]
Held = dict[str, tuple[bytes, bytes | None]]  # path -> hash and, if kept, bytes


class _Worker:
    """Reads what it is asked for, then decodes what is wanted of it."""

    def __init__(self, source: ImageSource, make: Make, slots: Any) -> None:
        self.source, self.make, self.slots = source, make, slots
        self.held: dict[int, Held] = {}

    def serve(self, connection: Any) -> None:
        """Answer until the other end is closed."""
        with contextlib.suppress(EOFError, OSError):
            while True:
                job, paths, orders, last = connection.recv()
                try:
                    answer = self.read(job, paths) if paths is not None else self.decode(job, orders, last)
                except BaseException:  # told, because the other end would wait for ever
                    answer = ("failed", job, traceback.format_exc())
                connection.send(answer)

    def read(self, job: int, paths: Sequence[str]) -> tuple[str, int, list[Found]]:
        found: list[Found] = []
        held: Held = {}
        size = 0
        for path in paths:
            try:
                data = self.source.read(path)
            except ImageProblem as problem:
                found.append(str(problem))
                continue
            size += len(data)
            digest = hashlib.sha256(data).digest()
            found.append(digest)
            held[path] = (digest, data if size <= KEPT else None)
        self.held[job] = held
        return "read", job, found

    def decode(self, job: int, orders: Sequence[tuple[Any, ...]], last: bool) -> tuple[str, int, Any]:
        reasons = {}
        for path, box, slot, place in orders:
            try:
                data = self._bytes(path, *self.held[job][path])
                self.slots[place] = use_image(data, Named(path, box), self.make)
            except ImageProblem as problem:
                reasons[slot] = str(problem)
        if last:
            del self.held[job]
        return "made", job, ([order[2] for order in orders], reasons, last)

    def _bytes(self, path: str, digest: bytes, data: bytes | None) -> bytes:
        if data is None:
            data = self.source.read(path)
            if hashlib.sha256(data).digest() != digest:
                raise ImageProblem(f"{path}: changed while it was read")
        return data


# ---------------------------------------------------------------------------- processes


class _Tokens:
    """A lock or semaphore that any process can use: as many bytes in a pipe. The system cleans it up."""

    def __init__(self, count: int, ends: tuple[int, int] | None = None) -> None:
        self.ends = ends or os.pipe()
        if ends is None:
            os.write(self.ends[1], bytes(count))

    def acquire(self) -> None:
        os.read(self.ends[0], 1)

    def release(self) -> None:
        os.write(self.ends[1], b"\0")

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()


def _child(address: int, memory: int, ends: Sequence[int]) -> None:
    """The whole life of a decoding process; the numbers are open files that it was given."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; our parent decides
    os.nice(5)  # who feeds the model comes first where all cores are busy
    connection = Connection(address)
    with contextlib.suppress(EOFError, OSError):
        source, preprocess, shape = connection.recv()
        given = iter([_Tokens(0, (ends[0], ends[1])), _Tokens(0, (ends[2], ends[3]))])
        images.share_budget(PixelBudget(lambda count: next(given)))
        slots = np.frombuffer(mmap.mmap(memory, int(np.prod(shape))), np.uint8).reshape(shape)
        _Worker(source, preprocess.pixels, slots).serve(connection)
    os._exit(0)


class Processes:
    """Started when made; `stop` leaves none behind."""

    def __init__(self, count: int, source: ImageSource, preprocess: Preprocess, shape: tuple[int, ...]) -> None:
        size = int(np.prod(shape))
        self._tokens: list[_Tokens] = []
        PixelBudget(self._token)
        with _memory() as file:
            os.ftruncate(file.fileno(), size)
            self.slots = np.frombuffer(mmap.mmap(file.fileno(), size), np.uint8).reshape(shape)
            ends = [end for tokens in self._tokens for end in tokens.ends]
            self._running = [self._start(file.fileno(), ends) for _ in range(count)]
        self.connections = [connection for _, connection in self._running]
        for connection in self.connections:
            connection.send((source, preprocess, shape))

    def _token(self, count: int) -> _Tokens:
        self._tokens.append(_Tokens(count))
        return self._tokens[-1]

    def _start(self, memory: int, ends: list[int]) -> tuple[subprocess.Popen[bytes], Connection]:
        ours, theirs = socket.socketpair()
        numbers = [theirs.fileno(), memory, *ends]
        # -P: nothing of the folder we happen to be in is imported; our own package is found where we were.
        code = f"import sys; sys.path.append({str(Path(__file__).parents[2])!r}); "
        code += f"from {__name__} import _child; _child({numbers[0]}, {memory}, {ends})"
        environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", code], pass_fds=numbers, env=environment, stdin=subprocess.DEVNULL
        )
        theirs.close()
        return process, Connection(ours.detach())

    def stop(self) -> None:
        for connection in self.connections:
            connection.close()
        for process, _ in self._running:
            process.kill()  # nothing they hold needs an end of its own
        for process, _ in self._running:
            process.wait()
        for tokens in self._tokens:
            for end in tokens.ends:
                os.close(end)


def _memory() -> Any:
    """A file in memory where the system has such, else one without a name."""
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("equipoise-slots"), "w+b")
    return tempfile.TemporaryFile()


class Threads:
    """The same within this process, for few images, or where the model wants more than bytes."""

    def __init__(self, count: int, source: ImageSource, make: Make, slots: Any) -> None:
        self.slots = slots
        self.connections, self._running = [], []
        for _ in range(count):
            ours, theirs = Pipe()
            thread = threading.Thread(target=_Worker(source, make, slots).serve, args=(theirs,), daemon=True)
            thread.start()
            self.connections.append(ours)
            self._running.append((thread, theirs))

    def stop(self) -> None:
        for connection in self.connections:
            connection.close()
        deadline = time.monotonic() + 2  # a giant image may take longer; its thread ends with the program
        for thread, theirs in self._running:
            thread.join(max(0.0, deadline - time.monotonic()))
            theirs.close()
