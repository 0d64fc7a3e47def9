"""The collector's settings are the caller's again afterwards."""

from __future__ import annotations

import gc

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


@pytest.mark.parametrize("frozen, after", [(0, ["freeze", "unfreeze"]), (1, ["freeze"])])
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
