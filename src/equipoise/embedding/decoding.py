"""Reads, hashes, looks up and decodes photos ahead of the model: each once, in one order for any number of workers.

A job is a few photos. The worker that reads them also decodes what the cache does not have, so their bytes never leave
it. Workers are threads or, where there are many photos and cores, processes that write pixels into shared memory:
Python's lock holds threads at about 700 photos per second.
"""

from __future__ import annotations

import contextlib
import hashlib
import mmap
import multiprocessing
import os
import sys
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from equipoise.core.errors import UserError
from equipoise.core.processes import end_with
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
IN_PROCESS, IN_THREAD = 32, 8  # images per job; pictures that threads make may be large, so fewer of them wait
AHEAD = 4  # jobs per process that are under way or wait for the model
SWITCH = 0.0005  # seconds; with Python's 5 ms between threads the pool's own thread hands out jobs too late
SHARED = 2**30  # bytes of shared memory, at most

_TOKENIZERS = "TOKENIZERS_PARALLELISM"
KILLED = "a process that decodes images was killed, perhaps because memory ran out; try fewer --workers"

Found = bytes | str  # the SHA-256 of a photo, or what is wrong with it
# From the hashes of photos: what is known of them, and the images to decode. Called by the workers.
Lookup = Callable[[Mapping[str, bytes]], tuple[Any, Collection[ImageRef]]]


class Job(NamedTuple):
    """Photos that were read. The pictures are valid until the next job is asked for."""

    found: dict[str, Found]
    known: Any
    images: list[tuple[ImageRef, Any, str | None]]  # an image, its picture and, where decoding failed, why


@contextlib.contextmanager
def decoded(
    source: ImageSource,
    refs: Mapping[str, Sequence[ImageRef]],
    lookup: Lookup,
    make: Callable[[Any], Any] | Preprocess,
    workers: int,
    many: bool = False,
    meanwhile: Callable[[], bool] = lambda: False,
) -> Iterator[Iterator[Job]]:
    """The images of each path, job by job. `make` turns an image into its picture.

    `meanwhile` is called while the next job is not ready, until it returns False. Leaving the context ends all workers.
    """
    ours = isinstance(source, FolderImages | TarImages | ParquetImages)
    enough = many and ours and len(refs) >= PROCESSES_FROM and sys.platform == "linux"
    shape = (*make.image_size, 3) if isinstance(make, Preprocess) and enough else None
    jobs = _jobs(refs, IN_PROCESS if shape else IN_THREAD)
    ahead, slots = 2 * workers, None
    if shape:
        longest = max(sum(len(refs[path]) for path in job) for job in jobs)
        size = longest * int(np.prod(shape))
        ahead = max(workers + 1, min(AHEAD * workers, SHARED // size))
        slots = np.frombuffer(mmap.mmap(-1, ahead * size), np.uint8).reshape(ahead, longest, *shape)
    worker = _Worker(source, refs, lookup, make.pixels if isinstance(make, Preprocess) else make, slots)
    pool: Executor = _processes(workers, worker) if shape else ThreadPoolExecutor(workers)
    work = _in_process if shape else worker

    def results() -> Iterator[Job]:
        waiting: deque[tuple[int, Future[Any]]] = deque()
        left = iter(enumerate(jobs))

        def begin_next() -> None:
            for number, paths in islice(left, 1):
                waiting.append((number, pool.submit(work, paths, number % ahead)))

        for _ in range(ahead):
            begin_next()
        while waiting:
            number, future = waiting.popleft()
            while not future.done() and meanwhile():
                pass
            found, known, made = future.result()
            images = [ref for path in jobs[number] for ref in refs[path]]
            block = None if slots is None else slots[number % ahead]
            yield Job(found, known, [(images[at], one if block is None else block[at], why) for at, one, why in made])
            begin_next()  # not before: it writes into the same block

    parallel, switch = os.environ.get(_TOKENIZERS), sys.getswitchinterval()
    if shape:
        os.environ[_TOKENIZERS] = parallel or "true"  # else tokenizers warn of every fork
        sys.setswitchinterval(min(switch, SWITCH))
    try:
        yield results()
    except BrokenProcessPool:
        raise UserError(KILLED) from None
    finally:
        pool.shutdown(cancel_futures=True)
        sys.setswitchinterval(switch)
        if parallel is None:  # left set, it would make a later fork of the user's wait for threads that it has not
            os.environ.pop(_TOKENIZERS, None)


def _jobs(refs: Mapping[str, Sequence[ImageRef]], size: int) -> list[list[str]]:
    """Neighbouring paths with at most `size` images together; a path with more is a job of its own."""
    jobs: list[list[str]] = []
    left = 0
    for path, images in refs.items():
        if len(images) > left:
            jobs.append([])
            left = size
        jobs[-1].append(path)
        left -= len(images)
    return jobs


@dataclass
class _Worker:
    """Does a job. With `slots`, pictures go there, at (block, place of the image in the job)."""

    source: ImageSource
    refs: Mapping[str, Sequence[ImageRef]]
    lookup: Lookup
    make: Callable[[Any], Any]
    slots: Any

    def __call__(self, paths: Sequence[str], block: int) -> tuple[dict[str, Found], Any, list[Any]]:
        found: dict[str, Found] = {}
        data: dict[str, bytes] = {}
        for path in paths:
            try:
                data[path] = self.source.read(path)
                found[path] = hashlib.sha256(data[path]).digest()
            except ImageProblem as problem:
                found[path] = str(problem)
        known, wanted = self.lookup({path: digest for path, digest in found.items() if isinstance(digest, bytes)})
        places = {ref: at for at, ref in enumerate(ref for path in paths for ref in self.refs[path])}
        return found, known, [(places[ref], *self._made(data[ref.path], ref, block, places[ref])) for ref in wanted]

    def _made(self, data: bytes, ref: ImageRef, block: int, place: int) -> tuple[Any, str | None]:
        try:
            picture = use_image(data, ref, self.make)
        except ImageProblem as problem:
            return None, str(problem)
        if self.slots is None:
            return picture, None
        self.slots[block, place] = picture
        return None, None


_worker: _Worker  # of a process that decodes


def _in_process(paths: Sequence[str], block: int) -> Any:
    return _worker(paths, block)


def _processes(workers: int, worker: _Worker) -> ProcessPoolExecutor:
    """Forked, as torch's DataLoader does: neither torch nor the user's script is loaded again in each."""
    context = multiprocessing.get_context("fork")
    return ProcessPoolExecutor(workers, context, _begin, (worker, context.Lock(), os.getpid()))


def _begin(worker: _Worker, lock: Any, parent: int) -> None:
    """The first step of a process that decodes."""
    global _worker
    end_with(parent)
    share_lock(lock)
    os.nice(5)  # who feeds the model comes first where all cores are busy
    _worker = worker
