"""Downloads one file over HTTP: resumed where it stopped, and checked before it gets its final name.

It grows in NAME.part; NAME.part.json remembers its address and version (ETag or Last-Modified). It is resumed only if a
published hash or that version shows that both parts belong to one file. Only https is spoken, except with this machine
itself.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

from equipoise.benchmarks.base import Download
from equipoise.core.errors import UserError
from equipoise.core.files import read_json, sha256_file, write_json

TRIES = 5  # in a row without getting further
TIMEOUT = 30.0  # seconds without a byte
LONGEST_PAUSE = 60.0
MOST_UNTOLD = 2**32  # bytes of a file whose size neither we nor the server know: more would fill the disk in silence
_PIECE = 2**18
_PASSING = {408, 425, 429, 500, 502, 503, 504}  # HTTP answers worth another try

Show = Callable[[int, int | None], None]  # bytes so far, bytes in all if known


class DownloadRefused(Exception):
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
                _forget(part)
                if fresh:
                    raise DownloadRefused(
                        f"{difference}. The file at this address was changed or damaged; it was not kept"
                    )
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
    _forget(part)


def _one_try(remote: Download, part: Path, have: int, show: Show, timeout: float) -> None:
    """Ask for what is missing of `part` and append it; Broken when the end was not reached."""
    version = _version_of(remote, part) if have else ""
    headers = {"Range": f"bytes={have}-"} if have else {}
    if version:
        headers["If-Range"] = version  # a changed file then comes whole, not as a tail that does not fit
    with _request(remote.url, "GET", headers, timeout) as answer:
        total: int | None
        now = _version(answer)
        same = not (version and now and now != version)
        content_range = answer.headers.get("Content-Range", "")
        if answer.status == 416 and content_range == f"bytes */{have}" and same:
            return  # nothing is missing
        span = re.match(rf"bytes {have}-\d+/(\d+)", content_range)
        first = notes_of(_note(part)).get("total")  # some servers keep the date of a file that grew
        if answer.status == 206 and span and same and first in (None, int(span[1])):
            total = int(span[1])
        elif answer.status == 200:
            have, total = 0, length_of(answer)  # no Range there, or the file changed: from the start
        else:
            _forget(part)
            raise Broken(f"HTTP {answer.status}, not the part that was asked for")
        if remote.size is not None and total is not None and total != remote.size:
            _forget(part)
            raise DownloadRefused(f"{total:,} bytes there, {remote.size:,} were expected; nothing was downloaded")
        if not have:
            part.unlink(missing_ok=True)
            write_json(_note(part), {"url": remote.url, "version": now, "total": total})
        _append(answer, part, have, total or remote.size, show)


def _append(answer: http.client.HTTPResponse, part: Path, have: int, total: int | None, show: Show) -> None:
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
                _forget(part)
                if total is None:
                    raise DownloadRefused(f"more than {MOST_UNTOLD:,} bytes of a file of unknown size; it was not kept")
                raise DownloadRefused(f"more came than the {total:,} bytes that were announced; it was not kept")
            handle.write(piece)
    if total is not None and have < total:
        raise Broken(f"the connection ended after {have:,} of {total:,} bytes")


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
        if not allowed(newurl) or (_loopback(newurl) and not _loopback(req.full_url)):
            raise DownloadRefused(f"it redirects to {newurl}; only https is followed")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _request(url: str, method: str, headers: dict[str, str], timeout: float) -> Any:
    """An open response; raises Refused or Broken for anything else."""
    headers = {"User-Agent": "equipoise", "Accept-Encoding": "identity", **headers}
    opener = urllib.request.build_opener(_SafeRedirects)
    try:
        return opener.open(urllib.request.Request(url, headers=headers, method=method), timeout=timeout)
    except urllib.error.HTTPError as error:
        if error.code == 416:
            return error  # a response too: its Content-Range tells the size
        error.close()
        kind = Broken if error.code in _PASSING else DownloadRefused
        raise kind(f"HTTP {error.code} {error.reason}") from error
    except (OSError, http.client.HTTPException) as error:  # URLError is an OSError
        reason = getattr(error, "reason", error)
        if isinstance(reason, ssl.SSLCertVerificationError):
            raise DownloadRefused(f"its certificate is not valid ({reason.verify_message})") from error
        raise Broken(f"no connection ({_reason(reason)})") from error


def size_of(url: str) -> int | None:
    try:
        with _request(url, "HEAD", {}, 10.0) as answer:
            return length_of(answer)
    except DownloadRefused:
        return None  # some servers know no HEAD; the download itself will tell


def length_of(answer: http.client.HTTPResponse) -> int | None:
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


def _note(part: Path) -> Path:
    return part.with_name(part.name + ".json")


def _forget(part: Path) -> None:
    part.unlink(missing_ok=True)
    _note(part).unlink(missing_ok=True)


def _version(answer: http.client.HTTPResponse) -> str:
    """The value for If-Range: a strong ETag, else the date of change."""
    tag = str(answer.headers.get("ETag", ""))
    return tag if tag.startswith('"') else str(answer.headers.get("Last-Modified", ""))


def _version_of(remote: Download, part: Path) -> str:
    """The version that `part` is of; nothing if it came from another address."""
    notes = notes_of(_note(part))
    return str(notes.get("version") or "") if notes.get("url") == remote.url else ""


def notes_of(path: Path) -> dict[str, object]:
    """The notes in `path`; nothing where the file is missing or damaged."""
    with contextlib.suppress(UserError):
        value = read_json(path)
        return value if isinstance(value, dict) else {}
    return {}


def have_of(remote: Download, path: Path) -> int:
    """How many bytes of a resumable partial download exist."""
    part = part_of(path)
    return part.stat().st_size if part.exists() and (remote.sha256 or _version_of(remote, part)) else 0


def wrong(path: Path, remote: Download) -> str:
    """The difference from the published file, or nothing."""
    size = path.stat().st_size
    if remote.size is not None and size != remote.size:
        return f"{size:,} bytes, where {remote.size:,} were expected"
    if remote.sha256 and (sha256 := sha256_file(path)) != remote.sha256:
        return f"sha256 {sha256}, where {remote.sha256} was expected"
    return "" if remote.size is not None or remote.sha256 else _unlike(path, remote)


def _unlike(path: Path, remote: Download) -> str:
    """The sign that a file without a published size or hash is cut, or is a log-in page; or nothing."""
    if Path(remote.to).suffix not in {".json", ".jsonl"}:
        with path.open("rb") as handle:
            start = handle.read(1024).lstrip().lower()
        return "a web page (HTML), not the file" if start.startswith((b"<!doctype html", b"<html")) else ""
    with contextlib.suppress(UserError):
        read_json(path)
        return ""
    lines = path.read_bytes().splitlines() or [b""]
    try:
        json.loads(lines[0]), json.loads(lines[-1])  # JSON Lines, which some files named .json are
    except ValueError:
        return "not JSON: another file, or cut"
    return ""
