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
_PYTHONS = 2_000  # objects; Python 3.12 freezes about 375 at its start, gc.freeze() at least 4,000
_ours = False  # whether `seldom_collected` froze what is frozen


def _callers() -> bool:
    """Whether the caller froze objects."""
    return not _ours and gc.get_freeze_count() > _PYTHONS


def known_objects() -> list[Any]:
    """All objects that the collector knows, frozen ones included. What a caller froze is frozen again, with all that
    was made since."""
    again = gc.get_freeze_count() > _PYTHONS
    gc.unfreeze()
    objects = gc.get_objects()
    if again:
        gc.freeze()
    return objects


@contextlib.contextmanager
def seldom_collected() -> Iterator[None]:
    """The collector goes on, but seldom, and without what is there now. A caller's own settings are left alone."""
    global _ours
    before = gc.get_threshold()
    if _ours or _callers() or not before[0]:
        yield
        return
    gc.freeze()
    _ours = True
    gc.set_threshold(*map(max, before, SELDOM))
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
        _ours = False


@contextlib.contextmanager
def uncollected() -> Iterator[None]:
    """No collection while records are made: they hold no cycles, and one look at the items of a file takes a third of
    the time of reading them. Afterwards they count as old."""
    if not gc.isenabled():
        yield
        return
    theirs = _callers()
    gc.disable()
    try:
        yield
    finally:
        if not theirs:
            gc.freeze()
            if not _ours:
                gc.unfreeze()
        gc.enable()
