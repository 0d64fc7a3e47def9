"""Whose folder is this: what is ours, what is not, what is said about the difference, and who may write now."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from equipoise.core.errors import Busy, InTheWay, OtherRun, UserError
from equipoise.core.files import read_json, write_json
from equipoise.core.run_folder import (
    CLAIM,
    SHOWN,
    claim_of,
    differences,
    locked,
    refuse_early,
    refuse_file,
    refuse_other,
    take,
)

# ---------------------------------------------------------------------------- what differs


@pytest.mark.parametrize(
    ("there", "here", "told"),
    [
        ({"seed": 0}, {"seed": 7}, ["seed: there 0, here 7"]),
        ({"seed": 0}, {"seed": 0}, []),
        ({"limit": None}, {}, []),
        ({"crop": [0.9, 1.0]}, {"crop": (0.9, 1.0)}, []),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, []),
        ({"flag": True}, {"flag": 1}, ["flag: there yes, here 1"]),
        ({"limit": None}, {"limit": 5}, ["limit: there nothing, here 5"]),
        ({"name": ""}, {"name": "b"}, ['name: there "", here b']),
        ({"model": {"at": "cpu", "n": 1}}, {"model": {"at": "cuda", "n": 1}}, ["model at: there cpu, here cuda"]),
        ({"model": "x"}, {"model": {"n": 1}}, ['model: there x, here {"n": 1}']),
        ({"allow_missing": False}, {"allow_missing": True}, ["allow missing: there no, here yes"]),
        ({"sha256": "ab" * 32}, {"sha256": "cd" * 32}, ["sha256: there ababababab…, here cdcdcdcdcd…"]),
        ({"p": Path("a")}, {"p": Path("b")}, ["p: there a, here b"]),
    ],
)  # fmt: skip
def test_differences(there: Any, here: Any, told: list[str]) -> None:
    assert differences(there, here) == told


def test_long_values_are_cut_where_they_differ() -> None:
    (told,) = differences({"prompt": "x" * 500 + "ONE" + "y" * 500}, {"prompt": "x" * 500 + "TWO" + "y" * 500})
    assert "ONE" in told and "TWO" in told and len(told) < 200


def test_many_differences_are_counted(tmp_path: Path) -> None:
    here = {f"option{number}": number for number in range(SHOWN + 3)}
    with pytest.raises(UserError) as caught:
        refuse_other(tmp_path, dict.fromkeys(here, "x"), here)
    lines = str(caught.value).splitlines()
    assert lines[0] == f"{tmp_path} holds another run:" and lines[SHOWN + 1] == "  ... and 3 more"
    assert lines[-1] == "Choose another --out, or delete this folder if you no longer need it."
    refuse_other(tmp_path, here, here)


# ---------------------------------------------------------------------------- whose it is


def test_a_new_folder_is_taken_and_found_again(tmp_path: Path) -> None:
    take(tmp_path / "run", "train", {"seed": 0, "crop": (1, 2)})
    assert read_json(tmp_path / "run" / CLAIM) == {"schema": 1, "command": "train", "run": {"seed": 0, "crop": [1, 2]}}
    before = (tmp_path / "run" / CLAIM).stat().st_mtime_ns
    take(tmp_path / "run", "train", {"seed": 0, "crop": (1, 2)})
    assert (tmp_path / "run" / CLAIM).stat().st_mtime_ns == before


def test_another_run_and_another_command_are_refused(tmp_path: Path) -> None:
    take(tmp_path, "train", {"seed": 0})
    with pytest.raises(OtherRun, match=r"seed: there 0, here 1"):
        take(tmp_path, "train", {"seed": 1})
    with pytest.raises(OtherRun, match=r"command: there train, here eval"):
        take(tmp_path, "eval", {"seed": 0}, resumes=False)
    with pytest.raises(OtherRun, match=r"command: there train, here eval"):
        refuse_early(tmp_path, "eval", {})
    refuse_early(tmp_path, "train", {})


def test_an_unfinished_run_that_is_worth_nothing_gives_way(tmp_path: Path) -> None:
    take(tmp_path, "eval", {"seed": 0}, writes=("a",), resumes=False)
    (tmp_path / "a").write_text("half")
    take(tmp_path, "eval", {"seed": 1}, writes=("a",), resumes=False)
    assert claim_of(tmp_path / CLAIM) == {"command": "eval", "run": {"seed": 1}}


def test_foreign_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(UserError, match=r"not empty and holds no run of equipoise train: thesis\.tex would be"):
        take(tmp_path, "train", {})
    take(tmp_path, "eval", {}, writes=("items.jsonl",))  # other names are none of its business
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    (tmp_path / CLAIM).unlink()
    with pytest.raises(UserError, match="link would be"):
        take(tmp_path, "eval", {}, writes=("link",))
    assert not (tmp_path / CLAIM).exists()


def test_a_kill_while_the_claim_was_written(tmp_path: Path) -> None:
    (tmp_path / f".{CLAIM}.abc.part").write_text('{"sche')
    take(tmp_path, "train", {})
    assert (tmp_path / CLAIM).exists()


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"run": {}}', '{"schema": true, "run": {}}', '{"schema": 1, "run": 3}']
)
def test_a_damaged_claim_is_refused_with_the_way_out(tmp_path: Path, text: str) -> None:
    (tmp_path / CLAIM).write_text(text)
    with pytest.raises(UserError, match="delete this folder"):
        take(tmp_path, "train", {})


def test_a_claim_of_the_future_is_refused(tmp_path: Path) -> None:
    write_json(tmp_path / CLAIM, {"schema": 99, "run": {}})
    with pytest.raises(UserError, match="newer version"):
        take(tmp_path, "train", {})


def test_a_foreign_file_names_the_ways_out(tmp_path: Path) -> None:
    with pytest.raises(InTheWay, match="--out"):
        refuse_file(tmp_path / "x.jsonl")


# ---------------------------------------------------------------------------- the lock


def test_one_at_a_time(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with locked(folder):
        with pytest.raises(Busy, match="run"), locked(folder):
            pass
        with pytest.raises(UserError, match=r"out\.jsonl: another run"), locked(folder, name="out.jsonl"):
            pass
        with locked(tmp_path / "other"):
            pass
    with pytest.raises(ZeroDivisionError), locked(folder):
        raise ZeroDivisionError
    with locked(folder):
        pass


def test_a_folder_that_its_owner_removed_is_locked_anew(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with locked(folder):
        folder.rmdir()
        with locked(folder), pytest.raises(UserError, match="another run"), locked(folder):
            pass


HOLD = """
import os, sys, time
from equipoise.core.run_folder import locked
with locked(sys.argv[1]):
    child = os.fork() if len(sys.argv) > 2 else 1
    if child:
        print("held", child, flush=True)
    time.sleep(60)
