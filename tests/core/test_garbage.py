"""The collector's settings are the caller's again afterwards."""

from __future__ import annotations

import gc
import subprocess
import sys

import pytest

from equipoise.core.garbage import SELDOM, seldom_collected, uncollected
from equipoise.core.processes import processes


def test_settings_are_restored_after_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a process where nothing is frozen; in that of the tests much is, and would be unfrozen."""
    done: list[str] = []
    monkeypatch.setattr(gc, "get_freeze_count", lambda: 0)
    for name in ("freeze", "unfreeze"):
        monkeypatch.setattr(gc, name, lambda name=name: done.append(name))
    own = gc.get_threshold()
    gc.set_threshold(*(before := (700, 10, 10)))
    try:
        with pytest.raises(ZeroDivisionError), seldom_collected():
            assert gc.get_threshold() == SELDOM and done == ["freeze"]
            raise ZeroDivisionError
        assert gc.get_threshold() == before and done == ["freeze", "unfreeze"]
    finally:
        gc.set_threshold(*own)


def test_a_caller_who_turned_it_off_keeps_it_off() -> None:
    before = gc.get_threshold()
    gc.set_threshold(0)
    try:
        with seldom_collected():
            assert gc.get_threshold()[0] == 0
    finally:
        gc.set_threshold(*before)


def test_what_python_froze_at_its_start_is_not_the_callers() -> None:
    """Python 3.12 begins with frozen objects; there nothing else was, and an evaluation stood still for a second."""
    code = """
import gc
gc.freeze()
from equipoise.core.garbage import SELDOM, seldom_collected, uncollected
at_start = gc.get_freeze_count()
with seldom_collected():
    assert gc.get_threshold() == SELDOM and gc.get_freeze_count() > at_start
assert gc.get_freeze_count() == 0
gc.freeze()
kept = [[] for _ in range(10 * at_start)]
gc.freeze()
with seldom_collected(), uncollected():
    assert gc.get_threshold() != SELDOM
assert gc.get_freeze_count() > at_start
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("frozen, after", [(0, ["freeze", "unfreeze"]), (10**9, ["freeze"])])
def test_what_is_made_without_collection_counts_as_old(
    monkeypatch: pytest.MonkeyPatch, frozen: int, after: list[str]
) -> None:
    done: list[str] = []
    monkeypatch.setattr(gc, "get_freeze_count", lambda: frozen)
    for name in ("freeze", "unfreeze"):
        monkeypatch.setattr(gc, name, lambda name=name: done.append(name))
    with pytest.raises(ZeroDivisionError), uncollected():
        with uncollected():
            assert not gc.isenabled()
        assert not gc.isenabled() and not done
        raise ZeroDivisionError
    assert gc.isenabled() and done == after


def test_workers_are_seldom_looked_through() -> None:
    with processes(1) as submit:
        assert submit(gc.get_threshold).result() == SELDOM
