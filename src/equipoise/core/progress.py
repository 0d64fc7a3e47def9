"""The progress bars of the whole project: what, how far, how fast, how long still.

Rich is loaded with the first bar: a command that draws none, `--help` above all, should not wait for it.
"""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import ProgressColumn, Task
    from rich.text import Text

_quiet = False


def be_quiet(quiet: bool) -> None:
    """Draw no bars from now on, or draw them again."""
    global _quiet
    _quiet = quiet


def is_quiet() -> bool:
    """Whether the user asked for results, warnings and errors alone."""
    return _quiet


def is_watched() -> bool:
    """Whether to print notes and bars: not with --quiet, and under torchrun only in the first process."""
    return not _quiet and os.environ.get("RANK", "0") == "0"


def _columns() -> list[ProgressColumn]:
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.text import Text

    class Rate(TextColumn):
        """Units a second, over the whole run so that it does not jump about."""

        def render(self, task: Task) -> Text:
            rate, unit = task.completed / task.elapsed if task.elapsed else 0.0, task.fields["unit"]
            return Text(f"{rate:,.0f} {unit}/s" if rate >= 10 else f"{rate:.1f} {unit}/s", style="dim")

    return [TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), Rate(""), TimeRemainingColumn()]


@contextlib.contextmanager
def several(*parts: tuple[int, str, str]) -> Iterator[list[Callable[[int], None]]]:
    """A bar on standard error for each (total, what, unit) of work that goes on at once; the yielded functions advance
    them by so many units. Of a torchrun the first draws."""
    if not is_watched() or not any(total for total, _, _ in parts):
        yield [lambda count: None for _ in parts]
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(*_columns(), console=Console(stderr=True)) as bars:
        tasks = [bars.add_task(what, total=total, visible=total > 0, unit=unit) for total, what, unit in parts]
        yield [functools.partial(bars.advance, task) for task in tasks]


@contextlib.contextmanager
def progress(total: int, what: str, unit: str = "items") -> Iterator[Callable[[int], None]]:
    """One such bar."""
    with several((total, what, unit)) as (advance,):
        yield advance
