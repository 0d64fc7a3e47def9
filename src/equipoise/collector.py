"""Python's garbage collector, and its lock, while many small objects are made; work that needs a lock of its own.

The collector looks through everything that is alive, again and again: with 27,443 items and a model in memory one look
takes a second, and it finds nothing. Reference counts free what evaluation makes.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import importlib
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
ENDED = object()

SELDOM = (
    100_000  # new objects until the collector looks at them; Python's own 700 made it look through all for a second
)
MOST_THREADS = 4
SWITCH = 0.0002  # seconds; Python's own 5 ms, paid for each message, kept 16 decoding processes waiting


def without_collection(work: Callable[P, R]) -> Callable[P, R]:
    """For functions that make a list of records and no cycles."""

    @functools.wraps(work)
    def held(*arguments: P.args, **options: P.kwargs) -> R:
        if not gc.isenabled():
            return work(*arguments, **options)
        gc.disable()
        try:
            return work(*arguments, **options)
        finally:
            gc.enable()

    return held


def in_threads(work: Callable[[T], R], things: Iterable[T]) -> Iterator[tuple[T, R]]:
    """(thing, what `work` makes of it) in order, a few at a time: for work that waits for no lock of Python's."""
    threads = min(MOST_THREADS, cores())
    left = iter(things)
    waiting: deque[tuple[T, Future[R]]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        try:
            while True:
                for thing in islice(left, threads + 1 - len(waiting)):
                    waiting.append((thing, pool.submit(work, thing)))
                if not waiting:
                    return
                thing, future = waiting.popleft()
                yield thing, future.result()
        finally:
            for _, future in waiting:
                future.cancel()


def ahead(things: Iterable[T]) -> Iterator[T]:
    """The same things, the next one being made while one is looked at; for what is made without Python's lock."""
    if cores() < 2:
        yield from things
        return
    left = iter(things)
    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(next, left, ENDED)
        while (thing := coming.result()) is not ENDED:
            coming = pool.submit(next, left, ENDED)
            yield thing  # type: ignore[misc]


def cores() -> int:
    """That this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextlib.contextmanager
def elsewhere(work: Callable[P, R], *arguments: P.args, **options: P.kwargs) -> Iterator[Callable[[], R]]:
    """Begin `work`, a function of a module of ours, in another process, which ends with the context at the latest;
    what the context gives waits for the result.

    A thread would share Python's lock with whoever feeds a GPU. The process is a plain program that loads neither torch
    nor the user's script. Where it fails, for whatever reason, the work is done here, and what is wrong with it is said
    as always.
    """
    code = f"import sys; sys.path.append({str(Path(__file__).parents[1])!r}); "
    code += f"from {__name__} import _serve; _serve({work.__module__!r}, {work.__qualname__!r})"
    try:
        process = subprocess.Popen([sys.executable, "-P", "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    except OSError:  # no memory, no more processes
        yield lambda: work(*arguments, **options)
        return
    assert process.stdin is not None and process.stdout is not None
    given, answer = process.stdin, process.stdout

    def give() -> None:
        with contextlib.suppress(OSError):  # it died before it could read
            pickle.dump((arguments, options), given, pickle.HIGHEST_PROTOCOL)
            given.flush()

    def wait() -> R:
        try:
            found: R = pickle.load(answer)  # of our own making
        except Exception:
            return work(*arguments, **options)
        return found

    thread = threading.Thread(target=give, daemon=True)
    thread.start()
    try:
        yield wait
    finally:
        process.kill()
        thread.join()
        for end in (given, answer):
            with contextlib.suppress(OSError):
                end.close()
        process.wait()


def _serve(module: str, name: str) -> None:
    """The life of such a process: its work, its answer; nothing where either fails, or where nobody waits any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; our parent decides
    answer = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what somebody prints is no part of the answer
    arguments, options = pickle.load(sys.stdin.buffer)

    def leave() -> None:
        sys.stdin.buffer.read(1)  # until the other end is closed
        os._exit(1)

    threading.Thread(target=leave, daemon=True).start()
    gc.disable()
    with contextlib.suppress(Exception):
        found = getattr(importlib.import_module(module), name)(*arguments, **options)
        pickle.dump(found, answer, pickle.HIGHEST_PROTOCOL)
        answer.flush()
    os._exit(0)


@contextlib.contextmanager
def set_aside() -> Iterator[None]:
    """The collector goes on, but seldom, and does not look at what is there now; nothing is done where the caller's
    program uses `gc.freeze` itself."""
    if gc.get_freeze_count():
        yield
        return
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(max(before[0], SELDOM) if before[0] else 0, *before[1:])  # 0: the caller wants none
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


@contextlib.contextmanager
def quick_turns() -> Iterator[None]:
    """Threads wait less long for Python's lock: one directs the decoders while another computes in Python."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(min(before, SWITCH) + 5e-7)
    try:
        yield
    finally:
        sys.setswitchinterval(before + 5e-7)  # Python cuts it to whole microseconds, each time
