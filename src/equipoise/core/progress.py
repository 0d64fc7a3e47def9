"""How far a command is: bars on the screen, and a small status file next to its results.

A command names the place of its status file (`begin`), its progress bars say how far it is (`several`), and the command
line says how it ended (`recorded`). A thread writes, at most once a second, so the work never waits for the disk. A
killed command leaves a file that is no longer renewed, of a process that is gone (`is_alive`). Rich is imported with
the first bar, so that `--help` does not wait for it.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from equipoise.core.errors import UserError

if TYPE_CHECKING:
    from rich.progress import Task

STATUS = ".equipoise-status.json"  # hidden, so that no reader of the folder takes it for data
EVERY = 1.0  # seconds between two looks at the progress
BEAT = 10.0  # seconds after which it is written again though nothing moved
SILENT = 60.0  # seconds without a write after which its process is taken for dead
_LONG = 4_000  # characters of an error
_quiet = False


def be_quiet(quiet: bool) -> None:
    global _quiet
    _quiet = quiet


def is_quiet() -> bool:
    """Whether only results, warnings and errors are printed."""
    return _quiet


def is_watched() -> bool:
    """Whether to print notes and bars: not with --quiet, and only in the first process of a torchrun."""
    return not _quiet and os.environ.get("RANK", "0") == "0"


@contextlib.contextmanager
def several(*parts: tuple[int, str, str]) -> Iterator[list[Callable[[int], None]]]:
    """A bar on standard error for each (total, what, unit); the yielded functions advance them by a number of units.

    The status file of the command has the same numbers, with --quiet too.
    """
    known = [Bar(what, unit, total) for total, what, unit in parts]
    with showing(known), _drawn(parts) as drawn:
        yield [functools.partial(_both, bar, advance) for bar, advance in zip(known, drawn, strict=True)]


def _both(bar: Bar, advance: Callable[[int], None], count: int) -> None:
    bar.done += count
    advance(count)


@contextlib.contextmanager
def _drawn(parts: Sequence[tuple[int, str, str]]) -> Iterator[list[Callable[[int], None]]]:
    if not is_watched() or not any(total for total, _, _ in parts):
        yield [lambda count: None for _ in parts]
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
    from rich.text import Text

    class Rate(TextColumn):
        """Units per second, over the whole run so that it is stable."""

        def render(self, task: Task) -> Text:
            rate, unit = task.completed / task.elapsed if task.elapsed else 0.0, task.fields["unit"]
            return Text(f"{rate:,.0f} {unit}/s" if rate >= 10 else f"{rate:.1f} {unit}/s", style="dim")

    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), Rate(""), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True, force_jupyter=False)) as bars:
        tasks = [bars.add_task(what, total=total, visible=total > 0, unit=unit) for total, what, unit in parts]
        yield [functools.partial(bars.advance, task) for task in tasks]


@contextlib.contextmanager
def progress(total: int, what: str, unit: str = "items") -> Iterator[Callable[[int], None]]:
    with several((total, what, unit)) as (advance,):
        yield advance


@dataclass
class Bar:
    """How far one part of the work is."""

    what: str
    unit: str
    total: int
    done: int = 0
    began: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self.first = self.done  # what an earlier command did does not count for the rate
        self.ended = 0.0  # once it is done its rate stays

    def value(self) -> dict[str, Any]:
        if not self.ended or self.done < self.total or not self.total:
            self.ended = time.monotonic()
        rate = (self.done - self.first) / max(self.ended - self.began, 1e-9)
        parts = {"what": self.what.strip(), "done": self.done, "total": self.total, "unit": self.unit}
        return parts | {"rate": round(rate, 3)}


class _Status:
    def __init__(self, verb: str, path: Path) -> None:
        self.path, self.started = path, time.time()
        self.fixed = {"schema": 1, "verb": verb, "pid": os.getpid(), "host": socket.gethostname()}
        self.state, self.error = "started", ""
        self.shown: list[Sequence[Bar]] = []  # those of the innermost work last
        self.last: Sequence[Bar] = ()  # of the work before: what follows may have no bar of its own
        self._over = threading.Event()
        self.write()
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._thread.start()

    def write(self) -> None:
        from equipoise.core.files import atomic_write  # with hashlib, for which `--help` need not wait

        bars = [bar.value() for bar in self.bars() if bar.total or bar.done]
        times = {"started": round(self.started, 3), "updated": round(time.time(), 3)}
        value = {**self.fixed, "state": self.state, **times, "bars": bars, "error": self.error}
        with contextlib.suppress(OSError, UserError), atomic_write(self.path, flush=False) as handle:
            text = json.dumps(value, ensure_ascii=False)
            handle.write(text.encode("utf-8", "replace").decode() + "\n")  # file names need not be text

    def bars(self) -> Sequence[Bar]:
        return self.shown[-1] if self.shown else self.last

    def _follow(self) -> None:
        before: object = None
        written = time.monotonic()
        while not self._over.wait(EVERY):
            moved = [(bar.what, bar.done) for bar in self.bars()]
            if (moved != before or time.monotonic() - written >= BEAT) and self.path.parent.is_dir():
                self.state = "running"
                self.write()
                before, written = moved, time.monotonic()

    def end(self, error: BaseException | None) -> None:
        self._over.set()
        self._thread.join()
        self.state = "finished"
        if isinstance(error, KeyboardInterrupt):
            self.state = "stopped"
        elif self.error or (error is not None and not hasattr(error, "exit_code")):  # typer's Exit is no failure
            self.state = "failed"
            said = str(error) if isinstance(error, (UserError, OSError)) else f"{type(error).__name__}: {error}"
            self.error = (self.error or said)[:_LONG]
        if self.path.parent.is_dir():
            self.write()


_now: _Status | None = None
_wanted = False


@contextlib.contextmanager
def recorded() -> Iterator[None]:
    """Around a command: what it began is marked finished, stopped or failed."""
    global _now, _wanted
    _wanted = True
    failed: BaseException | None = None
    try:
        yield
    except BaseException as error:
        failed = error
        raise
    finally:
        status, _now, _wanted = _now, None, False
        if status is not None and status.fixed["pid"] == os.getpid():
            status.end(failed)


def begin(verb: str, folder: Path, file: str = "") -> None:
    """From here on the command keeps a status file in `folder`, or beside the one `file` there that it writes.

    Only inside `recorded`, only in the first process of a torchrun, and never over the file of a live process.
    """
    global _now
    path = folder / (f".{file}{STATUS}" if file else STATUS)
    if _wanted and _now is None and os.environ.get("RANK", "0") == "0" and not is_alive(_read(path)):
        _now = _Status(verb, path)


def fail(message: str) -> None:
    """The command printed why it failed, and will end without an error."""
    if _now is not None:
        _now.error = message


@contextlib.contextmanager
def showing(bars: Sequence[Bar]) -> Iterator[None]:
    """Progress of the command while this work is done."""
    status = _now
    if status is None:
        yield
        return
    status.shown.append(bars)
    try:
        yield
    finally:
        status.last = bars
        status.shown.remove(bars)


def _read(path: Path) -> Mapping[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def is_alive(status: Mapping[str, object]) -> bool:
    """Whether a command with this status is still at work: its process is there and the file was renewed lately."""
    updated, pid = status.get("updated"), status.get("pid")
    if status.get("state") not in ("started", "running") or not isinstance(updated, (int, float)):
        return False
    if type(pid) is not int or not 0 < pid < 1 << 31 or time.time() - updated > SILENT:
        return False
    return status.get("host") != socket.gethostname() or _is_there(pid)


def _is_there(pid: int) -> bool:
    if os.name == "nt":  # there it would end the process; the file's age has to do
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # another user's
        return True
    return True
