"""The study in a browser: Python's own HTTP server, one page, three addresses.

    GET  /                       the page (with ?token=... it hands out the cookie first)
    GET  /api/state?annotator=   the questions in this annotator's order, and what they answered before
    POST /api/answer             {"annotator", "question", "revision", "value"}; 200 only when it is on the disk
    GET  /image/NUMBER           one of the study's own pictures, by number: no path of a browser is ever opened

Who may ask: on 127.0.0.1 whoever can reach it, elsewhere whoever has the token. A page of another site may not: its
requests name another origin (403), and a name of its own that it points at this machine is not ours (421). Answers must
be JSON with a length, which no form of another site can send without asking us first.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import ipaddress
import json
import re
import socket
import sqlite3
import time
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, parse_qs, urlsplit

from equipoise.errors import UserError
from equipoise.formats import json_text
from equipoise.study import page
from equipoise.study.questions import (
    IMAGES,
    Study,
    annotator_name,
    as_stored,
    picture_name,
    problem_of,
    read_study,
    screen,
)
from equipoise.study.store import Conflict, Store

HOST, PORT = "127.0.0.1", 8765
LOCAL = ("127.0.0.1", "localhost", "::1")
MOST_BODY = 64 * 1024  # bytes; an answer has some hundred
MOST_TARGET = 2_000  # characters of an address
LINGER = 2.0  # seconds that a refused client may go on talking
COOKIE = "equipoise_study"
PATHS = {"/": ("GET", "HEAD"), "/api/state": ("GET", "HEAD"), "/api/answer": ("POST",), "/image/N": ("GET", "HEAD")}
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}


class Refused(Exception):
    """An answer of 4xx or 5xx, with a sentence for people."""

    def __init__(self, status: HTTPStatus, why: str, **more: Any) -> None:
        super().__init__(why)
        self.status, self.why, self.more = status, why, more


def is_local(host: str) -> bool:
    return host.lower() in LOCAL


class StudyServer(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, folder: str | Path, host: str = HOST, port: int = PORT) -> None:
        self.folder = Path(folder)
        self.study: Study = read_study(folder)
        self.store = Store(folder, self.study.digest)
        self.host = host
        self.token = None if is_local(host) else self.store.token
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            super().__init__((host, port), Handler)
        except (OSError, OverflowError) as error:
            self.store.close()
            raise UserError(f"{host}:{port}: cannot listen there ({error}); choose another --host or --port") from None

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    @property
    def url(self) -> str:
        """What to open; with the token, where one is needed."""
        name = socket.gethostname() if self.host in ("", "0.0.0.0", "::") else self.host
        where = f"http://[{name}]:{self.port}/" if ":" in name else f"http://{name}:{self.port}/"
        return where if self.token is None else f"{where}?token={self.token}"

    def knows(self, host: str) -> bool:
        """Whether a Host header names this server. A name that another site's owner points here is not ours; a number
        cannot be pointed elsewhere, and behind it the token is asked for."""
        found = re.fullmatch(r"(\[[0-9a-fA-F:.]+\]|[^:\[\]@/\s]+)(?::([0-9]{1,5}))?", host)
        if found is None or int(found[2] or 80) != self.port:
            return False
        name = found[1].strip("[]").lower()
        if self.token is None:
            return is_local(name)
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return name in {*LOCAL, self.host.lower(), socket.gethostname().lower(), socket.getfqdn().lower()}
        return True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that went away is not worth a traceback."""

    def server_close(self) -> None:
        super().server_close()
        self.store.close()


def _query(target: SplitResult) -> dict[str, str]:
    try:
        found = parse_qs(target.query, keep_blank_values=True, max_num_fields=8, errors="strict")
    except ValueError:
        raise Refused(HTTPStatus.BAD_REQUEST, "the query cannot be read") from None
    if any(len(values) > 1 for values in found.values()):
        raise Refused(HTTPStatus.BAD_REQUEST, "a name stands twice in the query")
    return {name: values[0] for name, values in found.items()}


