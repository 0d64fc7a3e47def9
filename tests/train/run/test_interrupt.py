"""SIGTERM and Ctrl-C end a real process within five seconds, in the middle of a step too, and lose no whole step."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from equipoise.data.items import write_items
from equipoise.train.run.log import read_log

SLOW = """
import os, time
from equipoise.train.losses.clip import clip_loss
from equipoise.train.recipe import Recipe

calls = 0

def slow(features):
    global calls
    calls += 1
    if calls == 3 and os.path.exists("long-step"):
        time.sleep(60)
    time.sleep(0.1)
    return clip_loss(features)

def recipe():
    return Recipe(terms={"slow": (1.0, slow)}, batch_size=4, epochs=5)
"""


def _waited(for_: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    end = time.monotonic() + 300
    while not for_():
        assert process.poll() is None and time.monotonic() < end, process.communicate()[1]
        time.sleep(0.05)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "long_step", "workers"),
    [
        (signal.SIGTERM, True, "1"),
        pytest.param(signal.SIGINT, True, "0", marks=pytest.mark.long),
        pytest.param(signal.SIGTERM, False, "1", marks=pytest.mark.long),
    ],
)
def test_a_signal_ends_the_process_and_the_same_command_goes_on(
    tiny_model,
    tiny_items,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command_line: Callable[..., tuple[int, str, str]],
    number: signal.Signals,
    long_step: bool,
    workers: str,
):
    write_items(tmp_path / "items.jsonl", tiny_items(16))
    tiny_model().save(tmp_path / "tiny")
    (tmp_path / "slow.py").write_text(SLOW)
    command = [sys.executable, "-m", "equipoise", "train", "py:slow:recipe", "--items", "items.jsonl"]
    command += ["--images", "images", "--model", "hf:tiny", "--out", "run", "--device", "cpu", "--workers", workers]
    if long_step:
        (tmp_path / "long-step").touch()

    process = subprocess.Popen(
        command,
        cwd=tmp_path,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        stderr=subprocess.PIPE,
        text=True,
        # as from a terminal: where the tests run in the background Ctrl-C is ignored, and that is inherited
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    _waited(lambda: len(read_log(tmp_path / "run")) >= 2, process)
    if long_step:
        time.sleep(0.5)  # now within the third step
    sent = time.monotonic()
    process.send_signal(number)
    said = process.communicate(timeout=30)[1]
    assert time.monotonic() - sent < 5
    assert process.returncode == 128 + number, said
    assert "The same command resumes." in said and "Traceback" not in said
    saved = int((tmp_path / "run" / "latest").read_text().strip().removeprefix("step-"))
    assert (saved == 2 and "stopped within step 3 of 20" in said) if long_step else 2 <= saved < 20
    (tmp_path / "long-step").unlink(missing_ok=True)
    monkeypatch.chdir(tmp_path)
    code, _, said = command_line(*command[3:])
    assert code == 0 and f"resuming after step {saved} of 20" in said, said
    assert [record["step"] for record in read_log(tmp_path / "run")] == list(range(1, 21))
