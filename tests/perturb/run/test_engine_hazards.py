"""Hazards of a run: outputs in the wrong place, two runs at once, kills at the worst moment, Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from equipoise.core.errors import Busy, InTheWay, OtherRun, UserError
from equipoise.perturb.recipes import Setup
from equipoise.perturb.run import engine
from equipoise.perturb.run.engine import perturb_file, report_path
from equipoise.perturb.run.shards import Parts

SETUP = Setup("hard_positives_rules")
LINES = "".join(f"a man and a dog on a {colour} couch\n" for colour in "red blue green black white brown".split())


@pytest.fixture
def captions(tmp_path: Path) -> Path:
    path = tmp_path / "in" / "captions.txt"
    path.parent.mkdir()
    path.write_text(LINES)
    return path


# ---------------------------------------------------------------------------- where the output goes


def test_the_captions_are_never_overwritten(captions: Path, tmp_path: Path) -> None:
    (tmp_path / "link.jsonl").symlink_to(captions)
    for out in (captions, tmp_path / "link.jsonl", captions.parent / ".." / "in" / "captions.txt"):
        with pytest.raises(UserError, match="which would be lost"):
            perturb_file(captions, out, SETUP)
    with pytest.raises(UserError, match="another folder"):
        perturb_file(captions.parent, captions.parent / "items.jsonl", SETUP)
    assert captions.read_text() == LINES
    assert [path.name for path in captions.parent.iterdir()] == ["captions.txt"]


def test_a_device_is_not_replaced_by_a_file(captions: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UserError, match="not a plain file"):
        perturb_file(captions, tmp_path / "pipe", SETUP)
    assert (tmp_path / "pipe").is_fifo()


def test_a_file_that_is_not_ours_is_never_overwritten(
    captions: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "items.jsonl"
    out.write_text("a thesis\n")
    with monkeypatch.context() as patch, pytest.raises(UserError, match=r"already there, and no report(.|\n)*--out"):
        patch.setattr(engine, "read_captions", lambda *_: pytest.fail("the work was begun"))
        perturb_file(captions, out, SETUP)
    assert out.read_text() == "a thesis\n"
    out.unlink()
    report_path(out).write_text('{"mine": 1}')
    with pytest.raises(UserError, match="no report of `equipoise perturb`"):
        perturb_file(captions, out, SETUP)
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == [report_path(out).name]


def test_the_output_of_another_run_is_refused_with_what_differs(captions: Path, tmp_path: Path) -> None:
    out = tmp_path / "items.jsonl"
    perturb_file(captions, out, SETUP)
    before = out.read_bytes()
    with pytest.raises(OtherRun, match=r"limit: there nothing, here 3"):
        perturb_file(captions, out, SETUP, limit=3)
    assert out.read_bytes() == before and not Parts(out).folder.exists()
    out.unlink()  # the way out
    perturb_file(captions, out, SETUP, limit=3)


def test_an_output_that_was_edited_is_refused(captions: Path, tmp_path: Path) -> None:
    out = tmp_path / "items.jsonl"
    perturb_file(captions, out, SETUP)
    out.write_text(out.read_text() + "mine\n")
    with pytest.raises(UserError, match="changed after `equipoise perturb` wrote it"):
        perturb_file(captions, out, SETUP)
    report_path(out).write_text("{")  # nobody knows any more what was written
    with pytest.raises(InTheWay, match=out.name):
        perturb_file(captions, out, SETUP)
    assert out.read_text().endswith("mine\n")


def test_a_file_that_appears_meanwhile_is_not_overwritten(
    captions: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, join = tmp_path / "items.jsonl", Parts.join

    def joined(self: Parts, count: int) -> Path:
        out.write_text("somebody was quicker\n")
        return join(self, count)

    monkeypatch.setattr(Parts, "join", joined)
    with pytest.raises(InTheWay, match=out.name):
        perturb_file(captions, out, SETUP)
    assert out.read_text() == "somebody was quicker\n" and not report_path(out).exists()


def test_through_a_link_the_parts_lie_beside_its_target(captions: Path, tmp_path: Path) -> None:
    """A link to another disk: only within a disk is renaming one step."""
    (tmp_path / "far").mkdir()
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "far" / "items.jsonl")
    assert Parts(tmp_path / "link.jsonl").folder == tmp_path / "far" / "items.jsonl.parts"
    perturb_file(captions, tmp_path / "link.jsonl", SETUP)
    assert (tmp_path / "link.jsonl").is_symlink() and (tmp_path / "far" / "items.jsonl").is_file()


def test_typing_errors_are_known_before_the_work(
    captions: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "_run", lambda *_: pytest.fail("the work was begun"))
    for judges, said in ((("words", "lenght"), "no blind judge"), (("words", f"lm:{tmp_path}"), "config.json")):
        with pytest.raises(UserError, match=said):
            perturb_file(captions, tmp_path / "items.jsonl", SETUP, refine=judges)
    with pytest.raises(UserError, match="--engine"):
        perturb_file(captions, tmp_path / "items.jsonl", SETUP, engine="spark")  # type: ignore[arg-type]
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UserError, match="needs Ray"):
        perturb_file(captions, tmp_path / "items.jsonl", SETUP, engine="ray")
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


# ---------------------------------------------------------------------------- kills and company


@pytest.mark.parametrize("mine", ["precious notes", '{"mine": 1}', "[1]", ""])
def test_a_users_file_under_the_reports_name(mine: str, captions: Path, tmp_path: Path) -> None:
    out = tmp_path / "items.jsonl"
    report_path(out).write_text(mine)
    with pytest.raises(UserError, match="no report of `equipoise perturb`"):
        perturb_file(captions, out, SETUP)
    assert report_path(out).read_text() == mine and not out.exists()


def test_two_runs_at_once(captions: Path, tmp_path: Path) -> None:
    out = tmp_path / "items.jsonl"
    with Parts(out).locked(), pytest.raises(Busy):
        perturb_file(captions, out, SETUP)
    perturb_file(captions, out, SETUP)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "items.jsonl", "items.jsonl.report.json"]


def test_a_finished_run_needs_no_lock(captions: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its folder may be read-only by then."""
    out = tmp_path / "items.jsonl"
    report = perturb_file(captions, out, SETUP)
    monkeypatch.setattr(Parts, "locked", lambda self: pytest.fail("locked"))
    assert perturb_file(captions, out, SETUP) == report


