"""A server for the tests of downloads."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from tests.benchmarks.fetching.serving import Quiet, Server, handler


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    state = Server()
    running = Quiet(("127.0.0.1", 0), handler(state))
    state.url = f"http://127.0.0.1:{running.server_port}/data/file"
    thread = threading.Thread(target=running.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield state
    running.shutdown()
    running.server_close()
    thread.join()
