"""Reads, hashes and decodes photos ahead of the model: each once, in the same order for any number of workers.

Threads read and hash. What the cache does not have is decoded by threads too, or by processes where there are many
photos and cores: Python's lock holds threads at about 700 photos per second.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import multiprocessing
import os
import signal
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from equipoise.core.errors import UserError
from equipoise.data.images import (
    FolderImages,
    ImageProblem,
    ImageSource,
    ParquetImages,
    TarImages,
    share_lock,
    use_image,
)
from equipoise.data.items import ImageRef
from equipoise.models.preprocess import Preprocess

PROCESSES_FROM = 500  # images; below, processes cost more than they give
JOB = 16  # photos per request
AHEAD = 4  # photos that are read and not yet decoded, for each worker: their bytes wait in memory

_TOKENIZERS = "TOKENIZERS_PARALLELISM"
KILLED = "a process that decodes images was killed, perhaps because memory ran out; try fewer --workers"

Found = bytes | str  # the SHA-256 of a photo, or what is wrong with it
Choose = Callable[[Sequence[str], Sequence[Found]], list[ImageRef]]
Batch = list[tuple[ImageRef, Any, str | None]]  # the image, what was made of it or, where that failed, why


@contextlib.contextmanager
def decoded(
    source: ImageSource,
    paths: Sequence[str],
    choose: Choose,
    make: Callable[[Any], Any] | Preprocess,
    size: int,
    workers: int,
    many: bool,
) -> Iterator[Iterator[Batch]]:
    """Decoded images in batches of at most `size`; `choose` says what to decode of photos, given their hashes.

    `make` turns an image into what is kept of it. Leaving the context ends all workers.
    """
    decode = partial(_pixels, make) if isinstance(make, Preprocess) else make
    ours = isinstance(source, FolderImages | TarImages | ParquetImages)
    processes = many and isinstance(make, Preprocess) and ours and len(paths) >= PROCESSES_FROM
    readers = ThreadPoolExecutor(workers)
    decoders = _processes(workers) if processes and sys.platform == "linux" else ThreadPoolExecutor(workers)
    ahead = AHEAD * workers

    def batches() -> Iterator[Batch]:
        left = iter(paths)
        reading: deque[tuple[str, Future[tuple[Found, bytes]]]] = deque()
        waiting: deque[tuple[ImageRef, Future[Any]]] = deque()

        def read_on() -> None:
            for path in islice(left, max(JOB, ahead) - len(reading)):
                reading.append((path, readers.submit(_read, source, path)))

        read_on()
        while reading:
            job = [(path, *future.result()) for path, future in islice(reading, JOB)]
            for _ in job:
                reading.popleft()
            read_on()
            data = {path: raw for path, _, raw in job}
            for ref in choose([path for path, _, _ in job], [found for _, found, _ in job]):
                if len(waiting) >= ahead:
                    wait([waiting[-ahead][1]])
                waiting.append((ref, decoders.submit(use_image, data[ref.path], ref, decode)))
            while len(waiting) >= 2 * size:  # a batch is decoded while the model has the one before it
                yield _taken(waiting, size)
        while waiting:
            yield _taken(waiting, size)

    parallel = os.environ.get(_TOKENIZERS)
    if isinstance(decoders, ProcessPoolExecutor):
        os.environ[_TOKENIZERS] = parallel or "true"  # else tokenizers warn of every fork
    try:
        yield batches()
    except BrokenProcessPool:
        raise UserError(KILLED) from None
    finally:
        for pool in (readers, decoders):
            pool.shutdown(cancel_futures=True)
        if parallel is None:  # left set, it would make a later fork of the user's wait for threads that it has not
            os.environ.pop(_TOKENIZERS, None)


def _taken(waiting: deque[tuple[ImageRef, Future[Any]]], size: int) -> Batch:
    batch: Batch = []
    while waiting and len(batch) < size:
        ref, future = waiting.popleft()
        try:
            batch.append((ref, future.result(), None))
        except ImageProblem as problem:
            batch.append((ref, None, str(problem)))
    return batch


def _read(source: ImageSource, path: str) -> tuple[Found, bytes]:
    try:
        data = source.read(path)
    except ImageProblem as problem:
        return str(problem), b""
    return hashlib.sha256(data).digest(), data


def _pixels(preprocess: Preprocess, image: Any) -> Any:
    return np.asarray(preprocess.pixels(image))


def _processes(workers: int) -> ProcessPoolExecutor:
    """Forked, as torch's DataLoader does: neither torch nor the user's script is loaded again in each."""
    context = multiprocessing.get_context("fork")
    return ProcessPoolExecutor(workers, context, _begin, (context.Lock(), os.getpid()))


def _begin(lock: Any, parent: int) -> None:
    """What a process that decodes does first."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; our parent decides
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: it ends with its parent, however that ends
    if os.getppid() != parent:
        os._exit(1)
    share_lock(lock)
    os.nice(5)  # who feeds the model comes first where all cores are busy
