"""Named work in several processes: what is made already is left alone, and what fails costs only itself.

Each piece says which files it writes and writes them last, so a stopped command goes on where it was. Several commands
may work on one list; with `claim` they leave each other's pieces alone.
"""

from __future__ import annotations

import math
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
    make: Callable[[], str]  # what is printed of it
    done: tuple[Path, ...]
    needs: Path | None = None  # a file that another command is still writing


def is_done(work: Work) -> bool:
    return all(path.exists() for path in work.done)


def each(do: Callable[[Given], Made], given: Iterable[Given], processes: int, start: str = "spawn") -> Iterator[Made]:
    """In this order. With one process in this one; "fork" shares what is loaded. The processes may start others."""
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


def run(
    listed: Sequence[Work], processes: int = 1, start: str = "spawn", until: float = math.inf, claim: bool = False
) -> list[str]:
    """Make what is not there yet, and return what failed. No job begins after `until`."""
    todo = [work for work in listed if not is_done(work)]
    numbered = [(f"{number}/{len(todo)} ", work) for number, work in enumerate(todo, 1)]
    return [line for line in each(partial(_made, until, claim), numbered, processes, start) if line]


def _made(until: float, claim: bool, numbered: tuple[str, Work]) -> str:
    """Why it failed; "" if it did not."""
    place, work = numbered
    while work.needs and not work.needs.exists() and time.time() < until:
        time.sleep(2)
    if is_done(work) or time.time() > until or (claim and not _claimed(claim_of(work.done[0]))):
        return ""
    started, failed = time.monotonic(), ""
    try:
        said = work.make()
    except Exception as error:
        failed = f"{work.name} FAILED: {type(error).__name__}: {error}"
        if claim:
            claim_of(work.done[0]).unlink()
    if torch := sys.modules.get("torch"):
        torch.cuda.empty_cache()  # the other processes need the memory
    print(place + (failed or f"{work.name} {time.monotonic() - started:.0f} s {said}".rstrip()), flush=True)
    return failed


def claim_of(path: Path) -> Path:
    """Of the work that writes this file first of all."""
    return path.with_suffix(".claim")


def _claimed(path: Path) -> bool:
    """A process that was killed claims nothing any more."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        if not Path(f"/proc/{path.read_text() or 1}").exists():
            path.unlink()
    except FileNotFoundError:
        pass
    try:
        with path.open("x") as handle:
            handle.write(str(os.getpid()))
    except FileExistsError:
        return False
    return True