def test_a_kill_while_the_manifest_is_written(captions: Path, tmp_path: Path) -> None:
    out = tmp_path / "items.jsonl"
    Parts(out).folder.mkdir()
    (Parts(out).folder / ".manifest.json.abc.part").write_text('{"sche')
    perturb_file(captions, out, SETUP)
    assert out.is_file() and not Parts(out).folder.exists()


def test_a_kill_while_the_parts_are_removed(captions: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "items.jsonl"
    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", lambda *_, **__: sys.exit(1))
        with pytest.raises(SystemExit):
            perturb_file(captions, out, SETUP)
    assert out.is_file() and Parts(out).manifest.is_file()
    perturb_file(captions, out, SETUP)
    assert not Parts(out).folder.exists()


def test_damaged_counts_and_reports_are_made_again(
    captions: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "items.jsonl"
    with monkeypatch.context() as patch:
        patch.setattr(Parts, "join", lambda self, count: sys.exit(1))
        with pytest.raises(SystemExit):
            perturb_file(captions, out, SETUP, shard=2)
    (Parts(out).folder / "000001.json").write_text("")
    perturb_file(captions, out, SETUP, shard=2)
    whole = out.read_bytes()
    report_path(out).write_text("{")
    perturb_file(captions, out, SETUP, shard=2)
    assert out.read_bytes() == whole and report_path(out).read_text() != "{"


def test_parts_serve_any_judges(captions: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "items.jsonl"
    captions.write_text("a man on a red couch\n")
    with pytest.raises(UserError, match="left nothing"):
        perturb_file(captions, out, SETUP, refine=("frequency", "length"))
    monkeypatch.setattr(engine, "run_shard", lambda *_: pytest.fail("done again"))
    perturb_file(captions, out, SETUP)


def test_nothing_made_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "c.txt").write_text("12\n")
    with pytest.raises(UserError, match="none of the 1 captions"):
        perturb_file(tmp_path / "c.txt", tmp_path / "items.jsonl", SETUP)
    assert [path.name for path in tmp_path.iterdir()] == ["c.txt"]


def test_what_the_recipe_refuses_is_counted_with_its_reason(captions: Path, tmp_path: Path) -> None:
    captions.write_text(LINES + "é\u00e8\u00e0\u00f9 \u00ea\u00ee\n")  # Latin, but hardly English
    report = perturb_file(captions, tmp_path / "items.jsonl", SETUP)
    assert report["nothing"] == 0 and sum(report["refused"].values()) == 1
    assert report["refused_at"][0][0] == "caption 7"


SLOW = """
import sys, time
from equipoise.perturb.run import engine
from equipoise.perturb.recipes import Setup

def slow(*_):
    time.sleep(60)

if __name__ == "__main__":
    engine.run_shard = slow
    engine.perturb_file(sys.argv[1], sys.argv[2], Setup("hard_positives_rules"), workers=2, shard=1)
"""


@pytest.mark.slow
@pytest.mark.parametrize("moment", [0.0, 0.5])
def test_ctrl_c_waits_for_no_shard(captions: Path, tmp_path: Path, moment: float) -> None:
    (tmp_path / "slow.py").write_text(SLOW)
    run = subprocess.Popen(
        [sys.executable, tmp_path / "slow.py", captions, tmp_path / "items.jsonl"],
        stderr=subprocess.PIPE,
        start_new_session=True,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    deadline = time.monotonic() + 30
    while not Parts(tmp_path / "items.jsonl").manifest.is_file() and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(moment)  # while workers start, and while they work
    begin = time.monotonic()
    os.killpg(run.pid, signal.SIGINT)
    _, said = run.communicate(timeout=30)
    assert time.monotonic() - begin < 10
    assert run.returncode in {1, -signal.SIGINT}
    chained = said.count("During handling of")  # the signal may come within an `except` of what is imported
    assert said.count("Traceback") - chained == 1, said


@pytest.mark.slow
def test_ctrl_c_says_what_is_kept(captions: Path, tmp_path: Path) -> None:
    captions.write_text(LINES * 2_000)
    out, quick = tmp_path / "items.jsonl", ("--recipe", "hard_positives_rules")
    run = subprocess.Popen(
        [sys.executable, "-c", "from equipoise.cli import main; main()", "perturb", captions, "--out", out, *quick],
        stderr=subprocess.PIPE,
        start_new_session=True,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    deadline = time.monotonic() + 30
    while not list(Parts(out).folder.glob("0*.json")) and time.monotonic() < deadline:
        time.sleep(0.01)
    os.killpg(run.pid, signal.SIGINT)
    _, said = run.communicate(timeout=30)
    assert run.returncode == 130
    assert "finished work is kept" in said and "Traceback" not in said


@pytest.mark.slow
def test_a_script_without_a_guard_is_told_so(captions: Path, tmp_path: Path) -> None:
    call: Any = (
        f"perturb_file({str(captions)!r}, {str(tmp_path / 'items.jsonl')!r}, Setup('balanced'), workers=2, shard=1)"
    )
    (tmp_path / "script.py").write_text(f"from equipoise.perturb import Setup, perturb_file\n{call}\n")
    run = subprocess.run([sys.executable, tmp_path / "script.py"], capture_output=True, text=True, timeout=60)
    assert run.returncode == 1 and "__main__" in run.stderr.splitlines()[-1]
