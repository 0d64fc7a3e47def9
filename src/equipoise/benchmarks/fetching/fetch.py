"""`bench fetch`: a benchmark's files from their official addresses over HTTP, resumable and checked.

What will be downloaded, and how large it is, is said before anything is. An archive is unpacked where it lies and then
deleted; NAME.unpacked remembers it. A file grows in NAME.part. It is resumed only if its end would show that two parts
do not belong together: by a published hash, or by the checksums in an archive. Only https is spoken, except with this
machine itself.
"""

from __future__ import annotations

import contextlib
import http.client
import os
import re
import shutil
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from equipoise.benchmarks.base import Benchmark, Download, in_words
from equipoise.benchmarks.fetching.archives import safe_unpack
from equipoise.core.errors import Problems, UserError
from equipoise.core.files import inside, read_json, sha256_file, write_json
from equipoise.core.progress import is_quiet

TRIES = 5  # in a row without getting further
TIMEOUT = 30.0  # seconds without a byte
LONGEST_PAUSE = 60.0
MOST_UNTOLD = 2**32  # bytes of a file whose size neither we nor the server know: more would fill the disk in silence
_PIECE = 2**18
_PASSING = {408, 425, 429, 500, 502, 503, 504}  # HTTP answers worth another try

Show = Callable[[int, int | None], None]  # bytes so far, bytes in all if known
_OFFLINE = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")


@dataclass(frozen=True)
class Step:
    download: Download
    path: Path
    size: int | None  # None: the server would not say
    have: int  # bytes that lie there already, of the file or of its .part
    done: bool


@dataclass(frozen=True)
class Plan:
    """What `fetch` will do; `get` are the steps for people, for what has no stable address."""

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
        """What is there, what will be downloaded and how large, and what is left to do by hand."""
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


