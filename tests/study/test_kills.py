"""Two annotators at once, the server killed with -9 in mid-answer, again and again: what was acknowledged is there,
once. `KILLS=50 pytest tests/study/test_kills.py -s` kills more often and prints the numbers."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from tests.study.asking import answer, request
from tests.study.conftest import Make

from equipoise.study.questions import as_stored, read_study
from equipoise.study.store import Store

KILLS = int(os.environ.get("KILLS", "10"))
RANKINGS = [[1, 2, 3], [3, 2, 1], [1, 1, 2], [2, 1, 1], [1, 1, 1]]
pytestmark = pytest.mark.slow


class Annotator(threading.Thread):
    """Answers, withdraws and answers again, as fast as it goes; sends the same until it hears that it is saved."""

    def __init__(self, name: str, port: int, questions: int) -> None:
        super().__init__(daemon=True)
        self.name, self.port, self.questions = name, port, questions
        self.acknowledged: list[tuple[int, int, list[int] | None]] = []
        self.waiting = self.stopped = False
        self.wrong = ""
        self.unheard = self.known = 0  # requests without a reply; replies that it was there already

    def run(self) -> None:
        rng = random.Random(self.name)
        revision = [0] * self.questions
        last: list[list[int] | None] = [None] * self.questions
        while not self.stopped:
            number = rng.randrange(self.questions)
            value = None if last[number] is not None and rng.random() < 0.3 else rng.choice(RANKINGS)
            revision[number] += 1
            last[number] = value
            while True:
                self.waiting = True
                status, said = 0, ""
                with contextlib.suppress(OSError, ValueError):
                    reply = answer(self.port, value, self.name, number, revision[number])
                    status, said = reply.status, reply.json().get("status", "") if reply.body else ""
                self.waiting = False
                if status == 200 and said:
                    self.known += said == "known"
                    self.acknowledged.append((number, revision[number], value))
                    break
                if status not in (0, 200):  # 0 or half a reply: the server is gone
                    self.wrong = f"{self.name}, question {number}, revision {revision[number]}: status {status}"
                    return
                self.unheard += 1
                time.sleep(0.05)


def started(folder: Path, port: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "equipoise", "study", "serve", str(folder), "--port", str(port)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    for _ in range(2400):  # two minutes: a busy machine loads slowly
        with contextlib.suppress(OSError):
            if request(port).status == 200:
                return server
        time.sleep(0.05)
    raise AssertionError("the server did not start")


def test_nothing_acknowledged_is_lost(make: Make) -> None:
    study = read_study(folder := make(n=20))
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    rng = random.Random(9)
    annotators = [Annotator(name, port, len(study.questions)) for name in ("anna", "ben")]
    server = started(folder, port)
    try:
        for one in annotators:
            one.start()
        in_flight = 0
        for _ in range(KILLS):
            time.sleep(rng.uniform(0.05, 0.35))
            assert not [one.wrong for one in annotators if one.wrong]
            while not any(one.waiting for one in annotators):
                assert all(one.is_alive() for one in annotators)  # kill in mid-answer, not between two
            in_flight += sum(one.waiting for one in annotators)
            os.kill(server.pid, signal.SIGKILL)
            server.wait()
            server = started(folder, port)
        for one in annotators:
            one.stopped = True
        for one in annotators:
            one.join(30)
            assert not one.is_alive()
    finally:
        server.kill()
        server.wait()
    with sqlite3.connect(folder / "answers.sqlite") as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    store = Store(folder, study.digest)
    total = 0
    for one in annotators:
        said = [
            (number, revision, as_stored(study, one.name, study.questions[number], value))
            for number, revision, value in one.acknowledged
        ]
        kept = [(row.question, row.revision, row.value) for row in store.history(one.name)]
        assert sorted(kept, key=str) == sorted(said, key=str)  # none lost, none doubled, none made up
        total += len(kept)
    store.close()
    unheard, known = (sum(getattr(one, name) for one in annotators) for name in ("unheard", "known"))
    print(f"{KILLS} kills, {in_flight} requests in flight, {unheard} unheard, {known} saved but unheard; {total} kept")
    assert total > 10 * KILLS and in_flight >= KILLS


def test_ctrl_c_is_the_way_it_ends(make: Make) -> None:
    folder = make()
    command = [sys.executable, "-m", "equipoise", "study", "serve", str(folder), "--port", "0"]
    server = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(
            signal.SIGINT, signal.default_int_handler
        ),  # a test in the background has none
    )
    assert server.stdout is not None
    first = server.stdout.readline()
    port = int(first.partition("127.0.0.1:")[2].partition("/")[0])
    assert answer(port, [1, 2, 3]).status == 200
    server.send_signal(signal.SIGINT)
    said, _ = server.communicate(timeout=60)
    assert server.returncode == 0 and "ended; answers kept: anna 1" in said
