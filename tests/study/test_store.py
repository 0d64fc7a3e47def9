"""Answers: once, in order, with everything that was taken back, and only for the study they belong to."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.study.conftest import Make

from equipoise.errors import UserError
from equipoise.study.questions import Study, read_study
from equipoise.study.store import Conflict, Row, Store, open_answers

Open = Callable[[Path, Study], Store]


def test_revisions(make: Make, store: Open) -> None:
    study = read_study(folder := make())
    kept = store(folder, study)
    assert kept.record("anna", 3, 1, [1, 2, 3]) == "saved"
    assert kept.record("anna", 3, 1, [1, 2, 3]) == "known"  # the browser did not hear us
    with pytest.raises(Conflict) as found:
        kept.record("anna", 3, 1, [3, 2, 1])  # another window
    assert found.value.last == 1
    with pytest.raises(Conflict):
        kept.record("anna", 3, 3, [3, 2, 1])  # one is missing
    assert kept.record("anna", 3, 2, None) == "saved"  # undo
    assert kept.record("anna", 3, 2, None) == "known"
    with pytest.raises(Conflict):
        kept.record("anna", 3, 3, None)  # nothing there to be taken back
    assert kept.answers() == {"anna": {}}
    assert kept.record("anna", 3, 3, [1, 1, 2]) == "saved"
    assert kept.record("anna", 3, 1, [1, 2, 3]) == "known"  # very late
    assert kept.answers() == {"anna": {3: [1, 1, 2]}}
    assert [row.value for row in kept.history("anna")] == [[1, 2, 3], None, [1, 1, 2]]  # nothing is lost
    assert kept.latest("anna")[3] == (3, [1, 1, 2]) and kept.latest("ben") == {}


def test_nothing_to_withdraw(make: Make, store: Open) -> None:
    study = read_study(folder := make())
    with pytest.raises(Conflict):
        store(folder, study).record("anna", 0, 1, None)


def test_all_or_none(make: Make, store: Open) -> None:
    study = read_study(folder := make())
    kept = store(folder, study)
    good, bad = Row("anna", 0, 1, [1, 2, 3], "2026-01-01"), Row("anna", 1, 2, [1, 2, 3], "2026-01-01")
    with pytest.raises(Conflict):
        kept.record_all([good, bad])
    assert kept.history() == []
    assert kept.record_all([good, good]) == 1


def test_on_the_disk(make: Make, store: Open) -> None:
    """What the durable answer rests on: these two settings, and a reader elsewhere that sees it at once."""
    study = read_study(folder := make())
    kept = store(folder, study)
    assert kept._db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert kept._db.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL
    kept.record("anna", 0, 1, [1, 2, 3])
    with sqlite3.connect(folder / "answers.sqlite") as other:
        assert other.execute("SELECT count(*) FROM answers").fetchone() == (1,)
    assert (folder / "answers.sqlite").stat().st_mode & 0o077 == 0  # the token is in it


def test_two_at_once(make: Make, store: Open) -> None:
    study = read_study(folder := make())
    kept = [store(folder, study), store(folder, study)]  # two processes would have a connection each
    wins: list[str] = []

    def race(mine: Store, value: list[int]) -> None:
        for question in range(8):
            try:
                wins.append(mine.record("anna", question, 1, value))
            except Conflict:
                wins.append("conflict")

    racers = [threading.Thread(target=race, args=one) for one in zip(kept, ([1, 2, 3], [3, 2, 1]), strict=True)]
    for one in racers:
        one.start()
    for one in racers:
        one.join()
    assert sorted(wins) == ["conflict"] * 8 + ["saved"] * 8 and len(kept[0].history()) == 8


def test_of_another_study(make: Make, store: Open) -> None:
    study = read_study(folder := make())
    token = store(folder, study).token
    assert len(token) > 20 and store(folder, study).token == token  # a new start knows its annotators
    with pytest.raises(UserError, match="another study"):
        Store(folder, "0" * 64)
    (folder / "answers.sqlite").write_bytes(b"garbage" * 1000)
    for suffix in ("-wal", "-shm"):
        (folder / f"answers.sqlite{suffix}").unlink(missing_ok=True)
    with pytest.raises(UserError, match="cannot be opened"):
        Store(folder, study.digest)


def test_nobody_answered(make: Make) -> None:
    study = read_study(folder := make())
    with pytest.raises(UserError, match="nobody has answered yet"):
        open_answers(folder, study.digest)
