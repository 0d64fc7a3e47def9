"""A folder of runs and a server over it."""

from __future__ import annotations

import contextlib
import http.client
import json
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.report.conftest import make_runs as make_runs

from equipoise.core import progress as status
from equipoise.view.pages import Views
from equipoise.view.server import Server

Serve = Callable[..., Server]


@pytest.fixture
def serve() -> Iterator[Serve]:
    with contextlib.ExitStack() as stack:

        def start(root: Path, **options: Any) -> Server:
            server = Server(Views(root, **options))
            thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
            thread.start()
            stack.callback(thread.join)
            stack.callback(server.server_close)
            stack.callback(server.shutdown)
            return server

        yield start


def get(server: Server, path: str, **headers: str) -> tuple[int, str]:
    """The code and text of an answer, to one who knows the token unless `headers` say otherwise."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    link = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=30)
    link.putrequest("GET", path, skip_host="Host" in named)
    for name, value in ({"X-Equipoise-Token": server.token} | named).items():
        link.putheader(name, value)
    link.endheaders()
    answer = link.getresponse()
    text = answer.read().decode("utf-8", "replace")
    link.close()
    return answer.status, text


def put_status(folder: Path, state: str, **fields: Any) -> None:
    """A status file as a command writes it."""
    folder.mkdir(parents=True, exist_ok=True)
    now = {"schema": 1, "verb": "eval", "pid": 1 << 22, "host": "elsewhere", "started": time.time() - 60}
    value = now | {"updated": time.time(), "state": state, "bars": [], "error": ""} | fields
    (folder / status.STATUS).write_text(json.dumps(value))


def put_training(folder: Path, steps: int, first: int = 1) -> None:
    """The log of a training so far, judged every ten steps; its best checkpoint is of step 10."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "run.json").write_text(json.dumps({"schema": 1, "command": "train", "run": {"recipe": "hn_only"}}))
    (folder / "best").write_text("step-00000010\n")
    with (folder / "log.jsonl").open("a" if first > 1 else "w") as log:
        for step in range(first, steps + 1):
            record = {"step": step, "epoch": 0.1, "loss": 1.0 / step, "parts": {"contrastive": 1.0 / step}, "lr": 1e-3}
            log.write(json.dumps(record | {"scale": 10.0, "grad_norm": 1.0, "images_per_s": 50.0}) + "\n")
            if step % 10 == 0:
                log.write(
                    json.dumps({"step": step, "metrics": {"original": 0.5 + step / 1000, "augmented": 0.5}}) + "\n"
                )


def copies(run: Path, into: Path, count: int) -> None:
    """The same small run many times."""
    for number in range(count):
        target = into / f"model-{number:03}" / run.name
        target.mkdir(parents=True)
        for name in ("result.json", "items.jsonl"):
            shutil.copyfile(run / name, target / name)
