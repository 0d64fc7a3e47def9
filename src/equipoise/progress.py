"""One progress bar for the whole project: what, how far, how fast, how long still."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, Task, TextColumn, TimeRemainingColumn
from rich.text import Text


class _Rate(TextColumn):
    """Units a second, over the whole run so that it does not jump about."""

    def __init__(self, unit: str) -> None:
        super().__init__("")
        self.unit = unit

    def render(self, task: Task) -> Text:
        rate = task.completed / task.elapsed if task.elapsed else 0.0
        return Text(f"{rate:,.0f} {self.unit}/s" if rate >= 10 else f"{rate:.1f} {self.unit}/s", style="dim")


@contextlib.contextmanager
def progress(total: int, what: str, unit: str = "items") -> Iterator[Callable[[int], None]]:
    """A bar on standard error; the yielded function advances it by so many units. Of a torchrun the first draws."""
    silent = total == 0 or os.environ.get("RANK", "0") != "0"
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), _Rate(unit), TimeRemainingColumn())
    with Progress(*columns, console=console, disable=silent) as bar:
        task = bar.add_task(what, total=total)
        yield lambda count: bar.advance(task, count)
