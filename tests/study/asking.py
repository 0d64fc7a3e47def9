"""Asking a study's server as strangers do: raw bytes over a socket, and the status that comes back."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from equipoise.study.server import StudyServer


class Reply(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


@contextlib.contextmanager
def serving(folder: Path, host: str = "127.0.0.1", port: int = 0) -> Iterator[StudyServer]:
    """A server, on a free port; `host` may be 0.0.0.0, which asks for the token and is reached on this machine."""
    server = StudyServer(folder, host, port)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def raw(port: int, data: bytes) -> Reply:
    """The reply to some bytes; what is sent after the server hung up is lost, as it would be on any network."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        with contextlib.suppress(OSError):
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
        found = b""
        with contextlib.suppress(ConnectionError):
            while part := connection.recv(65536):
                found += part
    head, _, body = found.partition(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
    return Reply(int(lines[0].split()[1]) if lines[0] else 0, headers, body)


def request(
    port: int,
    path: str = "/",
    method: str = "GET",
    body: Any = None,
    headers: dict[str, str] | None = None,
) -> Reply:
    """A request as a browser of this machine makes it; `body` is bytes, or anything that is sent as JSON."""
    sent = {"Host": f"127.0.0.1:{port}", "Connection": "close"}
    data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
    if body is not None:
        sent |= {
            "Content-Type": "application/json",
            "Content-Length": str(len(data)),
            "Origin": f"http://127.0.0.1:{port}",
        }
    sent |= headers or {}
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in sent.items() if value)]
    return raw(port, "\r\n".join([*lines, "", ""]).encode("latin-1") + data)


def answer(port: int, value: Any, annotator: str = "anna", question: int = 0, revision: int = 1, **more: Any) -> Reply:
    asked = {"annotator": annotator, "question": question, "revision": revision, "value": value} | more
    return request(port, "/api/answer", "POST", asked)
