"""Checkpoint folders: whole or not there, the pointer last, the last k and the best kept."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest
import torch

from equipoise.core.errors import OtherRun, UserError
from equipoise.core.files import read_json, write_json
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

    with pytest.raises(UserError, match=r"the disk is full.*earlier checkpoints are complete"):
        checkpoints.save(2, full, {}, False)
    assert _names(checkpoints) == ["step-00000001"]
    assert checkpoints.pointed("latest").name == "step-00000001"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("size", [3, 300_000])
def test_a_full_disk_inside_torch_save_names_the_folder(tmp_path, size):
    """torch says "iostream error" or "unexpected pos", never that the disk is full."""
    checkpoints = Checkpoints(tmp_path)
    _save(checkpoints, 1)

    def full(folder: Path) -> None:
        (folder / STATE).symlink_to("/dev/full")

    said = (
        r"step-00000002: could not be written \(.*(disk is full|Invalid argument)\); earlier checkpoints"  # torch 2.8
    )
    with pytest.raises(UserError, match=said):
        checkpoints.save(2, full, {"tensor": torch.zeros(size)}, False)
    assert _names(checkpoints) == ["step-00000001"] and checkpoints.pointed("latest").name == "step-00000001"


def test_any_failure_of_the_disk_is_the_users_to_know(tmp_path):
    def broken(folder: Path) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    with pytest.raises(UserError, match=r"step-00000001: could not be written \(.*Read-only file system\)"):
        Checkpoints(tmp_path).save(1, broken, {}, False)


@pytest.mark.parametrize("harm", ["cut", "empty", "gone", "nonsense"])
def test_a_damaged_checkpoint_is_passed_over_and_later_replaced(tmp_path, capsys, harm):
    checkpoints = Checkpoints(tmp_path)
    for step in (1, 2):
        _save(checkpoints, step)
    state = checkpoints.folder / "step-00000002" / STATE
    whole = state.read_bytes()
    if harm == "gone":
        state.unlink()
    else:
        state.write_bytes({"cut": whole[:-50], "empty": b"", "nonsense": b"x" * 500}[harm])
    again = Checkpoints(tmp_path)
    folder, found = again.load_latest(again.state)
    assert folder.name == "step-00000001" and found["step"] == 1
    assert "step-00000002: cannot be read" in capsys.readouterr().err
    _save(again, 2)
    assert state.read_bytes() == whole
    assert Checkpoints(tmp_path).load_latest(again.state)[1]["step"] == 2


def test_without_any_checkpoint_that_can_be_read_it_begins_anew(tmp_path, capsys):
    checkpoints = Checkpoints(tmp_path)
    assert checkpoints.load_latest(checkpoints.state) is None
    (_save(checkpoints, 1) / STATE).write_bytes(b"")
    assert checkpoints.load_latest(checkpoints.state) is None
    assert "starts over" in capsys.readouterr().err


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
    with pytest.raises(OtherRun, match=r"seed: there 0, here 1"):
        Checkpoints(out).claim({"recipe": "control", "seed": 1})
    assert read_json(out / "run.json")["run"]["seed"] == 0


def test_a_folder_with_other_things_is_refused(tmp_path):
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(UserError, match="not empty"):
        Checkpoints(tmp_path).claim({})


def test_a_kill_while_the_claim_was_written_leaves_no_foreign_file(tmp_path):
    (tmp_path / ".run.json.abc.part").write_text("{")
    Checkpoints(tmp_path).claim({"seed": 0})


def test_a_run_of_the_future_is_refused(tmp_path):
    write_json(tmp_path / "run.json", {"schema": 99, "run": {}})
    with pytest.raises(UserError, match="newer version"):
        Checkpoints(tmp_path).claim({})


def test_a_kill_while_an_old_checkpoint_is_removed_leaves_no_half_of_it(tmp_path, monkeypatch):
    checkpoints = Checkpoints(tmp_path, keep=1)
    _save(checkpoints, 1)

    def killed(folder: Path, **_: object) -> None:
        if Path(folder).exists() and "step-00000001" in str(folder):
            raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("equipoise.train.run.checkpoints.shutil.rmtree", killed)
        _save(checkpoints, 2)
    assert [path.name for path in checkpoints._steps()] == ["step-00000002"]
    _save(checkpoints, 3)
    assert _names(checkpoints) == ["step-00000003"]


def test_half_a_model_of_a_killed_run_is_swept_away(tmp_path):
    (tmp_path / ".model.abcdefgh").mkdir()
    (tmp_path / ".model.abcdefgh" / "config.json").touch()
    with whole_folder(tmp_path / "model") as part:
        _write(part)
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