class Handler(BaseHTTPRequestHandler):
    server: StudyServer
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "equipoise", ""
    timeout = 30  # seconds that a client may keep us waiting

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: addresses may hold names and the token."""

    # ------------------------------------------------------------------ what is asked

    def do_GET(self) -> None:
        self._answer()

    do_HEAD = do_POST = do_PUT = do_DELETE = do_PATCH = do_OPTIONS = do_TRACE = do_CONNECT = do_GET

    def _answer(self) -> None:
        try:
            self._route()
        except Refused as refused:
            self._refuse(refused)
        except UserError as error:
            self._refuse(Refused(HTTPStatus.UNPROCESSABLE_ENTITY, str(error)))
        except (sqlite3.Error, OSError) as error:
            if isinstance(error, ConnectionError | TimeoutError):
                self.close_connection = True
                return
            self._refuse(Refused(HTTPStatus.SERVICE_UNAVAILABLE, f"not saved ({error}); it will be sent again"))

    def _route(self) -> None:
        self._check_host()
        if self.command != "POST" and ("Content-Length" in self.headers or "Transfer-Encoding" in self.headers):
            self.close_connection = True  # a body that nobody reads is not the next request
        target = self._target()  # read anew: one handler serves all requests of a connection
        query = _query(target)
        path = "/image/N" if re.fullmatch(r"/image/[0-9]{1,9}", target.path) else target.path
        self._check_site(path)
        if self.server.token is not None:
            self._check_token(path, query)
            if path == "/" and "token" in query:  # out of the address line and the history
                self._send(HTTPStatus.SEE_OTHER, b"", "text/plain", {"Location": "/", "Set-Cookie": self._cookie()})
                return
        if path not in PATHS or target.path == "/image/N":
            raise Refused(HTTPStatus.NOT_FOUND, "no such page")
        if self.command not in PATHS[path]:
            raise Refused(HTTPStatus.METHOD_NOT_ALLOWED, f"expected {' or '.join(PATHS[path])}", allow=PATHS[path])
        if path == "/":
            html = page.served_page(self.server.study)
            self._send(
                HTTPStatus.OK, html.encode(), "text/html; charset=utf-8", {"Content-Security-Policy": page.POLICY}
            )
        elif path == "/api/state":
            self._state(query)
        elif path == "/api/answer":
            self._take()
        else:
            self._picture(int(target.path.rpartition("/")[2]))

    def _target(self) -> SplitResult:
        if len(self.path) > MOST_TARGET:
            raise Refused(HTTPStatus.REQUEST_URI_TOO_LONG, f"expected at most {MOST_TARGET:,} characters")
        if not self.path.startswith("/"):
            raise Refused(HTTPStatus.BAD_REQUEST, "expected a path that begins with /")
        try:
            return urlsplit(self.path)
        except ValueError:
            raise Refused(HTTPStatus.BAD_REQUEST, "not an address") from None

    # ------------------------------------------------------------------ who asks

    def _check_host(self) -> None:
        hosts = self.headers.get_all("Host", [])
        if len(hosts) != 1:
            raise Refused(HTTPStatus.BAD_REQUEST, f"expected one Host header, found {len(hosts)}")
        if not self.server.knows(hosts[0].strip()):
            raise Refused(HTTPStatus.MISDIRECTED_REQUEST, "this server has another name; open the address it printed")

    def _check_site(self, path: str) -> None:
        """Requests that a page of another site makes. Following a link to us is no such request."""
        origin, site = self.headers.get("Origin"), self.headers.get("Sec-Fetch-Site", "none")
        if origin is not None and origin != f"http://{self.headers['Host'].strip()}":
            raise Refused(HTTPStatus.FORBIDDEN, "a request from another site")
        if site not in ("none", "same-origin") and (path != "/" or self.headers.get("Sec-Fetch-Mode") != "navigate"):
            raise Refused(HTTPStatus.FORBIDDEN, "a request from another site")

    def _check_token(self, path: str, query: dict[str, str]) -> None:
        given = query.get("token") if path == "/" else None
        if given is None:
            try:
                cookie = SimpleCookie(self.headers.get("Cookie", "")).get(COOKIE)
            except CookieError:
                cookie = None
            given = cookie.value if cookie else ""
        if not hmac.compare_digest(given.encode(), (self.server.token or "").encode()):
            raise Refused(
                HTTPStatus.UNAUTHORIZED, "open the whole address that the study's owner gave you, token included"
            )

    def _cookie(self) -> str:
        return f"{COOKIE}={self.server.token}; Path=/; HttpOnly; SameSite=Lax"  # Lax: the link may come by mail

    # ------------------------------------------------------------------ what is answered

    def _state(self, query: dict[str, str]) -> None:
        if "annotator" not in query:
            raise Refused(HTTPStatus.BAD_REQUEST, "expected ?annotator=NAME")
        name = annotator_name(query["annotator"])
        study, answered = self.server.study, self.server.store.latest(name)
        self._json(HTTPStatus.OK, {"annotator": name, "questions": screen(study, name, answered)})

    def _take(self) -> None:
        asked = self._body()
        if not isinstance(asked, dict) or set(asked) != {"annotator", "question", "revision", "value"}:
            raise Refused(HTTPStatus.BAD_REQUEST, "expected annotator, question, revision and value, and nothing else")
        name, number, revision = annotator_name(asked["annotator"]), asked["question"], asked["revision"]
        if type(number) is not int or type(revision) is not int or not 0 < revision < 1_000_000:
            raise Refused(HTTPStatus.BAD_REQUEST, "question and revision: expected whole numbers")
        study = self.server.study
        if not 0 <= number < len(study.questions):
            raise Refused(HTTPStatus.NOT_FOUND, f"there is no question {number}")
        question = study.questions[number]
        if problem := problem_of(study, question, asked["value"]):
            raise Refused(HTTPStatus.UNPROCESSABLE_ENTITY, problem)
        try:
            done = self.server.store.record(name, number, revision, as_stored(study, name, question, asked["value"]))
        except Conflict as conflict:
            raise Refused(HTTPStatus.CONFLICT, "answered in another window", revision=conflict.last) from None
        self._json(HTTPStatus.OK, {"status": done, "question": number, "revision": revision})

    def _body(self) -> Any:
        if "Transfer-Encoding" in self.headers:
            raise Refused(HTTPStatus.LENGTH_REQUIRED, "expected a Content-Length")
        lengths = self.headers.get_all("Content-Length", [])
        if not lengths:
            raise Refused(HTTPStatus.LENGTH_REQUIRED, "expected a Content-Length")
        if len(lengths) > 1 or not re.fullmatch(r"[0-9]{1,18}", lengths[0].strip()):
            raise Refused(HTTPStatus.BAD_REQUEST, "Content-Length: expected one number")
        if int(lengths[0]) > MOST_BODY:
            raise Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"expected at most {MOST_BODY:,} bytes")
        if self.headers.get("Content-Type", "").partition(";")[0].strip().lower() != "application/json":
            raise Refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "expected application/json")
        data = self.rfile.read(int(lengths[0]))
        if len(data) < int(lengths[0]):
            raise Refused(HTTPStatus.BAD_REQUEST, "the body is shorter than its Content-Length")
        try:
            return json_text.parse(data.decode("utf-8"))
        except UnicodeDecodeError:
            raise Refused(HTTPStatus.BAD_REQUEST, "not UTF-8 text") from None
        except (ValueError, RecursionError) as error:
            raise Refused(HTTPStatus.BAD_REQUEST, json_text.why(error)) from None

    def _picture(self, number: int) -> None:
        pictures = self.server.study.pictures
        if number >= len(pictures):
            raise Refused(HTTPStatus.NOT_FOUND, f"there is no picture {number}")
        # The browser asks each time whether it is still the same: another study may be served here tomorrow.
        headers = {"ETag": f'"{pictures[number].sha256}"', "Cache-Control": "private, no-cache"}
        if self.headers.get("If-None-Match") == headers["ETag"]:
            self._send(HTTPStatus.NOT_MODIFIED, b"", "image/jpeg", headers)
            return
        try:
            data = (self.server.folder / IMAGES / picture_name(number)).read_bytes()
        except OSError:
            raise Refused(HTTPStatus.NOT_FOUND, f"picture {number} is missing from the study's folder") from None
        if hashlib.sha256(data).hexdigest() != pictures[number].sha256:
            raise Refused(HTTPStatus.NOT_FOUND, f"picture {number} is not the one this study was made with")
        self._send(HTTPStatus.OK, data, "image/jpeg", headers)

    # ------------------------------------------------------------------ sending

    def _json(self, status: HTTPStatus, value: Any, headers: dict[str, str] | None = None) -> None:
        self._send(status, json.dumps(value).encode(), "application/json", headers)

    def _refuse(self, refused: Refused) -> None:
        """What was not read of a request is not taken for the next one: the connection ends."""
        self.close_connection = True
        self.request_version = self.protocol_version  # of a request line that could not be read nobody knows it
        headers = {"Connection": "close"}
        if allowed := refused.more.pop("allow", None):
            headers["Allow"] = ", ".join(allowed)
        if refused.status is HTTPStatus.UNAUTHORIZED:
            headers["WWW-Authenticate"] = "Token"
        self._json(refused.status, {"error": refused.why, **refused.more}, headers)
        self._hang_up()

    def _hang_up(self) -> None:
        """Closed with something unread, a connection is reset, and the client may never see why it was refused: what
        it still sends is thrown away for a moment."""
        until = time.monotonic() + LINGER
        with contextlib.suppress(OSError):
            self.wfile.flush()
            self.connection.shutdown(socket.SHUT_WR)
            while (left := until - time.monotonic()) > 0:
                self.connection.settimeout(left)
                if not self.connection.recv(65536):
                    break

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """What Python's server refuses by itself: a request line, headers or a method that is none."""
        if not hasattr(self, "command"):
            self.command = ""
        self._refuse(Refused(HTTPStatus(code), message or HTTPStatus(code).phrase))

    def _send(self, status: HTTPStatus, body: bytes, kind: str, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        sent = {**_HEADERS, "Cache-Control": "no-store", **(headers or {})}
        if status is not HTTPStatus.NOT_MODIFIED:
            sent |= {"Content-Type": kind, "Content-Length": str(len(body))}
        for name, value in sent.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD" and status is not HTTPStatus.NOT_MODIFIED:
            self.wfile.write(body)
