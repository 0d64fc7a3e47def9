"""Worker processes that end with their parent and print no traceback on Ctrl-C."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import Connection
from typing import Any, TypeVar

from equipoise.core.errors import UserError
from equipoise.core.garbage import SELDOM

Submit = Callable[..., Future[Any]]
T = TypeVar("T")
_MASKS = hasattr(signal, "pthread_sigmask")  # not on Windows


@contextlib.contextmanager
def processes(count: int) -> Iterator[Submit]:
    """A `submit(function, *arguments)` that runs on one of `count` new processes."""
    context = multiprocessing.get_context("spawn")
    end, ours = context.Pipe(duplex=False)
    pool = ProcessPoolExecutor(count, context, initializer=_start_worker, initargs=(end,))

    def submit(work: Callable[..., Any], *given: Any) -> Future[Any]:
        with _interrupts_for_us():
            return pool.submit(work, *given)

    try:
        yield submit
    except BrokenProcessPool:
        raise UserError(
            "a worker process was killed, most likely for lack of memory. Finished work is kept, and the same command "
            "resumes; try fewer --workers. (In your own script, put the call inside "
            'if __name__ == "__main__":, since every worker imports the script.)'
        ) from None
    except BaseException:
        ours.close()  # ends the workers at once
        raise
    finally:
        pool.shutdown(cancel_futures=True)


@contextlib.contextmanager
def _interrupts_for_us() -> Iterator[None]:
    """Processes started inside never see Ctrl-C; this process handles it at the end."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    held: list[int] = []
    # New processes inherit the blocked signals. The handlers only take a note, because another thread (the progress
    # bar's) may still receive a signal, and a half-started process would print a traceback.
    both = (signal.SIGINT, signal.SIGTERM)
    handlers = {kind: signal.signal(kind, lambda number, _: held.append(number)) for kind in both}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, both) if _MASKS else None
    try:
        yield
    finally:
        if before is not None:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        for kind, handler in handlers.items():
            signal.signal(kind, handler)
    if held:
        signal.raise_signal(held[0])  # for the previous handler


def _start_worker(end: Connection) -> None:
    """Workers end when the main process closes its end of the pipe or is killed."""
    gc.set_threshold(*SELDOM)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if _MASKS:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})

    def leave_with_parent() -> None:
        with contextlib.suppress(EOFError, OSError):
            end.recv()
        os._exit(1)

    threading.Thread(target=leave_with_parent, daemon=True).start()


@contextlib.contextmanager
def ahead(work: Callable[[], T]) -> Iterator[Callable[[], T]]:
    """A function that gives the result of `work`, which has begun in a process of its own.

    A thread would share Python's lock with the caller. Where the process dies, the work is done here.
    """
    if sys.platform != "linux":
        yield work
        return
    context = multiprocessing.get_context("fork")  # the data that `work` reads need not be sent
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_answer, args=(work, theirs, os.getpid()))
    process.start()
    theirs.close()

    def result() -> T:
        try:
            answer: T = ours.recv()
        except (EOFError, OSError):
            return work()
        return answer

    try:
        yield result
    finally:
        process.terminate()
        process.join(1)  # seconds, to remove an unfinished file
        process.kill()
        process.join()
        ours.close()


def _answer(work: Callable[[], Any], end: Connection, parent: int) -> None:
    end_with(parent)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    with contextlib.suppress(Exception):  # the parent does the work again and meets the same error
        end.send(work())


def end_with(parent: int) -> None:
    """Have this forked process end with its parent, however that ends, and leave Ctrl-C to it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    if os.getppid() != parent:
        os._exit(1)