def plan(benchmark: Benchmark, into: str | Path, images: bool = True) -> Plan:
    """Look at what lies below `into`; sizes nobody wrote down are asked of the server.

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
    return Plan(benchmark.name, into, _with_sizes(steps), by_hand, images)


def _with_sizes(steps: list[Step]) -> tuple[Step, ...]:
    """Ask for the sizes nobody wrote down, until a server does not answer: `fetch` will say what is wrong."""
    sized = list(steps)
    with contextlib.suppress(Broken):
        for place, step in enumerate(steps):
            if step.size is None and not step.done and not _offline():
                sized[place] = replace(step, size=size_of(step.download.url))
    return tuple(sized)


def fetch(
    plan: Plan, console: Console | None = None, tries: int = TRIES, pause: float = 1.0, timeout: float = TIMEOUT
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
                    download(step.download, step.path, _bar(progress, step.path.name), tries, pause, timeout)
                if step.download.unpack:
                    _unpack(step, progress)
                ready.append(step.path.parent if step.download.unpack else step.path)
            except Refused as error:
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


def _bar(progress: Progress, what: str) -> Show:
    task = progress.add_task(what, total=None)
    return lambda have, total: progress.update(task, completed=have, total=total)


def _unpack(step: Step, progress: Progress) -> None:
    names = safe_unpack(step.path, step.path.parent, _bar(progress, f"unpacking {step.path.name}"))
    write_json(_marker(step.path), {"url": step.download.url, "names": names})
    step.path.unlink()  # its contents are there; another 15 GB would help nobody


def _check_disk(plan: Plan) -> None:
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
    if not (entry.unpack and _marker(path).is_file()):
        return False
    notes = read_json(_marker(path))
    return notes["url"] == entry.url and all((path.parent / name).exists() for name in notes["names"])


class Refused(Exception):
    """This file cannot be had, and another try would not help."""


class Broken(Exception):
    """The try failed in a way that may pass."""


def download(
    remote: Download, path: Path, show: Show, tries: int = TRIES, pause: float = 1.0, timeout: float = TIMEOUT
) -> None:
    """Bring `remote` to `path`, over as many tries as it takes; Refused or Broken when it cannot be had."""
    part = part_of(path)
    part.parent.mkdir(parents=True, exist_ok=True)
    failures, furthest = 0, have_of(remote, path)
    while True:
        fresh = not have_of(remote, path)
        try:
            if fresh or wrong(part, remote) or not (remote.sha256 or remote.size):
                _one_try(remote, part, 0 if fresh else part.stat().st_size, show, timeout)
            if difference := wrong(part, remote):
                part.unlink()
                if fresh:
                    raise Refused(f"{difference}. The file at this address was changed or damaged; it was not kept")
                raise Broken(f"{difference} after resuming")
            break
        except Broken:
            # measured from the furthest point ever: a server that breaks off and cannot resume must not go on forever
            reached = part.stat().st_size if part.exists() else 0
            failures = 1 if reached > furthest else failures + 1
            furthest = max(furthest, reached)
            if failures >= tries:
                raise
            time.sleep(min(LONGEST_PAUSE, pause * 2 ** (failures - 1)))
    os.replace(part, path)


def _one_try(remote: Download, part: Path, have: int, show: Show, timeout: float) -> None:
    """Ask for what is missing of `part` and append it; Broken when the end was not reached."""
    try:
        answer = _request(remote.url, "GET", {"Range": f"bytes={have}-"} if have else {}, timeout)
    except Refused as error:
        if getattr(error.__cause__, "code", None) != 416:
            raise
        part.unlink()
        raise Broken("the part that lay here does not fit the file") from error
    with answer:
        total = length_of(answer)
        if answer.status == 206 and (span := re.match(rf"bytes {have}-\d+/(\d+)", answer.headers["Content-Range"])):
            total = int(span[1])
        else:
            have = 0  # no Range there: from the start
            part.unlink(missing_ok=True)
            if answer.status != 200:
                raise Broken(f"HTTP {answer.status}, not the part that was asked for")
        if remote.size is not None and total is not None and total != remote.size:
            part.unlink(missing_ok=True)
            raise Refused(f"{total:,} bytes there, {remote.size:,} were expected; nothing was downloaded")
        _append(answer, part, have, total or remote.size, show)


def _append(answer: Any, part: Path, have: int, total: int | None, show: Show) -> None:
    with part.open("ab") as handle:
        while True:
            show(have, total)
            try:
                piece = answer.read1(_PIECE)  # what is there; read() would wait for the whole piece
            except (OSError, http.client.HTTPException) as error:
                raise Broken(f"the connection broke after {have:,} bytes ({_reason(error)})") from error
            if not piece:
                break
            have += len(piece)
            if have > (total or MOST_UNTOLD):
                part.unlink()
                if total is None:
                    raise Refused(f"more than {MOST_UNTOLD:,} bytes of a file of unknown size; it was not kept")
                raise Refused(f"more came than the {total:,} bytes that were announced; it was not kept")
            handle.write(piece)
    if total is not None and have < total:
        raise Broken(f"the connection ended after {have:,} of {total:,} bytes")


class _SafeRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        # the public web may not send us to a service of this machine
        if not allowed(newurl) or (_loopback(newurl) and not _loopback(req.full_url)):
            raise Refused(f"it redirects to {newurl}; only https is followed")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _request(url: str, method: str, headers: dict[str, str], timeout: float) -> Any:
    """An open answer; everything that is none as Refused or Broken."""
    headers = {"User-Agent": "equipoise", "Accept-Encoding": "identity", **headers}
    opener = urllib.request.build_opener(_SafeRedirects)
    try:
        return opener.open(urllib.request.Request(url, headers=headers, method=method), timeout=timeout)
    except urllib.error.HTTPError as error:
        error.close()
        kind = Broken if error.code in _PASSING else Refused
        raise kind(f"HTTP {error.code} {error.reason}") from error
    except (OSError, http.client.HTTPException) as error:  # URLError is an OSError
        reason = getattr(error, "reason", error)
        if isinstance(reason, ssl.SSLCertVerificationError):
            raise Refused(f"its certificate is not valid ({reason.verify_message})") from error
        raise Broken(f"no connection ({_reason(reason)})") from error


def size_of(url: str) -> int | None:
    try:
        with _request(url, "HEAD", {}, 10.0) as answer:
            return length_of(answer)
    except Refused:
        return None  # some servers know no HEAD; the download itself will tell


def length_of(answer: Any) -> int | None:
    text = answer.headers.get("Content-Length", "")
    return int(text) if text.isdecimal() else None


def allowed(url: str) -> bool:
    return urlsplit(url).scheme == "https" or (urlsplit(url).scheme == "http" and _loopback(url))


def _loopback(url: str) -> bool:
    return urlsplit(url).hostname in ("127.0.0.1", "localhost", "::1")


def _reason(error: object) -> str:
    return str(error) or type(error).__name__


def part_of(path: Path) -> Path:
    return path.with_name(path.name + ".part")


def have_of(remote: Download, path: Path) -> int:
    """The bytes that lie there to go on from."""
    part = part_of(path)
    return part.stat().st_size if part.exists() and (remote.sha256 or remote.unpack) else 0


def wrong(path: Path, remote: Download) -> str:
    """What differs from the published file, or nothing."""
    size = path.stat().st_size
    if remote.size is not None and size != remote.size:
        return f"{size:,} bytes, where {remote.size:,} were expected"
    if remote.sha256 and (found := sha256_file(path)) != remote.sha256:
        return f"sha256 {found}, where {remote.sha256} was expected"
    return ""
