"""studies/harness/jobs.py: what is there is left alone, what fails costs only itself, several commands share a list."""

from __future__ import annotations

import os
import time
from functools import partial
from pathlib import Path

import pytest

from studies.harness import jobs
from studies.harness.jobs import Work


def make(path: Path) -> str:
    """Writes who made it; the third never works."""
    if path.name == "2.json":
        raise ValueError("no luck")
    path.write_text(str(os.getpid()))
    return "made"


def listed(folder: Path, count: int = 4) -> list[Work]:
    paths = [folder / f"{number}.json" for number in range(count)]
    return [Work(path.stem, partial(make, path), (path,)) for path in paths]


@pytest.mark.parametrize(("processes", "start"), [(1, "spawn"), (2, "fork")])
def test_one_that_fails_costs_only_itself_and_nothing_is_made_twice(tmp_path: Path, processes: int, start: str) -> None:
    assert jobs.run(listed(tmp_path), processes, start) == ["2 FAILED: ValueError: no luck"]
    made = {path.name: path.read_text() for path in tmp_path.glob("*.json")}
    assert sorted(made) == ["0.json", "1.json", "3.json"]
    assert (str(os.getpid()) in made.values()) == (processes == 1)
    (tmp_path / "0.json").write_text("kept")
    assert len(jobs.run(listed(tmp_path), processes, start)) == 1
    assert (tmp_path / "0.json").read_text() == "kept"


def test_what_another_command_makes_is_left_to_it_while_it_lives(tmp_path: Path) -> None:
    claim = jobs.claim_of(tmp_path / "0.json")
    claim.write_text(str(os.getppid()))
    jobs.run(listed(tmp_path, 1), claim=True)
    assert not (tmp_path / "0.json").exists()
    claim.write_text("99999999")  # it was killed
    jobs.run(listed(tmp_path, 1), claim=True)
    assert (tmp_path / "0.json").exists() and claim.read_text() == str(os.getpid())


def test_a_failed_one_may_be_tried_again(tmp_path: Path) -> None:
    for _ in range(2):
        assert len(jobs.run(listed(tmp_path)[2:3], claim=True)) == 1
    assert list(tmp_path.iterdir()) == []


def test_nothing_begins_too_late_or_before_what_it_needs(tmp_path: Path) -> None:
    assert jobs.run(listed(tmp_path, 1), until=time.time() - 1) == [] and list(tmp_path.iterdir()) == []
    (work,) = listed(tmp_path, 1)
    jobs.run([work._replace(needs=tmp_path / "base.npz")], until=time.time() + 0.1)
    assert list(tmp_path.iterdir()) == []
