"""Checkpoint folders: whole or not there, the pointer last, the last k and the best kept."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest
import torch

from equipoise.errors import UserError
from equipoise.files import read_json, write_json
from equipoise.train.run.checkpoints import STATE, Checkpoints, whole_folder


def _write(folder: Path) -> None:
    (folder / "weights").write_text("w")


def _save(checkpoints: Checkpoints, step: int, best: bool = False) -> Path:
    return checkpoints.save(step, _write, {"step": step, "tensor": torch.arange(3)}, best)


def _names(checkpoints: Checkpoints) -> list[str]:
    return sorted(path.name for path in checkpoints.folder.iterdir())


def test_the_last_two_and_the_best_stay(tmp_path):
    checkpoints = Checkpoints(tmp_path, keep=2)
    for step in range(1, 7):
        _save(checkpoints, step, best=step == 2)
    assert _names(checkpoints) == ["step-00000002", "step-00000005", "step-00000006"]
    assert checkpoints.pointed("latest").name == "step-00000006"
    assert checkpoints.pointed("best").name == "step-00000002"
    state = checkpoints.state(checkpoints.pointed("latest"))
    assert state["step"] == 6 and state["tensor"].tolist() == [0, 1, 2]


def test_a_state_that_would_run_code_is_not_loaded(tmp_path):
    class Evil:
        def __reduce__(self):
            return (print, ("ran",))

    checkpoints = Checkpoints(tmp_path)
    folder = _save(checkpoints, 1)
    torch.save({"evil": Evil()}, folder / STATE)
    with pytest.raises(Exception, match="weights_only"):
        checkpoints.state(folder)


def test_a_failure_while_writing_leaves_the_old_checkpoint(tmp_path):
    checkpoints = Checkpoints(tmp_path)
    _save(checkpoints, 1)

    def full(folder: Path) -> None:
        (folder / "weights").write_text("half")
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(UserError, match=r"the disk is full.*earlier checkpoints are whole"):
        checkpoints.save(2, full, {}, False)
    assert _names(checkpoints) == ["step-00000001"]
    assert checkpoints.pointed("latest").name == "step-00000001"


def test_what_a_kill_left_half_written_is_swept_away(tmp_path):
    checkpoints = Checkpoints(tmp_path)
    _save(checkpoints, 1)
    (checkpoints.folder / ".step-00000002.abc").mkdir()
    _save(checkpoints, 3)
    assert _names(checkpoints) == ["step-00000001", "step-00000003"]


def test_a_folder_is_replaced_whole(tmp_path):
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "old").write_text("old")
    with pytest.raises(RuntimeError), whole_folder(tmp_path / "model") as part:
        raise RuntimeError("stopped")
    assert (tmp_path / "model" / "old").exists()
    with whole_folder(tmp_path / "model") as part:
        (part / "new").write_text("new")
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    assert [path.name for path in (tmp_path / "model").iterdir()] == ["new"]


def test_another_runs_folder_is_refused_with_what_differs(tmp_path):
    out = tmp_path / "out"
    Checkpoints(out).claim({"recipe": "control", "seed": 0})
    Checkpoints(out).claim({"recipe": "control", "seed": 0})
    with pytest.raises(UserError, match=r"holds another run:\n  seed: there 0, here 1\nChoose another --out"):
        Checkpoints(out).claim({"recipe": "control", "seed": 1})
    assert read_json(out / "run.json")["run"]["seed"] == 0


def test_a_folder_with_other_things_is_refused(tmp_path):
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(UserError, match="not empty"):
        Checkpoints(tmp_path).claim({})


def test_a_run_of_the_future_is_refused(tmp_path):
    write_json(tmp_path / "run.json", {"schema": 99, "run": {}})
    with pytest.raises(UserError, match="newer version"):
        Checkpoints(tmp_path).claim({})