"""


@pytest.mark.parametrize("fork", [(), ("fork",)])
def test_a_killed_process_leaves_no_lock_even_if_its_workers_stay(tmp_path: Path, fork: tuple[str, ...]) -> None:
    run = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path), *fork], stdout=subprocess.PIPE, text=True)
    assert run.stdout is not None
    child = int(run.stdout.readline().split()[1])
    with pytest.raises(Busy), locked(tmp_path):
        pass
    run.kill()
    run.wait()
    try:
        with locked(tmp_path, wait=True):  # the forked worker lets go when it first runs, which may be a moment later
            pass
    finally:
        if fork:
            os.kill(child, signal.SIGKILL)


def test_who_may_wait_waits(tmp_path: Path) -> None:
    code = HOLD.replace("time.sleep(60)", "time.sleep(0.3)")
    run = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert run.stdout is not None and run.stdout.readline().startswith("held")
    with locked(tmp_path, wait=True):
        pass
    assert run.wait() == 0


def test_without_locks_it_still_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_locks(*_: object) -> None:
        raise OSError("no locks available")

    monkeypatch.setattr("fcntl.flock", no_locks)
    with locked(tmp_path / "run"), locked(tmp_path / "run"):
        assert (tmp_path / "run").is_dir()


def test_a_claim_that_a_kill_left_half_written_goes_with_the_next_run(tmp_path: Path) -> None:
    (tmp_path / f".{CLAIM}.abcd1234.part").touch()
    take(tmp_path, "eval", {"seed": 1})
    assert [path.name for path in tmp_path.iterdir()] == [CLAIM]
