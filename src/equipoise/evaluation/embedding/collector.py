"""Python's garbage collector, held back while many small objects are made."""

from __future__ import annotations

import functools
import gc
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def without_collection(work: Callable[P, R]) -> Callable[P, R]:
    """For functions that make a list of records and no cycles: with 27,443 items in memory more than half of their time
    went into looking through all of these for garbage, again and again, and finding none."""

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
