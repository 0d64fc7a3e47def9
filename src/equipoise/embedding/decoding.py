"""Reads, hashes, looks up and decodes photos ahead of the model: each once, in one order for any number of workers.

A job is a few photos. The worker that reads them also decodes what the cache does not have, so their bytes never leave
it. Workers are threads or, where there are many photos and cores, processes that write pixels into shared memory:
Python's lock holds threads at about 700 photos per second. The processes are forked by a child: each fork stops a
process with a model on a GPU for 20 ms, so this one forks once.
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
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any, NamedTuple

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
from equipoise.models.inputs import Preprocess

if TYPE_CHECKING:
    from multiprocessing.synchronize import Lock

    from numpy.typing import NDArray
    from PIL import Image

PROCESSES_FROM = 500  # images; below, processes cost more than they give
IN_PROCESS, IN_THREAD = 32, 8  # images per job; pictures that threads make may be large, so fewer of them wait
AHEAD = 4  # jobs per process that are under way or wait for the model
SHARED = 2**30  # bytes of shared memory, at most

_TOKENIZERS = "TOKENIZERS_PARALLELISM"
KILLED = "a process that decodes images was killed, perhaps because memory ran out; try fewer --workers"

DigestOrProblem = bytes | str  # the SHA-256 of a photo, or what is wrong with it
# Of a job: as in `DecodedJob`; an image is its place in the job, its picture is None if it is in shared memory
# or could not be decoded.
Made = tuple[dict[str, DigestOrProblem], Any, list[tuple[int, Any, str | None]]]
# From the hashes of photos: what is known of them, and the images to decode. Called by the workers.
Lookup = Callable[[Mapping[str, bytes]], tuple[Any, Collection[ImageRef]]]


class DecodedJob(NamedTuple):
    """Photos that were read."""

    found: dict[str, DigestOrProblem]
    known: Any
    images: list[tuple[ImageRef, str | None]]  # that were to be decoded and, where this failed, why
    pictures: Sequence[Any] | NDArray[np.uint8]  # of `images`; an array is valid until the next job is asked for


@contextlib.contextmanager
def decoded(
    source: ImageSource,
    refs: Mapping[str, Sequence[ImageRef]],
    lookup: Lookup,
    make: Callable[[Image.Image], object] | Preprocess,
    workers: int,
    many: bool = False,
    meanwhile: Callable[[], bool] = lambda: False,
) -> Iterator[Iterator[DecodedJob]]:
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
    everyone = _processes if shape else _threads
    with everyone(workers, worker, jobs, ahead, meanwhile) as each:

        def results() -> Iterator[DecodedJob]:
            for number, (hashes, known, made) in enumerate(each):
                of_job = [ref for path in jobs[number] for ref in refs[path]]
                pictures = [picture for _, picture, _ in made] if slots is None else slots[number % ahead, : len(made)]
                yield DecodedJob(hashes, known, [(of_job[at], why) for at, _, why in made], pictures)

        yield results()


@contextlib.contextmanager
def _threads(
    workers: int, worker: _Worker, jobs: Sequence[Sequence[str]], ahead: int, meanwhile: Callable[[], bool]
) -> Iterator[Iterator[Made]]:
    """The result of each job, in order."""
    pool = ThreadPoolExecutor(workers)

    def each() -> Iterator[Made]:
        for future in _in_order(pool, worker, jobs, ahead):
            while not future.done() and meanwhile():
                pass
            yield future.result()

    try:
        yield each()
    finally:
        pool.shutdown(cancel_futures=True)


@contextlib.contextmanager
def _processes(
    workers: int, worker: _Worker, jobs: Sequence[Sequence[str]], ahead: int, meanwhile: Callable[[], bool]
) -> Iterator[Iterator[Made]]:
    """The same. The processes are forked, as in torch's DataLoader: neither torch nor the user's script is loaded
    again in each."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    parallel = os.environ.get(_TOKENIZERS)
    os.environ[_TOKENIZERS] = parallel or "true"  # else tokenizers warn of every fork
    foreman = context.Process(target=_direct, args=(theirs, workers, worker, jobs, ahead, os.getpid()))
    foreman.start()
    theirs.close()

    def each() -> Iterator[Made]:
        for _ in jobs:
            while not ours.poll() and meanwhile():
                pass
            with _killed():
                made = ours.recv()
            if isinstance(made, Exception):
                raise made
            yield made
            with _killed():
                ours.send(None)  # not before: the next job is written into the same block

    try:
        yield each()
    finally:
        foreman.kill()
        foreman.join()
        ours.close()
        if parallel is None:  # left set, it would make a later fork of the user's wait for threads that it has not
            os.environ.pop(_TOKENIZERS, None)


