"""`bench fetch`: downloads a benchmark's files from their official addresses.

What will be downloaded, and how large it is, is said before anything is. An archive is unpacked where it lies and then
deleted; NAME.unpacked remembers it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from equipoise.benchmarks.base import Benchmark, Download, in_words
from equipoise.benchmarks.fetching.archives import safe_unpack
from equipoise.benchmarks.fetching.download import (
    TIMEOUT,
    TRIES,
    Broken,
    DownloadRefused,
    Show,
    allowed,
    download,
    have_of,
    notes_of,
    size_of,
    wrong,
)
from equipoise.core.errors import Problems, UserError
from equipoise.core.files import inside, write_json
from equipoise.core.progress import Bar, is_quiet, showing

_OFFLINE = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")


@dataclass(frozen=True)
class Step:
    download: Download
    path: Path
    size: int | None  # None: the server would not say
    have: int  # bytes that lie there already, of the file or of its .part
    done: bool


@dataclass(frozen=True)
class FetchPlan:
    """The steps of `fetch`; `get` describes the steps by hand, for files without a stable address."""

    name: str
    into: Path
    steps: tuple[Step, ...]
    get: str
    images: bool = True

    @property
    def todo(self) -> tuple[Step, ...]:
        return tuple(step for step in self.steps if not step.done)

    @property
    def missing(self) -> int:
        """Bytes to download, as far as the sizes are known."""
        return sum(max(0, (step.size or 0) - step.have) for step in self.todo)

    @property
    def command(self) -> str:
        return f"equipoise bench fetch {self.name} --out {self.into}" + ("" if self.images else " --no-images")

    def describe(self) -> str:
        """The files already there, the downloads with their sizes, and the steps left to do by hand."""
        lines = [f"{self.name}: into {self.into}"]
        for step in self.steps:
            where, size = step.path.relative_to(self.into.resolve()), in_words(step.size)
            if step.done:
                lines.append(f"  {where}  there already")
            elif step.have == step.size:
                lines.append(f"  {where}  there already, to be {'unpacked' if step.download.unpack else 'checked'}")
            else:
                after = ", then unpacked" if step.download.unpack else ""
                part = f", {in_words(step.have)} of it there already" if step.have else ""
                lines.append(f"  {where}  {size}{part}{after}  from {step.download.url}")
        if missing := [step for step in self.todo if step.have != step.size]:
            unknown = sum(step.size is None for step in missing)
            more = f", {unknown} of them of unknown size" if unknown else ""
            lines.append(f"To download: {in_words(self.missing)} in {len(missing)} file(s){more}.")
        elif self.steps:
            lines.append("Nothing to download.")
        if self.get:
            lines += ["By hand, for want of a stable address:", *(f"  {line}" for line in self.get.splitlines())]
        return "\n".join(lines)


def plan(benchmark: Benchmark, into: str | Path, images: bool = True) -> FetchPlan:
    """Look at what lies below `into`; the server is asked for sizes that are not recorded.

    `images=False` leaves the archives out, for people who have the photos already.
    """
    into = Path(into)
    problems = Problems(f"{benchmark.name}: files in {into} are not the published ones")
    steps: list[Step] = []
    for entry in benchmark.downloads:
        if entry.unpack and not images:
            continue
        path = inside(into, entry.to)
        if not allowed(entry.url):
            raise UserError(f"{entry.url}: only https is fetched (http from this machine alone)")
        if _unpacked(path, entry):
            steps.append(Step(entry, path, entry.size, 0, True))
        elif path.exists():
            if difference := wrong(path, entry):
                problems.add(str(path), difference)
            size = path.stat().st_size
            steps.append(Step(entry, path, size, size, not entry.unpack))
        else:
            steps.append(Step(entry, path, entry.size, have_of(entry, path), False))
    problems.raise_if_any("Move them away, or fetch into another folder: nothing of yours is overwritten.")
    by_hand = benchmark.by_hand if benchmark.downloads else benchmark.get
    return FetchPlan(benchmark.name, into, _with_sizes(steps), by_hand, images)


def _with_sizes(steps: list[Step]) -> tuple[Step, ...]:
    """Ask for the sizes that are not recorded, until a server does not answer: `fetch` will say what is wrong."""
    sized = list(steps)
    with contextlib.suppress(Broken):
        for place, step in enumerate(steps):
            if step.size is None and not step.done and not _offline():
                sized[place] = replace(step, size=size_of(step.download.url))
    return tuple(sized)


def fetch(
    plan: FetchPlan, console: Console | None = None, tries: int = TRIES, pause: float = 1.0, timeout: float = TIMEOUT
) -> list[Path]:
    """Say what the plan is, then do it; the files that now lie there, folders for archives.

    Files that cannot be had are reported together at the end, after the others were fetched. When the network is gone,
    the first one ends it.
    """
    console = console or Console(stderr=True)
    console.print(plan.describe(), markup=False, highlight=False, soft_wrap=True)
    if any(not step.path.exists() for step in plan.todo) and (flag := _offline()):
        raise UserError(
            f"{plan.name}: {flag} is set, so nothing is downloaded. Unset it and run: {plan.command}\n"
            "or download the files above on another machine and put them there."
        )
    _check_disk(plan)
    problems = Problems(f"{plan.name}: not everything could be fetched; what was is kept")
    ready: list[Path] = []
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, disable=is_quiet()) as progress:
        for step in plan.steps:
            if step.done:
                ready.append(step.path.parent if step.download.unpack else step.path)
                continue
            try:
                if not step.path.exists():
                    with _bar(progress, step.path.name) as show:
                        download(step.download, step.path, show, tries, pause, timeout)
                if step.download.unpack:
                    _unpack(step, progress)
                ready.append(step.path.parent if step.download.unpack else step.path)
            except DownloadRefused as error:
                problems.add(step.download.url, str(error))
            except UserError as error:  # an archive that was refused
                problems.add("", str(error))
            except Broken as error:
                problems.add(step.download.url, f"{error} ({tries} tries); what came so far is kept")
                break
            except OSError as error:  # a full disk, no permission
                problems.add(str(step.path), f"could not be written ({error.strerror or error})")
                break
    problems.raise_if_any(f"To go on where it stopped: {plan.command}")
    return ready


@contextlib.contextmanager
def _bar(progress: Progress, what: str) -> Iterator[Show]:
    task, bar = progress.add_task(what, total=None), Bar(what, "bytes", 0)

    def show(have: int, total: int | None) -> None:
        progress.update(task, completed=have, total=total)
        bar.done, bar.total = have, total or 0

    with showing([bar]):
        yield show


def _unpack(step: Step, progress: Progress) -> None:
    with _bar(progress, f"unpacking {step.path.name}") as show:
        names = safe_unpack(step.path, step.path.parent, show)
    write_json(_marker(step.path), {"url": step.download.url, "names": names})
    step.path.unlink()  # its contents are there; another 15 GB would help nobody


def _check_disk(plan: FetchPlan) -> None:
    """Room for the downloads, and once more for what is unpacked while its archive still lies there."""
    largest = max((step.size or 0 for step in plan.todo if step.download.unpack), default=0)
    needed = plan.missing + largest  # one archive at a time is there twice
    folder = next(folder for folder in (plan.into.resolve(), *plan.into.resolve().parents) if folder.exists())
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise UserError(
            f"{plan.name}: needs about {in_words(needed)} with unpacking, but {folder} has {in_words(free)} free; "
            "nothing was downloaded. Make room, or choose another folder."
        )


def _offline() -> str:
    """The environment variable that forbids the network, if one does."""
    return next((name for name in _OFFLINE if os.environ.get(name, "").lower() in ("1", "true", "yes", "on")), "")


def _marker(path: Path) -> Path:
    return path.with_name(path.name + ".unpacked")


def _unpacked(path: Path, entry: Download) -> bool:
    """By what _unpack noted."""
    notes = notes_of(_marker(path))
    names = notes.get("names")
    if not (entry.unpack and notes.get("url") == entry.url and isinstance(names, list)):
        return False
    return all((path.parent / str(name)).exists() for name in names)
