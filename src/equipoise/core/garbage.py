"""Python's garbage collector, while many small objects are made.

It looks through everything that is alive, again and again: with 27,443 items in memory that took a third of an
evaluation, and it found nothing. Reference counts free what the verbs make.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator

SELDOM = 100_000  # new objects between two looks; Python's own number is 700


@contextlib.contextmanager
def seldom_collected() -> Iterator[None]:
    """The collector goes on, but seldom, and without what is there now. A caller's own settings are left alone."""
    before = gc.get_threshold()
    if gc.get_freeze_count() or not before[0]:
        yield
        return
    gc.freeze()
    gc.set_threshold(max(before[0], SELDOM), *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
