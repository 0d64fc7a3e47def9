"""Ctrl-C and SIGTERM: one message, the right exit code, no traceback, within five seconds, from the first moment."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from equipoise import __main__ as start
from equipoise import cli
from equipoise.core.errors import Stopped

SLOW_IMPORT = """
import signal, sys, os, threading
threading.Timer({moment}, lambda: os.kill(os.getpid(), {number})).start()
from equipoise.__main__ import main
sys.argv = ["equipoise", "perturb", {captions!r}, "--out", {out!r}, "--workers", "2"]
if __name__ == "__main__":
    main()
"""


@pytest.mark.slow
@pytest.mark.parametrize("number, code", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("moment", [0.2, 2.0])
def test_a_stopped_perturb(tmp_path: Path, number: int, code: int, moment: float) -> None:
    captions = tmp_path / "captions.txt"
    captions.write_text("a red dog sits on the green grass\na man holds a large blue ball\n" * 40_000)
    script = tmp_path / "run.py"
    script.write_text(
        SLOW_IMPORT.format(moment=moment, number=int(number), captions=str(captions), out=str(tmp_path / "x.jsonl"))
    )
    run = subprocess.Popen(
        [sys.executable, script],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    begin = time.monotonic()
    _, said = run.communicate(timeout=60)
    assert time.monotonic() - begin < moment + 10  # 5 seconds, and as many for a busy machine to start
    assert run.returncode == code, said
    assert "finished work is kept" in said and "Traceback" not in said
    ended = time.monotonic()
    while _is_there(run.pid):  # a worker; or what is left of one, until the machine's first process takes note
        assert time.monotonic() - ended < 5
        time.sleep(0.1)


def _is_there(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def stop(*_: object, **__: object) -> None:
    raise Stopped(143)


def test_a_signal_while_the_arguments_are_read(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Typer makes 130 of it, and says nothing."""
    monkeypatch.setattr(cli.Verbs, "parse_args", stop)
    for words, said in (
        (["eval"], "finished work is kept, and the same command resumes"),
        (["bench", "fetch"], "finished work is kept"),
        (["report"], "starts over"),
        (["bench", "list"], "starts over"),
    ):
        monkeypatch.setattr(sys, "argv", ["equipoise", *words])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        assert ended.value.code == 143 and said in capsys.readouterr().err


def test_a_signal_before_the_command_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the handlers and the first `try` of the commands: it was a traceback."""
    codes: list[int] = []
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    monkeypatch.setattr(start, "_leave", codes.append)
    monkeypatch.setattr(cli, "main", stop)
    start.main()
    assert codes == [143]
