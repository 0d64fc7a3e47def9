"""One request to a language-model server: without redirects, and with a time-out for the whole answer."""

from __future__ import annotations

import functools
import threading
from concurrent.futures import Future
from email.message import Message
from http.client import HTTPException
from typing import NamedTuple
from urllib.error import HTTPError
from urllib.request import HTTPRedirectHandler, OpenerDirector, ProxyHandler, Request, build_opener

MOST_BYTES = 1 << 20  # of a response
FAILURES = (OSError, HTTPException, ValueError)  # URLErrors and time-outs are OSErrors


class Reply(NamedTuple):
    code: int
    reason: str
    headers: Message
    body: bytes  # one byte more than MOST_BYTES where it is too long


def post(request: Request, timeout: float, local: bool) -> Reply:
    """The reply, or one of FAILURES after at most `timeout` seconds. A socket's own time-out starts again with every
    byte. A thread that is too late is left behind; it does not keep the process alive."""
    done: Future[Reply] = Future()

    def run() -> None:
        try:
            done.set_result(_fetch(request, timeout, local))
        except BaseException as error:
            done.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    try:
        return done.result(timeout)
    except TimeoutError:
        raise TimeoutError(f"the answer did not end within {timeout:g} s") from None


def _fetch(request: Request, timeout: float, local: bool) -> Reply:
    try:
        response = opener(local).open(request, None, timeout)
    except HTTPError as error:
        response = error  # a response too
    with response:
        return Reply(response.status, response.reason, response.headers, response.read(MOST_BYTES + 1))


@functools.cache
def opener(local: bool) -> OpenerDirector:
    """A server on this machine is asked without the proxy of http_proxy, which would get its key."""
    return build_opener(_NoRedirect, ProxyHandler({} if local else None))


class _NoRedirect(HTTPRedirectHandler):
    """Redirects are refused: they would carry the key to another host."""

    def redirect_request(self, *_: object) -> None:
        return None
