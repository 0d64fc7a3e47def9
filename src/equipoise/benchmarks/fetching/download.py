"""One file over HTTP, resumed where it broke off and checked before it takes its name.

It grows in NAME.part. It is resumed only if its end would show that two parts do not belong together: by a published
hash, or by the checksums in an archive. Only https is spoken, except with this machine itself.
"""

from __future__ import annotations

import http.client
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
from equipoise.core.files import sha256_file

TRIES = 5  # in a row without getting further
TIMEOUT = 30.0  # seconds without a byte
LONGEST_PAUSE = 60.0
MOST_UNTOLD = 2**32  # bytes of a file whose size neither we nor the server know: more would fill the disk in silence
_PIECE = 2**18
_PASSING = {408, 425, 429, 500, 502, 503, 504}  # HTTP answers worth another try

Show = Callable[[int, int | None], None]  # bytes so far, bytes in all if known


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
