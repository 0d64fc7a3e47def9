"""A server that breaks off, changes its files and lies, as real ones do."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

BODY = bytes(range(256)) * 8000  # 2 MB
HASH = hashlib.sha256(BODY).hexdigest()


@dataclass
class Server:
    """A server whose answers a test sets; it keeps the requests."""

    body: bytes = BODY
    etag: str | None = '"one"'
    ranges: bool = True  # honours Range
    if_range: bool = True  # honours If-Range
    content_range: bool = True  # says which part it sends
    break_after: list[int] = field(default_factory=list)  # bytes sent by the next tries before hanging up
    statuses: list[int] = field(default_factory=list)  # answered first, one per try
    say_length: bool = True
    redirect: str = ""
    after: Callable[[Server], None] | None = None  # runs after each GET
    asked: list[tuple[str, str | None]] = field(default_factory=list)
    url: str = ""

    def gets(self) -> list[str | None]:
        return [wanted for method, wanted in self.asked if method == "GET"]


def handler(server: Server) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *args: Any) -> None: ...

        def do_HEAD(self) -> None:
            self.answer(with_body=False)

        def do_GET(self) -> None:
            self.answer(with_body=True)
            if server.after:
                server.after(server)

        def answer(self, with_body: bool) -> None:
            wanted = self.headers.get("Range")
            server.asked.append((self.command, wanted))
            if server.redirect:
                return self.plain(302, {"Location": server.redirect})
            if with_body and server.statuses and (status := server.statuses.pop(0)) != 200:
                return self.plain(status, {})
            body, status, headers = server.body, 200, {}
            if server.etag:
                headers["ETag"] = server.etag
            same = not server.if_range or self.headers.get("If-Range") in (None, server.etag)
            if wanted and server.ranges and same:
                start = int(wanted.removeprefix("bytes=").removesuffix("-"))
                if start >= len(body):
                    return self.plain(416, {"Content-Range": f"bytes */{len(body)}"})
                if server.content_range:
                    headers["Content-Range"] = f"bytes {start}-{len(body) - 1}/{len(body)}"
                body, status = body[start:], 206
            self.send_response(status)
            if server.say_length:
                headers["Content-Length"] = str(len(body))
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            if with_body:
                self.wfile.write(body[: server.break_after.pop(0)] if server.break_after else body)
            self.close_connection = True

        def plain(self, status: int, headers: dict[str, str]) -> None:
            self.send_response(status)
            for name, value in {**headers, "Content-Length": "0"}.items():
                self.send_header(name, value)
            self.end_headers()

    return Handler


class Quiet(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None: ...  # a client may hang up on it
