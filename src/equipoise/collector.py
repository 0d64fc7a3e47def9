"""Python's garbage collector, and its lock, while many small objects are made.

The collector looks through everything that is alive, again and again: with 27,443 items and a model in memory one look
takes a second, and it finds nothing. Reference counts free what evaluation makes.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import sys
import threading
from collections.abc import Callable, Iterator
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

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


def meanwhile(work: Callable[[], R]) -> Callable[[], R]:
    """Begin `work` in a thread; the function that comes back waits for what it found, or raises what it raised.

    For Python that there is time for while processes decode or a GPU computes. Nobody waits for it at the end of the
    program.
    """
    found: list[R] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            found.append(work())
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()

    def wait() -> R:
        thread.join()
        if failed:
            raise failed[0]
        return found[0]

    return wait


@contextlib.contextmanager
def set_aside() -> Iterator[None]:
    """The collector goes on, but does not look at what is there now; nothing is done where the caller's program uses
    `gc.freeze` itself."""
    if gc.get_freeze_count():
        yield
        return
    gc.freeze()
    try:
        yield
    finally:
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
