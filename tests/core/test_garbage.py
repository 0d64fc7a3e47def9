"""The collector's settings are the caller's again afterwards."""

from __future__ import annotations

import gc

import pytest

from equipoise.core.garbage import SELDOM, seldom_collected
from equipoise.core.processes import processes


def test_settings_are_restored_after_an_error() -> None:
    before = gc.get_threshold(), gc.get_freeze_count()
    with pytest.raises(ZeroDivisionError), seldom_collected():
        assert gc.get_threshold() >= SELDOM and gc.get_freeze_count() > 0
        raise ZeroDivisionError
    assert (gc.get_threshold(), gc.get_freeze_count()) == before


def test_a_caller_who_turned_it_off_keeps_it_off() -> None:
    before = gc.get_threshold()
    gc.set_threshold(0)
    try:
        with seldom_collected():
            assert gc.get_threshold()[0] == 0
    finally:
        gc.set_threshold(*before)


def test_workers_are_seldom_looked_through() -> None:
    with processes(1) as submit:
        assert submit(gc.get_threshold).result() == SELDOM
