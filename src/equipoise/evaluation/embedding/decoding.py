"""Photos read, hashed and decoded by several workers, each photo once, in an order that no number of workers changes.

A worker reads a few files, hashes them and keeps their bytes; it is then told which of them to decode (what the cache
holds is not) and puts the pixels into numbered slots. The slots are a ring: at most so many images are ahead of the
model. Slots are given out in the order of the paths, so the model sees the same batches whoever decoded them.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Pipe, wait
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.errors import UserError
from equipoise.evaluation.embedding.workers import Found, Make, Processes, Threads
from equipoise.images.sources import FolderImages, ImageSource, ParquetImages, TarImages
from equipoise.items import Box, ImageRef
from equipoise.models.preprocess import Preprocess

PROCESSES_FROM = 500  # images; processes take half a second to start
JOB = 16  # photos that a worker reads at a time, at most
AHEAD = 3  # jobs that a worker has at hand: it never waits for us
SHARED = 2**31  # bytes of slots that all processes fill, at most: so that they go on while the model reads texts

KILLED = "a process that decodes images was killed, perhaps because memory ran out; try fewer --workers"

Choose = Callable[[Sequence[str], Sequence[Found]], list[ImageRef]]


class Decoder:
    """Decoded images in batches of at most `size`; `choose` says what to decode of photos, given their hashes.

    `make` turns an image into what is kept of it; a `Preprocess` keeps bytes of its size, anything else a list.
    `choose` is called in the order of `paths` but from another thread. Leaving the context ends all workers.
    """

    def __init__(
        self,
        source: ImageSource,
        paths: Sequence[str],
        choose: Choose,
        make: Make | Preprocess,
        size: int,
        workers: int,
        many: bool,
    ) -> None:
        self._choose, self._size = choose, size
        step = max(1, min(JOB, -(-len(paths) // (workers * 2))))
        self._jobs = [list(paths[start : start + step]) for start in range(0, len(paths), step)]
        workers = max(1, min(workers, len(self._jobs)))
        if isinstance(make, Preprocess):
            shape = (*make.image_size, 3)
            self._ring = size * max(2, min(_room() // int(np.prod(shape)), 2 * len(paths)) // size)
            processes = many and os.name == "posix" and isinstance(source, FolderImages | TarImages | ParquetImages)
            if processes and len(paths) >= PROCESSES_FROM:
                self._workers: Processes | Threads = Processes(workers, source, make, (self._ring, *shape))
            else:
                self._ring = size * min(self._ring // size, 4)
                slots: NDArray[np.uint8] = np.empty((self._ring, *shape), np.uint8)
                self._workers = Threads(workers, source, make.pixels, slots)
        else:
            self._ring = 2 * size
            self._workers = Threads(workers, source, make, [None] * self._ring)
        self._woken, self._wake = Pipe(duplex=False)
        self._changed = threading.Condition()
        self._made: set[int] = set()
        self._reasons: dict[int, str] = {}
        self._refs: dict[int, ImageRef] = {}
        self._ready = self._given = self._freed = 0  # slots: made without a gap, given out, free again
        self._lent = 0  # slots that `batches` has yielded
        self._complete = False
        self._failure: BaseException | None = None
        self._stopped = False
        self._thread = threading.Thread(target=self._direct, daemon=True)

    def __enter__(self) -> Decoder:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped = True
        self._wake.send_bytes(b"!")
        self._thread.join(5)
        self._workers.stop()
        self._wake.close()
        self._woken.close()

    def ready(self) -> bool:
        """Whether `batches` would go on, or end, without waiting."""
        return self._failure is not None or self._complete or self._ready >= self._lent + self._size

    def batches(self) -> Iterator[tuple[Any, list[tuple[ImageRef, str | None]]]]:
        """(slots, what is in them: the image and, where it could not be decoded, why). Valid until the next."""
        start = 0
        while True:
            with self._changed:
                while not (self._failure or self._complete or self._ready >= start + self._size):
                    self._changed.wait()
                if self._failure:
                    raise self._failure
                self._lent = stop = min(start + self._size, self._ready)
                content = [(self._refs.pop(slot), self._reasons.get(slot)) for slot in range(start, stop)]
            if stop == start:
                return
            place = start % self._ring  # the ring holds whole batches, so a batch never goes over its end
            yield self._workers.slots[place : place + stop - start], content
            start = self._freed = stop
            self._wake.send_bytes(b"!")

    # ------------------------------------------------------------------ the thread that directs the workers

    def _direct(self) -> None:
        try:
            self._work()
        except ConnectionError:  # a worker is gone before it was told what to do
            with self._changed:
                self._failure = UserError(KILLED)
                self._changed.notify_all()
        except BaseException as error:
            with self._changed:
                self._failure = error
                self._changed.notify_all()

    def _work(self) -> None:
        connections = self._workers.connections
        waiting = list(enumerate(self._jobs))[::-1]
        owner: dict[int, Any] = {}

        def give(connection: Any) -> None:
            if waiting:
                job, paths = waiting.pop()
                owner[job] = connection
                connection.send((job, paths, None, False))

        for connection in list(connections) * AHEAD:
            give(connection)
        found: dict[int, list[Found]] = {}
        answered, wanted = 0, None  # the job whose turn it is, and what is still to be decoded of it
        left = len(self._jobs)
        while left and not self._stopped:
            for ready in wait([*connections, self._woken]):
                if ready is self._woken:
                    self._woken.recv_bytes()
                    continue
                kind, job, content = self._received(ready)
                if kind == "read":
                    found[job] = content
                    continue
                slots, reasons, last = content
                self._mark(slots, reasons)
                if last:
                    left -= 1
                    give(ready)
            while wanted is not None or answered in found:  # answers go out in the order of the jobs
                if wanted is None:
                    wanted = self._choose(self._jobs[answered], found.pop(answered))
                room = self._freed + self._ring - self._given
                if wanted and not room:
                    break
                now, wanted = wanted[:room], wanted[room:]
                owner[answered].send((answered, None, self._orders(now), not wanted))
                if not wanted:
                    answered, wanted = answered + 1, None
        with self._changed:
            self._complete = True
            self._changed.notify_all()

    def _received(self, connection: Any) -> tuple[str, int, Any]:
        try:
            kind, job, content = connection.recv()
        except (EOFError, OSError):
            raise UserError(KILLED) from None
        if kind == "failed":
            raise RuntimeError(f"decoding failed:\n{content}")
        return kind, job, content

    def _orders(self, refs: Sequence[ImageRef]) -> list[tuple[str, Box | None, int, int]]:
        first, self._given = self._given, self._given + len(refs)
        self._refs.update(enumerate(refs, first))
        return [(ref.path, ref.box, slot, slot % self._ring) for slot, ref in enumerate(refs, first)]

    def _mark(self, slots: Sequence[int], reasons: dict[int, str]) -> None:
        with self._changed:
            self._made.update(slots)
            self._reasons.update(reasons)
            while self._ready in self._made:
                self._made.remove(self._ready)
                self._ready += 1
            self._changed.notify_all()


def _room() -> int:
    """Bytes for the slots: an eighth of the memory that is free, where the system tells."""
    try:
        free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return 2**28
    return min(SHARED, max(2**28, free // 8))
