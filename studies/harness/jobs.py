"""Named work in several processes: what is made already is left alone, and what fails costs only itself.

Each piece says which files it writes and writes them last, so a stopped command goes on where it was.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple, TypeVar

Given = TypeVar("Given")
Made = TypeVar("Made")


class Work(NamedTuple):
    name: str
    make: Callable[[], None]
    done: tuple[Path, ...]


def each(do: Callable[[Given], Made], given: Iterable[Given], processes: int, start: str = "spawn") -> Iterator[Made]:
    """Results in the order of `given`. One process is this one; "fork" shares loaded data. A process may start more."""
    if processes == 1:
        yield from map(do, given)
        return
    begin = partial(_share_cores, processes) if start == "spawn" else None  # after a fork torch would round otherwise
    with ProcessPoolExecutor(processes, get_context(start), begin) as pool:
        yield from pool.map(do, given)


def _share_cores(processes: int) -> None:
    threads = os.environ.setdefault("OMP_NUM_THREADS", str(max(1, (os.cpu_count() or 1) // processes)))
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(int(threads))


def run(listed: Sequence[Work], processes: int = 1, start: str = "spawn") -> list[str]:
    """Run the jobs whose output is missing, and return those that failed."""
    todo = [work for work in listed if not all(path.exists() for path in work.done)]
    numbered = [(f"{number}/{len(todo)} {work.name}", work.make) for number, work in enumerate(todo, 1)]
    return [line for line in each(_made, numbered, processes, start) if line]


def _made(numbered: tuple[str, Callable[[], None]]) -> str:
    """The reason of a failure; "" if there was none."""
    name, make = numbered
    started, failed = time.monotonic(), ""
    try:
        make()
    except Exception as error:
        failed = f"FAILED: {type(error).__name__}: {error}"
    if torch := sys.modules.get("torch"):
        torch.cuda.empty_cache()  # the other processes need the memory
    print(name, failed or f"{time.monotonic() - started:.0f} s", flush=True)
    return failed and f"{name.partition(' ')[2]} {failed}"