@contextlib.contextmanager
def _killed() -> Iterator[None]:
    try:
        yield
    except (EOFError, OSError):
        raise UserError(KILLED) from None


def _direct(
    end: Connection, workers: int, worker: _Worker, jobs: Sequence[Sequence[str]], ahead: int, parent: int
) -> None:
    """The child that forks the workers and sends what they make."""
    end_with(parent)
    context = multiprocessing.get_context("fork")
    try:
        with ProcessPoolExecutor(workers, context, _begin, (worker, context.Lock(), os.getpid())) as pool:
            for future in _in_order(pool, _in_process, jobs, ahead):
                end.send(future.result())
                end.recv()
    except BrokenProcessPool:
        end.send(UserError(KILLED))
    except Exception as error:
        if error.__cause__ is not None:  # the traceback of the worker, which is not sent
            error.add_note(str(error.__cause__))
        end.send(error)


def _in_order(
    pool: Executor, work: Callable[[Sequence[str], int], Made], jobs: Sequence[Sequence[str]], ahead: int
) -> Iterator[Future[Made]]:
    """Jobs that were begun; the one `ahead` places later begins when the next is asked for."""
    waiting: deque[Future[Made]] = deque()
    for number, job in enumerate(jobs):
        if number >= ahead:
            yield waiting.popleft()
        waiting.append(pool.submit(work, job, number % ahead))
    yield from waiting


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
    """Does a job. With `slots`, its pictures go into a block of them."""

    source: ImageSource
    refs: Mapping[str, Sequence[ImageRef]]
    lookup: Lookup
    make: Callable[[Image.Image], Any]
    slots: NDArray[np.uint8] | None

    def __call__(self, paths: Sequence[str], block: int) -> Made:
        hashes: dict[str, DigestOrProblem] = {}
        data: dict[str, bytes] = {}
        for path in paths:
            try:
                data[path] = self.source.read(path)
                hashes[path] = hashlib.sha256(data[path]).digest()
            except ImageProblem as problem:
                hashes[path] = str(problem)
        known, wanted = self.lookup({path: digest for path, digest in hashes.items() if isinstance(digest, bytes)})
        places = {ref: at for at, ref in enumerate(ref for path in paths for ref in self.refs[path])}
        made = [(places[ref], *self._made(data[ref.path], ref, block, row)) for row, ref in enumerate(wanted)]
        return hashes, known, made

    def _made(self, data: bytes, ref: ImageRef, block: int, row: int) -> tuple[Any, str | None]:
        try:
            picture = use_image(data, ref, self.make)
        except ImageProblem as problem:
            return None, str(problem)
        if self.slots is None:
            return picture, None
        self.slots[block, row] = picture
        return None, None


_worker: _Worker  # of a process that decodes


def _in_process(paths: Sequence[str], block: int) -> Made:
    return _worker(paths, block)


def _begin(worker: _Worker, lock: Lock, parent: int) -> None:
    """The first step of a process that decodes."""
    global _worker
    end_with(parent)
    share_lock(lock)
    os.nice(5)  # who feeds the model comes first where all cores are busy
    _worker = worker
