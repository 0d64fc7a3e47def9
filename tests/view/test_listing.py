"""The list: every state of a run, what is hidden behind results, and files that are no records."""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.view.conftest import copies, put_status, put_training

from equipoise.core import progress as status
from equipoise.view.listing import FRESH, Listing, Row
from equipoise.view.pages import Views

Runs = Callable[..., list[Path]]


def rows_of(root: Path) -> dict[str, Row]:
    return {row.name: row for row in Listing(root).rows()}


def test_every_state(tmp_path: Path, make_runs: Runs) -> None:
    make_runs(count=16)
    put_status(tmp_path / "runs" / "now", "running", bars=[bar(done=3)])
    put_status(tmp_path / "runs" / "bad", "failed", error="captions.csv, line 3: no caption")
    put_status(tmp_path / "runs" / "dead", "running", host=socket.gethostname())
    put_status(tmp_path / "runs" / "silent", "running", updated=time.time() - 61)
    put_status(tmp_path / "runs" / "first", "finished")  # its results tell more
    (tmp_path / "runs" / f".items.jsonl{status.STATUS}").write_text(
        (tmp_path / f"runs/bad/{status.STATUS}").read_text()
    )
    put_training(tmp_path / "training" / "going", 25)
    put_status(tmp_path / "training" / "going", "running", verb="train", bars=[bar(what="training", done=25)])
    put_training(tmp_path / "training" / "over", 25)
    (tmp_path / "training" / "over" / "model").mkdir()
    put_status(tmp_path / "training" / "over", "failed", error="of a later command")
    rows = rows_of(tmp_path)
    assert {name: row.state for name, row in rows.items()} == {
        "runs/first/made": "finished",
        "runs/second/made": "finished",
        "runs/now": "running",
        "runs/bad": "failed",
        "runs/items.jsonl": "failed",
        "runs/dead": "killed",
        "runs/silent": "killed",
        "training/going": "running",
        "training/over": "finished",
    }
    assert [row.state for row in Listing(tmp_path).rows()][:2] == ["running", "running"]
    assert rows["runs/bad"].error == "captions.csv, line 3: no caption" and "killed" in rows["runs/dead"].error
    assert rows["runs/now"].bars[0]["done"] == 3 and rows["runs/now"].began is not None
    first = rows["runs/first/made"]
    assert (first.what, first.bench, first.n) == ("py:first", "made", 16)
    assert first.numbers[0][0] == "Original accuracy" and first.numbers[0][1].startswith("50.0 [")
    going = rows["training/going"]
    assert (going.what, going.step, going.bars[0]["what"]) == ("hn_only", 25, "training")


def bar(**fields: Any) -> dict[str, Any]:
    return {"what": "images", "done": 1, "total": 40, "unit": "images", "rate": 2.0} | fields


def test_it_follows_the_folder(tmp_path: Path) -> None:
    listing = Listing(tmp_path)
    assert listing.rows() == []
    put_training(tmp_path / "a", 10)
    assert [row.step for row in listing.rows()] == [10]
    old = time.time() - 2 * FRESH / 1e9
    os.utime(tmp_path / "a", (old, old))  # so that its entries are kept
    listing.rows()
    put_training(tmp_path / "a", 20, first=11)
    with (tmp_path / "a" / "log.jsonl").open("a") as log:
        log.write('{"step": 21, "loss"')  # being written
    assert [row.step for row in listing.rows()] == [20]
    put_status(tmp_path / "a" / "b", "failed", error="no")
    assert {row.state for row in listing.rows()} == {"failed", "stopped"}


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{", "[" * 100_000, "null", '{"metrics": 3}', '{"metrics": {"overall": {}}}', "\0", '{"a":1,"a":2}',
     '{"metrics": {"overall": {"n": 1e999, "ties": 0, "metrics": {}}}}'],
)  # fmt: skip
def test_a_file_that_is_no_record_is_a_row(tmp_path: Path, text: str) -> None:
    for name in ("result.json", status.STATUS):
        (tmp_path / name).write_text(text)
    put_training(tmp_path, 1)
    (tmp_path / "log.jsonl").write_text(f"{text}\n")
    found = {row.at: row for row in Listing(tmp_path).rows()}
    assert found["result.json"].state == found[status.STATUS].state == "unreadable"
    assert found["result.json"].error and found["log.jsonl"].step == 0
    json.dumps([row.value() for row in found.values()], allow_nan=False)


def test_links_and_pipes_are_not_read(tmp_path: Path, make_runs: Runs) -> None:
    (first, second) = make_runs(count=16)
    root = tmp_path / "root"
    (root / "a").mkdir(parents=True)
    (root / "folder").symlink_to(first, target_is_directory=True)
    (root / "a" / "result.json").symlink_to(second / "made" / "result.json")
    os.mkfifo(root / f"x{status.STATUS}")
    assert Listing(root).rows() == []


@pytest.mark.slow
def test_500_runs_in_two_seconds(tmp_path: Path, make_runs: Runs) -> None:
    (run,) = make_runs(count=16, models=["only"])
    copies(run / "made", tmp_path / "many", 500)
    listing = Listing(tmp_path / "many")
    began = time.process_time()
    assert len(listing.rows()) == 500
    first, began = time.process_time() - began, time.process_time()
    listing.rows()
    again = time.process_time() - began
    print(f"500 runs: {first:.2f} s, again {again:.3f} s")
    assert first < 2 and again < 0.4


def test_export_is_one_page(tmp_path: Path, make_runs: Runs) -> None:
    make_runs(count=16)
    Views(tmp_path).export(tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    assert "runs/first/made" in text and "connect-src" not in text and '"frozen":true' in text


def test_a_name_that_is_no_text_and_a_time_that_no_browser_shows(tmp_path: Path) -> None:
    put_training(tmp_path / "odd\udcff", 3)
    put_status(tmp_path / "late", "failed", updated=1e300)
    found = Views(tmp_path).changes("")["rows"]
    assert [(row["name"], row["state"]) for row in found] == [("late", "unreadable"), ("odd?", "stopped")]
