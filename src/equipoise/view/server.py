"""The server of `equipoise view`: this machine alone, a token, and nothing but the pages of `pages.py`.

Whoever may ask is decided before anything is looked up: the address must be this machine's (a foreign name that was
made to lead here is refused), no other site's page may ask, and the token must be right.
"""

from __future__ import annotations

import hmac
import json
import secrets
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from equipoise.core.errors import UserError
from equipoise.view.pages import Unknown, Views, error_page

LOCAL = {"127.0.0.1", "localhost", "[::1]"}
HTML, JSON, JPEG = "text/html; charset=utf-8", "application/json", "image/jpeg"
AT_ONCE = 16  # requests that are answered at a time; the others wait
WAITING = 1_024  # connections that may wait to be accepted
SECONDS = 30.0  # for a request to arrive
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
Query = Mapping[str, list[str]]


class Server(ThreadingHTTPServer):
    """Bound to this machine; port 0 takes a free one."""

    daemon_threads = True
    request_queue_size = WAITING

    def __init__(self, views: Views, port: int = 0) -> None:
        self.views, self.token = views, secrets.token_urlsafe(24)
        self.turns = threading.BoundedSemaphore(AT_ONCE)
        super().__init__(("127.0.0.1", port), _Handler)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/?token={self.token}"

    def handle_error(self, *_: object) -> None:
        """A visitor that went away is no error of ours."""


class _Handler(BaseHTTPRequestHandler):
    server: Server
    server_version, sys_version, timeout = "equipoise", "", SECONDS

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        with self.server.turns:
            self._answer()

    def _answer(self) -> None:
        try:
            asked = urlsplit(self.path)
            query = parse_qs(asked.query, max_num_fields=10)
        except ValueError:
            return self._send(400, "not an address")
        if asked.path == "/favicon.ico":  # every browser asks for it
            return self._send(204, "")
        if refused := self._refused():
            return self._send(403, refused)
        if asked.path == "/" and "token" in query and self._is_token(query["token"][0]):
            cookie = f"{self._cookie}={self.server.token}; Path=/; HttpOnly; SameSite=Strict"
            return self._send(303, "", headers={"Set-Cookie": cookie, "Location": "/"})
        if not self._is_known():
            return self._send(403, "Open the address that equipoise view printed: it ends in a token.")
        page = _PAGES.get(asked.path)
        if page is None:
            return self._send(404, "There is no such page.")
        try:
            kind, body = page(self.server.views, query)
            self._send(200, body, kind)
        except Unknown as error:
            self._send(404, error_page(str(error)), HTML)
        except (UserError, ValueError, OverflowError) as error:
            self._send(400, error_page(str(error)), HTML)
        except OSError as error:
            self._send(404, error_page(f"a file cannot be read ({error.strerror})"), HTML)
        except Exception as error:  # what a damaged file may do to a reader must not end the server
            self._send(500, error_page(f"this run cannot be read ({type(error).__name__})"), HTML)

    def _refused(self) -> str:
        """Why no token helps this request."""
        host, own = self.headers.get_all("Host", []), self.headers.get("Origin")
        if len(host) != 1 or host[0].lower().rpartition(":")[0] not in LOCAL:
            return "This server answers to 127.0.0.1 and localhost alone."
        if own is not None and own.lower() != f"http://{host[0].lower()}":
            return "Pages of other sites may not ask."
        if self.headers.get("Sec-Fetch-Site", "none") in ("cross-site", "same-site") and (
            self.headers.get("Sec-Fetch-Mode") != "navigate" or self.headers.get("Sec-Fetch-Dest") != "document"
        ):
            return "Pages of other sites may not ask."
        return ""

    @property
    def _cookie(self) -> str:
        return f"equipoise_{self.server.server_port}"  # a browser sends cookies to every port

    def _is_known(self) -> bool:
        # Not http.cookies: one odd cookie of another program on this machine would hide all others from it.
        cookies = (cookie.strip().partition("=") for cookie in self.headers.get("Cookie", "").split(";"))
        header = self.headers.get("X-Equipoise-Token", "")
        return self._is_token(next((value for name, _, value in cookies if name == self._cookie), header))

    def _is_token(self, given: str) -> bool:
        return hmac.compare_digest(given.encode("utf-8", "replace"), self.server.token.encode())

    def _send(
        self, code: int, body: str | bytes, kind: str = "text/plain; charset=utf-8", headers: Mapping[str, str] = {}
    ) -> None:
        content = body.encode("utf-8", "replace") if isinstance(body, str) else body
        self.send_response(code)
        for name, value in {**_HEADERS, **headers, "Content-Type": kind, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)


def _one(query: Query, name: str) -> str:
    return query.get(name, [""])[0]


def _number(query: Query, name: str) -> int:
    text = _one(query, name)
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise UserError(f"{name}: a number was expected")
    return int(text)


def _rows(views: Views, query: Query) -> tuple[str, str]:
    return JSON, json.dumps(views.changes(_one(query, "have")))


def _run(views: Views, query: Query) -> tuple[str, str]:
    return HTML, views.runs(tuple(query.get("run", ()))).page


def _items(views: Views, query: Query) -> tuple[str, str]:
    numbers = [
        int(number)
        for number in _one(query, "i").split(",")
        if number.isascii() and number.isdecimal() and len(number) < 10
    ]
    return JSON, json.dumps(views.items(tuple(query.get("run", ())), _number(query, "chapter"), numbers))


def _picture(views: Views, query: Query) -> tuple[str, bytes]:
    place = _number(query, "chapter"), _number(query, "i"), _number(query, "other")
    return JPEG, views.picture(tuple(query.get("run", ())), *place)


_PAGES: Mapping[str, Callable[[Views, Query], tuple[str, str | bytes]]] = {
    "/": lambda views, query: (HTML, views.list_page()),
    "/rows": _rows,
    "/run": _run,
    "/items": _items,
    "/picture": _picture,
    "/training": lambda views, query: (HTML, views.training(_one(query, "at"))),
    "/curves": lambda views, query: (HTML, str(views.curves(_one(query, "at")))),
}
