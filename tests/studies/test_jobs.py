"""studies/harness/jobs.py: what is there is left alone, and what fails costs only itself."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

import pytest

from studies.harness import jobs
from studies.harness.jobs import Work


def make(path: Path) -> None:
    """Writes who made it; the third never works."""
    if path.name == "2.json":
        raise ValueError("no luck")
    path.write_text(str(os.getpid()))


@pytest.mark.parametrize(("processes", "start"), [(1, "spawn"), (2, "fork")])
def test_one_that_fails_costs_only_itself_and_nothing_is_made_twice(tmp_path: Path, processes: int, start: str) -> None:
    paths = [tmp_path / f"{number}.json" for number in range(4)]
    listed = [Work(path.stem, partial(make, path), (path,)) for path in paths]
    assert jobs.run(listed, processes, start) == ["2 FAILED: ValueError: no luck"]
    made = {path.name: path.read_text() for path in tmp_path.glob("*.json")}
    assert sorted(made) == ["0.json", "1.json", "3.json"]
    assert (str(os.getpid()) in made.values()) == (processes == 1)
    paths[0].write_text("kept")
    assert len(jobs.run(listed, processes, start)) == 1
    assert paths[0].read_text() == "kept"
