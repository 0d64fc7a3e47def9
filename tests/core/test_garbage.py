"""The collector's settings are the caller's again afterwards."""

from __future__ import annotations

import gc
import subprocess
import sys

import pytest

from equipoise.core import garbage
from equipoise.core.garbage import SELDOM, seldom_collected, uncollected
from equipoise.core.processes import processes


@pytest.mark.parametrize("at_start", [0, 375])
def test_settings_are_restored_after_an_error(monkeypatch: pytest.MonkeyPatch, at_start: int) -> None:
    """Python 3.12 starts with frozen objects. They were taken for the caller's, and the collector stopped an evaluation
    for a second."""
    done: list[str] = []
    monkeypatch.setattr(gc, "get_freeze_count", lambda: at_start)
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


def test_what_the_caller_froze_stays_frozen() -> None:
    code = """
import gc
gc.freeze()
from equipoise.core.garbage import SELDOM, seldom_collected, uncollected
frozen = gc.get_freeze_count()
kept = [[] for _ in range(10_000)]
with seldom_collected(), uncollected():
    assert gc.get_threshold() != SELDOM
assert gc.get_freeze_count() == frozen
gc.unfreeze()
with seldom_collected():
    with uncollected():
        more = [[] for _ in range(10_000)]
    assert gc.get_threshold() == SELDOM and gc.get_freeze_count() > frozen + 15_000
assert gc.get_freeze_count() == 0
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    "frozen, ours, after",
    [(0, False, ["freeze", "unfreeze"]), (10**9, True, ["freeze"]), (10**9, False, [])],
)
def test_what_is_made_without_collection_counts_as_old(
    monkeypatch: pytest.MonkeyPatch, frozen: int, ours: bool, after: list[str]
) -> None:
    done: list[str] = []
    monkeypatch.setattr(garbage, "_ours", ours)
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
