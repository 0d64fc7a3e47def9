"""Python's garbage collector, while many small objects are made.

It looks through everything that is alive, again and again: with 27,443 items in memory that took a third of an
evaluation, and it found nothing. Reference counts free what the verbs make.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator
from typing import Any

# New objects between two looks at the young; looks at the young for one at the older; and for one at all that is alive,
# which takes a second and more. Python's own numbers are 700, 10 and 10.
SELDOM = 10_000, 10, 1_000
_AT_START = gc.get_freeze_count()  # Python 3.12 begins with a few hundred


def _frozen() -> bool:
    """Whether the caller froze objects, or we did further out."""
    return gc.get_freeze_count() > _AT_START


def known_objects() -> list[Any]:
    """All objects that the collector looks at, frozen ones too."""
    again = _frozen()
    gc.unfreeze()
    objects = gc.get_objects()
    if again:
        gc.freeze()
    return objects


@contextlib.contextmanager
def seldom_collected() -> Iterator[None]:
    """The collector goes on, but seldom, and without what is there now. A caller's own settings are left alone."""
    before = gc.get_threshold()
    if _frozen() or not before[0]:
        yield
        return
    gc.freeze()
    gc.set_threshold(*map(max, before, SELDOM))
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


@contextlib.contextmanager
def uncollected() -> Iterator[None]:
    """No collection while records are made, which hold no cycles; and what was made then counts as old. One look at the
    items of a file takes a third as long as reading them.
    """
    if not gc.isenabled():
        yield
        return
    frozen = _frozen()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if not frozen:
            gc.unfreeze()
        gc.enable()
