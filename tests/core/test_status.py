"""The status file of a long command: started, running, finished, failed, killed."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from equipoise.core import progress as status
from equipoise.core import run_folder
from equipoise.core.errors import Stopped, UserError
from equipoise.core.progress import be_quiet, progress


def read(folder: Path, file: str = "") -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / (f".{file}{status.STATUS}" if file else status.STATUS)).read_text())
    return found


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(status, "EVERY", 0.02)


def wait_for(folder: Path, what: str, done: int) -> dict[str, Any]:
    """The bar of this name, once the file has it and it is so far."""
    for _ in range(500):
        found = read(folder)
        if [(bar["what"], bar["done"]) for bar in found["bars"]] == [(what, done)]:
            assert found["state"] == "running" and status.is_alive(found)
            bar: dict[str, Any] = found["bars"][0]
            return bar
        time.sleep(0.02)
    raise AssertionError(f"no bar of {what}: {found}")


@pytest.mark.parametrize("quiet", [False, True])
def test_from_start_to_finish(tmp_path: Path, quiet: bool) -> None:
    be_quiet(quiet)
    try:
        with status.recorded():
            status.begin("eval", tmp_path / "run")
            first = read(tmp_path / "run")
            assert (first["state"], first["verb"], first["pid"]) == ("started", "eval", os.getpid())
            with progress(50, "pairs ", "pairs") as outer:
                outer(20)
                with progress(4, "images", "images") as inner:
                    inner(3)
                    wait_for(tmp_path / "run", "images", 3)
                bar = wait_for(tmp_path / "run", "pairs", 20)
            assert (bar["done"], bar["total"], bar["unit"]) == (20, 50, "pairs")
            assert 0 < bar["rate"] < 20 / 0.02
    finally:
        be_quiet(False)
    last = read(tmp_path / "run")
    assert last["state"] == "finished" and last["updated"] >= last["started"] and not status.is_alive(last)
    assert list((tmp_path / "run").iterdir()) == [tmp_path / "run" / status.STATUS]


def test_an_error_is_kept(tmp_path: Path) -> None:
    with pytest.raises(UserError), status.recorded():
        status.begin("perturb", tmp_path, "items.jsonl")
        raise UserError("captions.csv, line 3: no caption")
    found = read(tmp_path, "items.jsonl")
    assert (found["state"], found["error"]) == ("failed", "captions.csv, line 3: no caption")
    with pytest.raises(ValueError), status.recorded():
        status.begin("perturb", tmp_path, "items.jsonl")
        raise ValueError("odd")
    assert read(tmp_path, "items.jsonl")["error"] == "ValueError: odd"
    with pytest.raises(Stopped), status.recorded():
        status.begin("perturb", tmp_path, "items.jsonl")
        raise Stopped(143)
    assert read(tmp_path, "items.jsonl")["state"] == "stopped"
    with status.recorded():
        status.begin("perturb", tmp_path, "items.jsonl")
        status.fail("the model is loaded wrong")
    assert read(tmp_path, "items.jsonl")["state"] == "failed"


def test_a_killed_command_is_known(tmp_path: Path) -> None:
    code = (
        "import time, pathlib; from equipoise.core import progress as status\n"
        f"with status.recorded():\n  status.begin('train', pathlib.Path({str(tmp_path)!r})); print(flush=True)\n"
        "  time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as run:
        assert run.stdout is not None and run.stdout.readline()
        assert status.is_alive(read(tmp_path)), "it is at work"
        with status.recorded():
            status.begin("eval", tmp_path)  # another command must not write over it
        assert read(tmp_path)["pid"] == run.pid
        run.kill()
    assert read(tmp_path)["state"] == "started" and not status.is_alive(read(tmp_path))


def test_a_silent_or_odd_file_is_of_nobody(tmp_path: Path) -> None:
    mine = {"state": "running", "pid": os.getpid(), "host": socket.gethostname(), "updated": time.time()}
    assert status.is_alive(mine)
    assert status.is_alive(mine | {"host": "elsewhere", "pid": 1})
    assert not status.is_alive(mine | {"updated": time.time() - 61})
    for odd in ({"pid": -1}, {"pid": "1"}, {"pid": True}, {"updated": "now"}, {"state": []}, {"pid": 1 << 40}):
        assert not status.is_alive(mine | odd), odd
    for text in ("", "[]", "{", "[" * 100_000, "\xff"):
        (tmp_path / status.STATUS).write_text(text, encoding="latin-1")
        with status.recorded():
            status.begin("eval", tmp_path)
        assert read(tmp_path)["state"] == "finished"


def test_it_is_no_file_of_the_user(tmp_path: Path) -> None:
    with status.recorded():
        status.begin("train", tmp_path)
    run_folder.take(tmp_path, "train", {"seed": 0})
    run_folder.take(tmp_path, "train", {"seed": 0})


def test_nothing_is_written_without_a_command_or_in_other_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    status.begin("eval", tmp_path)
    monkeypatch.setenv("RANK", "1")
    with status.recorded():
        status.begin("eval", tmp_path)
    assert not list(tmp_path.iterdir())


def test_counting_costs_nothing_and_writing_is_seldom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(status, "EVERY", 0.2)
    writes = []
    real = status._Status.write
    monkeypatch.setattr(status._Status, "write", lambda self: (writes.append(time.monotonic()), real(self)))
    be_quiet(True)
    try:
        with status.recorded():
            status.begin("eval", tmp_path)
            with progress(10**9, "pairs", "pairs") as advance:
                began, count = time.monotonic(), 0
                while time.monotonic() - began < 0.9:
                    advance(1)
                    count += 1
    finally:
        be_quiet(False)
    assert count > 100_000, "a call takes microseconds"
    assert len(writes) <= 7, "one at the start, one every 0.2 seconds, one at the end"


def test_a_later_part_takes_the_place_of_an_earlier_one(tmp_path: Path) -> None:
    with status.recorded():
        status.begin("eval", tmp_path)
        for what in ("pictures", "texts"):
            with progress(2, what) as advance:
                advance(2)
    assert [bar["what"] for bar in read(tmp_path)["bars"]] == ["texts"]


def test_a_file_name_that_is_no_text_does_not_hide_the_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such file"), status.recorded():
        status.begin("eval", tmp_path)
        raise UserError("odd\udcff.jsonl: no such file")
    assert read(tmp_path)["error"] == "odd?.jsonl: no such file"
