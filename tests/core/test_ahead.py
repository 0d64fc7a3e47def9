"""Work that begins in a process of its own gives what it gives here."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from equipoise.core.files import atomic_write
from equipoise.core.processes import ahead


@pytest.mark.parametrize("platform", ["linux", "win32"])
def test_the_result_is_the_same(platform: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    data = list(range(100_000))
    with ahead(lambda: (sum(data), data[:50_000])) as result:
        assert result() == (sum(data), data[:50_000])


def test_it_runs_elsewhere_and_a_dead_process_costs_only_time() -> None:
    with ahead(os.getpid) as result:
        assert result() != os.getpid()

    def work() -> int:
        if os.getpid() != parent:
            os.kill(os.getpid(), signal.SIGKILL)
        return 7

    parent = os.getpid()
    with ahead(work) as result:
        assert result() == 7


def test_an_error_is_raised_here() -> None:
    def work() -> int:
        raise ZeroDivisionError("of the work")

    with pytest.raises(ZeroDivisionError, match="of the work"), ahead(work) as result:
        result()


def test_work_that_nobody_waits_for_leaves_no_unfinished_file(tmp_path: Path) -> None:
    def work() -> None:
        with atomic_write(tmp_path / "x.txt") as handle:
            handle.write("half")
            time.sleep(30)

    with pytest.raises(KeyboardInterrupt), ahead(work):
        while not list(tmp_path.iterdir()):
            time.sleep(0.01)
        raise KeyboardInterrupt
    assert not list(tmp_path.iterdir())
