"""Progress bars. Rich is imported with the first bar, so that `--help` does not wait for it."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from equipoise.core import status

if TYPE_CHECKING:
    from rich.progress import Task

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
    known = [status.Bar(what, unit, total) for total, what, unit in parts]
    with status.showing(known), _drawn(parts) as drawn:
        yield [functools.partial(_both, bar, advance) for bar, advance in zip(known, drawn, strict=True)]


def _both(bar: status.Bar, advance: Callable[[int], None], count: int) -> None:
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
    with Progress(*columns, console=Console(stderr=True)) as bars:
        tasks = [bars.add_task(what, total=total, visible=total > 0, unit=unit) for total, what, unit in parts]
        yield [functools.partial(bars.advance, task) for task in tasks]


@contextlib.contextmanager
def progress(total: int, what: str, unit: str = "items") -> Iterator[Callable[[int], None]]:
    with several((total, what, unit)) as (advance,):
        yield advance
