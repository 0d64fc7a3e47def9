"""`bench fetch`: a benchmark's files from their official addresses, resumable and checked.

What will be downloaded, and how large it is, is said before anything is. A download grows in NAME.part, beside
NAME.part.json that remembers which version of the file (ETag or Last-Modified) it is a part of, and takes its name only
when size and hash are right. An archive is unpacked beside itself and then deleted; NAME.unpacked remembers it.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import shutil
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from email.message import Message
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)

from equipoise.archives import safe_unpack
from equipoise.benchmarks.addresses import ADDRESSES, BY_HAND
from equipoise.benchmarks.base import Benchmark, Download
from equipoise.errors import Problems, UserError
from equipoise.files import inside, sha256_file, write_json

TRIES = 5  # in a row without getting on
TIMEOUT = 30.0  # seconds without a byte
LONGEST_PAUSE = 60.0
GETTING_ON = 2**20  # bytes: a broken try that brought more does not count against TRIES
_PIECE = 2**18
_PASSING = {408, 425, 429, 500, 502, 503, 504}  # HTTP answers worth another try
_OFFLINE = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")


@dataclass(frozen=True)
class Step:
    """One file of a plan."""

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

    @property
    def todo(self) -> tuple[Step, ...]:
        return tuple(step for step in self.steps if not step.done)

    @property
    def missing(self) -> int:
        """Bytes to download, as far as the sizes are known."""
        return sum(max(0, (step.size or 0) - step.have) for step in self.todo)

    @property
    def command(self) -> str:
        return f"equipoise bench fetch {self.name} --out {self.into}"

    def describe(self) -> str:
        """What is there, what will be downloaded and how large, and what is left to do by hand."""
        lines = [f"{self.name}: into {self.into}"]
        for step in self.steps:
            where, size = step.path.relative_to(self.into.resolve()), _bytes(step.size)
            if step.done:
                lines.append(f"  {where}  there already")
            else:
                after = ", then unpacked" if step.download.unpack else ""
                part = f", {_bytes(step.have)} of it there" if step.have else ""
                lines.append(f"  {where}  {size}{part}{after}  from {step.download.url}")
        if self.todo:
            unknown = sum(step.size is None for step in self.todo)
            more = f", and {unknown} of unknown size" if unknown else ""
            lines.append(f"To download: {_bytes(self.missing)} in {len(self.todo)} file(s){more}.")
        elif self.steps:
            lines.append("Nothing to download.")
        if self.get:
            lines += ["By hand, as it has no stable address:", *(f"  {line}" for line in self.get.splitlines())]
        return "\n".join(lines)


class _Refused(Exception):
    """This file cannot be had, and another try would not help."""


class _Broken(Exception):
    """The try failed in a way that may pass."""

    def __init__(self, why: str, pause: float = 0.0) -> None:
        super().__init__(why)
        self.pause = pause


def plan(benchmark: Benchmark, into: str | Path, images: bool = True) -> Plan:
    """Look at what lies below `into`; sizes nobody wrote down are asked of the server.

    `images=False` leaves the archives out, for people who have the photos already.
    """
    into = Path(into)
    downloads = benchmark.downloads or ADDRESSES.get(benchmark.name, ())
    problems = Problems(f"{benchmark.name}: files in {into} are not the published ones")
    steps: list[Step] = []
    ask = not _offline()
    for download in downloads:
        if download.unpack and not images:
            continue
        path = inside(into, download.to)
        if not _allowed(download.url):
            raise UserError(f"{download.url}: only https is fetched (http from this machine alone)")
        if _unpacked(path, download):
            steps.append(Step(download, path, download.size, 0, True))
        elif path.exists():
            if wrong := _wrong(path, download):
                problems.add(str(path), wrong)
            steps.append(Step(download, path, download.size, path.stat().st_size, not download.unpack))
        else:
            size = download.size
            if size is None and ask:
                try:
                    size = _ask_size(download.url)
                except _Broken:
                    ask = False  # no network: `fetch` will say so; do not wait for it once a file
            part = _part(path)
            steps.append(Step(download, path, size, part.stat().st_size if part.exists() else 0, False))
    problems.raise_if_any("Move them away, or fetch into another folder: nothing of yours is overwritten.")
    by_hand = BY_HAND.get(benchmark.name, "") if downloads else benchmark.get
    return Plan(benchmark.name, into, tuple(steps), by_hand)


def fetch(
    plan: Plan, console: Console | None = None, tries: int = TRIES, pause: float = 1.0, timeout: float = TIMEOUT
) -> list[Path]:
    """Say what the plan is, then do it; the files that now lie there, folders for archives.

    Files that cannot be had are reported together at the end, after the others were fetched. When the network is gone,
    the first one ends it.
    """
    console = console or Console(stderr=True)
    console.print(plan.describe(), markup=False, highlight=False, soft_wrap=True)
    if plan.todo and (flag := _offline()):
        raise UserError(
            f"{plan.name}: {flag} is set, so nothing is downloaded. Unset it and run: {plan.command}\n"
            "or download the files above on another machine and put them there."
        )
    _check_disk(plan)
    problems = Problems(f"{plan.name}: not everything could be fetched; what was is kept")
    ready: list[Path] = []
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
        console=console,
    ) as progress:
        for step in plan.steps:
            if step.done:
                ready.append(step.path.parent if step.download.unpack else step.path)
                continue
            try:
                if not step.path.exists():
                    _download(step, progress, tries, pause, timeout)
                if step.download.unpack:
                    _unpack(step, progress)
                ready.append(step.path.parent if step.download.unpack else step.path)
            except _Refused as error:
                problems.add(step.download.url, str(error))
            except UserError as error:  # an archive that was refused
                problems.add("", str(error))
            except _Broken as error:
                problems.add(step.download.url, f"{error} ({tries} tries); what came so far is kept")
                break
            except OSError as error:  # a full disk, no permission
                problems.add(str(step.path), f"could not be written ({error.strerror or error})")
                break
    problems.raise_if_any(f"To go on where it stopped: {plan.command}")
    return ready


def _download(step: Step, progress: Progress, tries: int, pause: float, timeout: float) -> None:
    """One file, over as many tries as it takes, into its place."""
    download, part = step.download, _part(step.path)
    part.parent.mkdir(parents=True, exist_ok=True)
    task = progress.add_task(step.path.name, total=step.size)

    def show(have: int, total: int | None) -> None:
        progress.update(task, completed=have, total=total)

    failures, furthest = 0, part.stat().st_size if part.exists() else 0
    while True:
        fresh = not part.exists()
        try:
            _one_try(download, part, show, timeout)
            if wrong := _wrong(part, download):
                _forget(part)
                if fresh:
                    raise _Refused(f"{wrong}. The file at this address was changed or damaged; it was not kept")
                raise _Broken(f"{wrong} after resuming")
            break
        except _Broken as error:
            have = part.stat().st_size if part.exists() else 0
            # measured from the furthest point ever: a server that breaks off and cannot resume must not go on forever
            failures = 1 if have >= furthest + GETTING_ON else failures + 1
            furthest = max(furthest, have)
            if failures >= tries:
                raise
            time.sleep(min(LONGEST_PAUSE, max(error.pause, pause * 2 ** (failures - 1))))
    os.replace(part, step.path)
    _forget(part)


def _one_try(download: Download, part: Path, show: Callable[[int, int | None], None], timeout: float) -> None:
    """Ask for what is missing of `part` and append it; _Broken when the end was not reached."""
    have, version = _resumable(download, part)
    headers = {"Range": f"bytes={have}-"} if have else {}
    if have and version:
        headers["If-Range"] = version  # a changed file then comes whole, not as a tail that does not fit
    with _request(download.url, "GET", headers, timeout) as answer:
        got = _version(answer.headers)
        if have and answer.status == 206:
            start, total = _content_range(answer.headers.get("Content-Range", ""))
            if start != have or (version and got and got != version):
                _forget(part)
                raise _Broken("the server answered with another part than asked for")
            tail = _length(answer.headers)
            total = have + tail if total is None and tail is not None else total
        elif answer.status == 416:  # nothing after `have`: complete, or a part of something else
            _, total = _content_range(answer.headers.get("Content-Range", ""))
            if total == have:
                return
            _forget(part)
            raise _Broken("the part that lay here does not fit the file")
        elif answer.status == 200:
            have, total = 0, _length(answer.headers)  # no Range there, or the file changed: from the start
        else:
            raise _Refused(f"HTTP {answer.status}")
        if download.size is not None and total is not None and total != download.size:
            _forget(part)
            raise _Refused(f"{total:,} bytes there, {download.size:,} were expected; nothing was downloaded")
        if not have:
            part.unlink(missing_ok=True)
            write_json(_notes(part), {"url": download.url, "version": got})
        _append(answer, part, have, total or download.size, show)


def _append(answer: Any, part: Path, have: int, total: int | None, show: Callable[[int, int | None], None]) -> None:
    with part.open("ab") as handle:
        while True:
            show(have, total)
            try:
                piece = answer.read(_PIECE)
            except (OSError, http.client.HTTPException) as error:
                raise _Broken(f"the connection broke after {have:,} bytes ({_reason(error)})") from error
            if not piece:
                break
            have += len(piece)
            if total is not None and have > total:
                _forget(part)
                raise _Refused(f"more came than the {total:,} bytes that were announced; it was not kept")
            handle.write(piece)
    if total is not None and have < total:
        raise _Broken(f"the connection ended after {have:,} of {total:,} bytes")


def _unpack(step: Step, progress: Progress) -> None:
    task = progress.add_task(f"unpacking {step.path.name}", total=None)
    names = safe_unpack(step.path, step.path.parent, lambda count: progress.advance(task, count))
    write_json(_marker(step.path), {"url": step.download.url, "names": names})
    step.path.unlink()  # its contents lie beside it; another 15 GB would help nobody


def _check_disk(plan: Plan) -> None:
    """Room for the downloads, and once more for what is unpacked while its archive still lies there."""
    largest = max((step.size or 0 for step in plan.todo if step.download.unpack), default=0)
    unpacked = sum(step.size or 0 for step in plan.todo if step.download.unpack)
    other = sum(max(0, (step.size or 0) - step.have) for step in plan.todo if not step.download.unpack)
    begun = sum(step.have for step in plan.todo if step.download.unpack)
    needed = max(0, other + unpacked + largest - begun)  # one archive at a time is there twice
    folder = next(folder for folder in (plan.into.resolve(), *plan.into.resolve().parents) if folder.exists())
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise UserError(
            f"{plan.name}: needs about {_bytes(needed)} with unpacking, but {folder} has {_bytes(free)} free; "
            "nothing was downloaded. Make room, or choose another folder."
        )


# --- HTTP


class _SafeRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: http.client.HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        # the public web may not send us to a service of this machine
        if not _allowed(newurl) or (_loopback(newurl) and not _loopback(req.full_url)):
            raise _Refused(f"it redirects to {newurl}; only https is followed")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _request(url: str, method: str, headers: dict[str, str], timeout: float) -> Any:
    """An open answer with status 200, 206 or 416; everything else as _Refused or _Broken."""
    headers = {"User-Agent": "equipoise", "Accept-Encoding": "identity", **headers}
    opener = urllib.request.build_opener(_SafeRedirects)
    try:
        return opener.open(urllib.request.Request(url, headers=headers, method=method), timeout=timeout)
    except urllib.error.HTTPError as error:
        if error.code == 416:
            return error  # it is an answer as well
        error.close()
        if error.code in _PASSING:
            after = error.headers.get("Retry-After", "")
            raise _Broken(f"HTTP {error.code} {error.reason}", float(after) if after.isdecimal() else 0.0) from error
        raise _Refused(f"HTTP {error.code} {error.reason}") from error
    except (OSError, http.client.HTTPException) as error:  # URLError is an OSError
        reason = getattr(error, "reason", error)
        if isinstance(reason, ssl.SSLCertVerificationError):
            raise _Refused(f"its certificate is not valid ({reason.verify_message})") from error
        raise _Broken(f"no connection ({_reason(reason)})") from error


def _ask_size(url: str) -> int | None:
    try:
        with _request(url, "HEAD", {}, 10.0) as answer:
            return _length(answer.headers)
    except _Refused:
        return None  # some servers know no HEAD; the download itself will tell


def _length(headers: Message) -> int | None:
    text = headers.get("Content-Length", "")
    return int(text) if text.isdecimal() else None


def _content_range(text: str) -> tuple[int | None, int | None]:
    """Start and total of `bytes 5-9/10` or `bytes */10`."""
    span, _, total = text.removeprefix("bytes ").partition("/")
    start = span.partition("-")[0]
    return int(start) if start.isdecimal() else None, int(total) if total.isdecimal() else None


def _version(headers: Message) -> str:
    """What If-Range may carry: a strong ETag, else the date of change."""
    tag = str(headers.get("ETag", ""))
    return tag if tag.startswith('"') else str(headers.get("Last-Modified", ""))


def _allowed(url: str) -> bool:
    return urlsplit(url).scheme == "https" or (urlsplit(url).scheme == "http" and _loopback(url))


def _loopback(url: str) -> bool:
    return urlsplit(url).hostname in ("127.0.0.1", "localhost", "::1")


def _reason(error: object) -> str:
    return str(error) or type(error).__name__


def _offline() -> str:
    """The environment variable that forbids the network, if one does."""
    return next((name for name in _OFFLINE if os.environ.get(name, "").lower() in ("1", "true", "yes", "on")), "")


# --- what lies on disk


def _part(path: Path) -> Path:
    return path.with_name(path.name + ".part")


def _notes(part: Path) -> Path:
    return part.with_name(part.name + ".json")


def _marker(path: Path) -> Path:
    return path.with_name(path.name + ".unpacked")


def _forget(part: Path) -> None:
    part.unlink(missing_ok=True)
    _notes(part).unlink(missing_ok=True)


def _notes_of(path: Path) -> dict[str, Any]:
    with contextlib.suppress(OSError, ValueError):
        value = json.loads(path.read_text(encoding="utf-8"))
        return value if isinstance(value, dict) else {}
    return {}


def _resumable(download: Download, part: Path) -> tuple[int, str]:
    """Bytes of `part` that can be built upon, and the version they are of.

    Without a version only a known hash can tell whether head and tail fit; with neither, it starts again.
    """
    notes = _notes_of(_notes(part))
    version = str(notes.get("version") or "")
    if not part.exists() or notes.get("url") != download.url or not (version or download.sha256):
        _forget(part)
        return 0, ""
    return part.stat().st_size, version


def _unpacked(path: Path, download: Download) -> bool:
    notes = _notes_of(_marker(path))
    names: Iterable[str] = notes.get("names", ())
    return download.unpack and notes.get("url") == download.url and all((path.parent / name).exists() for name in names)


def _wrong(path: Path, download: Download) -> str:
    """What differs from the published file, or nothing."""
    size = path.stat().st_size
    if download.size is not None and size != download.size:
        return f"{size:,} bytes, where {download.size:,} were expected"
    if download.sha256 and (found := sha256_file(path)) != download.sha256:
        return f"sha256 {found}, where {download.sha256} was expected"
    return ""


def _bytes(count: int | None) -> str:
    if count is None:
        return "unknown size"
    value = float(count)
    for unit in ("bytes", "kB", "MB"):
        if value < 1000:
            return f"{count} bytes" if unit == "bytes" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} GB"
