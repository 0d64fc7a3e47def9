"""The engine: the same bytes for any number of workers and after any kill; a reason for everything left out."""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import typer
from threadpoolctl import threadpool_info, threadpool_limits
from typer.testing import CliRunner

from equipoise.cli.perturb import describe, perturb
from equipoise.core.errors import OtherRun, UserError
from equipoise.data.items import load_items
from equipoise.data.readers.captions.groups import read_captions
from equipoise.perturb.recipes import Setup
from equipoise.perturb.run import shards
from equipoise.perturb.run.counts import reason_class
from equipoise.perturb.run.engine import perturb_file, report_path, sample_items
from equipoise.perturb.run.shards import Parts, shards_of

SUBJECTS = ("a man", "a woman", "two dogs", "a cat and a dog", "a young boy", "three sheep", "a couple of people")
ACTIONS = ("sitting on", "standing next to", "walking near", "lying under", "running behind")
PLACES = ("a red bench", "a big table", "the couch and the lamp", "a wooden fence", "a motorcycle", "a white car")
CAPTIONS = [" ".join(parts) for parts in product(SUBJECTS, ACTIONS, PLACES)]
SETUP = Setup("hard_positives_rules", seed=3)
RUN = """
import sys
from equipoise.perturb.run.engine import perturb_file
from equipoise.perturb.recipes import Setup
if __name__ == "__main__":
    perturb_file(sys.argv[1], sys.argv[2], Setup("hard_positives_rules", seed=3), workers=int(sys.argv[3]), shard=15)
"""


@pytest.fixture(scope="module")
def captions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("captions") / "captions.csv"
    path.write_text("image,caption\n" + "".join(f"{place // 3}.jpg,{text}\n" for place, text in enumerate(CAPTIONS)))
    return path


@pytest.fixture(scope="module")
def whole(captions: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, dict[str, Any]]:
    """The files of an undisturbed run."""
    out = tmp_path_factory.mktemp("whole") / "items.jsonl"
    return (perturb_file(captions, out, SETUP, shard=15) and out.read_bytes()), json.loads(report_path(out).read_text())


def test_output_is_items_with_their_images(captions: Path, whole: tuple[bytes, dict[str, Any]], tmp_path: Path) -> None:
    (tmp_path / "items.jsonl").write_bytes(whole[0])
    items = load_items(tmp_path / "items.jsonl")
    assert len(items) == whole[1]["items"] > 0.9 * len(CAPTIONS)
    for item in items:
        assert item.caption == CAPTIONS[int(item.id)]
        assert item.image is not None and item.image.path == f"{int(item.id) // 3}.jpg"
        assert item.positives and all(text.edit is not None for text in item.positives)


@pytest.mark.parametrize("shard", [1, 1000])
def test_shards_of_any_size_give_the_same_bytes(
    captions: Path, whole: tuple[bytes, dict[str, Any]], tmp_path: Path, shard: int
) -> None:
    perturb_file(captions, tmp_path / "items.jsonl", SETUP, shard=shard)
    assert (tmp_path / "items.jsonl").read_bytes() == whole[0]


@pytest.mark.slow
def test_two_workers_give_the_same_bytes(captions: Path, whole: tuple[bytes, dict[str, Any]], tmp_path: Path) -> None:
    report = perturb_file(captions, tmp_path / "items.jsonl", SETUP, workers=2, shard=15)
    assert (tmp_path / "items.jsonl").read_bytes() == whole[0]
    assert {name: value for name, value in report.items() if name != "seconds"} == {
        name: value for name, value in whole[1].items() if name != "seconds"
    }
    assert sorted(path.name for path in tmp_path.iterdir()) == ["items.jsonl", "items.jsonl.report.json"]


def test_another_seed_gives_other_items(captions: Path, whole: tuple[bytes, dict[str, Any]], tmp_path: Path) -> None:
    perturb_file(captions, tmp_path / "items.jsonl", Setup("hard_positives_rules", seed=4), shard=1000)
    assert (tmp_path / "items.jsonl").read_bytes() != whole[0]


@pytest.mark.slow
def test_killed_at_random_moments(captions: Path, whole: tuple[bytes, dict[str, Any]], tmp_path: Path) -> None:
    out, parts = tmp_path / "items.jsonl", Parts(tmp_path / "items.jsonl").folder
    rng, kills = random.Random(), 0
    for most in (1, 7):  # killed when so many shards are there, and a moment later
        run = subprocess.Popen(
            [sys.executable, "-c", RUN, str(captions), str(out), "1"], stderr=subprocess.DEVNULL, start_new_session=True
        )
        while run.poll() is None and len(list(parts.glob("*[0-9].json"))) < most:
            time.sleep(0.002)
        time.sleep(rng.random() * 0.03)
        if run.poll() is None:
            os.kill(run.pid, signal.SIGKILL)
            kills += 1
        run.wait()
        assert out.exists() == (run.returncode == 0), "an output that is not whole must not have its name"
    assert kills >= 1
    perturb_file(captions, out, SETUP, shard=15)
    assert out.read_bytes() == whole[0]
    assert not parts.exists()


@pytest.mark.slow
def test_workers_leave_when_the_main_process_is_killed(captions: Path, tmp_path: Path) -> None:
    out = tmp_path / "items.jsonl"
    run = subprocess.Popen([sys.executable, "-c", RUN, str(captions), str(out), "2"], stderr=subprocess.DEVNULL)
    workers, deadline = [], time.monotonic() + 30
    while run.poll() is None and time.monotonic() < deadline:
        workers = children(run.pid)  # two, and Python's resource tracker
        if len(workers) > 2 and list(Parts(out).folder.glob("*.jsonl")):
            break
        time.sleep(0.005)
    assert run.poll() is None and len(workers) > 2
    os.kill(run.pid, signal.SIGKILL)
    run.wait()
    deadline = time.monotonic() + 30  # a busy machine may need most of the first one to start them
    while time.monotonic() < deadline and any(map(alive, workers)):
        time.sleep(0.02)
    assert not any(map(alive, workers))


def alive(number: int) -> bool:
    try:
        return Path(f"/proc/{number}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def children(parent: int) -> list[int]:
    if not Path("/proc/self/task").exists():
        pytest.skip("needs /proc")
    try:
        return [int(number) for number in Path(f"/proc/{parent}/task/{parent}/children").read_text().split()]
    except OSError:
        return []


def test_finished_shards_are_not_done_again(
    captions: Path, whole: tuple[bytes, dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, real, done = tmp_path / "items.jsonl", shards._perturb, []

    def stops(recipe: Any, seed: int, group: Any, record: Any) -> Any:
        if len(done) == 40:
            raise KeyboardInterrupt
        done.append(record.number)
        return real(recipe, seed, group, record)

    monkeypatch.setattr(shards, "_perturb", stops)
    with pytest.raises(KeyboardInterrupt):
        perturb_file(captions, out, SETUP, shard=15)
    assert not out.exists()
    done.clear()
    monkeypatch.setattr(shards, "_perturb", lambda *job: done.append(job[3].number) or real(*job))
    perturb_file(captions, out, SETUP, shard=15)
    assert min(done) == 30 and len(done) == len(CAPTIONS) - 30
    assert out.read_bytes() == whole[0]
    done.clear()
    perturb_file(captions, out, SETUP, shard=15)
    assert not done, "a finished run is not done again"


def test_a_damaged_part_is_written_again(captions: Path, whole: tuple[bytes, dict[str, Any]], tmp_path: Path) -> None:
    out = tmp_path / "items.jsonl"
    parts = Parts(out)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Parts, "join", lambda self, count: sys.exit(1))
        with pytest.raises(SystemExit):
            perturb_file(captions, out, SETUP, shard=15)
    damaged = parts.folder / "000002.jsonl"
    damaged.write_bytes(damaged.read_bytes()[:-20])
    perturb_file(captions, out, SETUP, shard=15)
    assert out.read_bytes() == whole[0]


def test_parts_of_another_run_are_never_mixed_in(captions: Path, tmp_path: Path) -> None:
    out = tmp_path / "items.jsonl"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Parts, "join", lambda self, count: sys.exit(1))
        with pytest.raises(SystemExit):
            perturb_file(captions, out, SETUP, shard=15)
    with pytest.raises(OtherRun, match=r"setup seed: there 3, here 9"):
        perturb_file(captions, out, Setup("hard_positives_rules", seed=9), shard=15)
    with pytest.raises(UserError, match=r"as it was then, here captions\.csv, which has"):
        (tmp_path / "captions.csv").write_text(captions.read_text() + "1.jpg,one more cat\n")
        perturb_file(tmp_path / "captions.csv", out, SETUP, shard=15)


def test_bad_captions_are_counted_and_the_rest_is_done(tmp_path: Path) -> None:
    lines = [
        b"a man on a couch",
        b"",
        b"x " * 5_000_000,
        b"a \x00 cat",
        "قطة على حصيرة".encode(),
        b"caf\xe9",
        "🐈".encode(),
    ]
    (tmp_path / "c.txt").write_bytes(b"\n".join([*lines, b"a boy near a motorcycle"]))
    report = perturb_file(tmp_path / "c.txt", tmp_path / "items.jsonl", SETUP)
    assert report["captions"] == 8 and report["items"] == 2
    assert sum(report["refused"].values()) == 6
    assert ["line 4", "control characters"] in report["refused_at"]
    printed = describe(report)
    assert "left out: control characters (first: line 4)" in printed and "not UTF-8" in printed


def test_a_bug_costs_one_caption_and_is_named(captions: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = shards.perturb_caption

    def fails(recipe: Any, caption: Any, seed: int) -> Any:
        if caption.text == CAPTIONS[5]:
            raise ZeroDivisionError
        return real(recipe, caption, seed)

    monkeypatch.setattr(shards, "perturb_caption", fails)
    report = perturb_file(captions, tmp_path / "items.jsonl", SETUP, limit=30)
    assert report["refused"] == {"a bug in the recipe (ZeroDivisionError)": 1}
    assert report["refused_at"] == [["caption 6", "a bug in the recipe (ZeroDivisionError)"]]
    assert len(load_items(tmp_path / "items.jsonl")) == report["items"]


def test_all_captions_of_an_image_are_known_to_the_checks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = {}
    real = shards.perturb_caption

    def watch(recipe: Any, caption: Any, seed: int) -> Any:
        seen[caption.text] = caption.others
        return real(recipe, caption, seed)

    monkeypatch.setattr(shards, "perturb_caption", watch)
    rows = [
        {"image": "a.jpg", "caption": ["a man on a couch", "a guy on a sofa"]},
        {"image": "b.jpg", "caption": "a dog"},
    ]
    (tmp_path / "c.json").write_text(json.dumps(rows))
    perturb_file(tmp_path / "c.json", tmp_path / "items.jsonl", SETUP, shard=1)
    assert seen["a man on a couch"] == ("a guy on a sofa",) and seen["a dog"] == ()


def test_nothing_made_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "c.txt").write_text("قطة\n12\n")
    with pytest.raises(UserError, match="none of the 2 captions"):
        perturb_file(tmp_path / "c.txt", tmp_path / "items.jsonl", SETUP)


def test_unknown_recipe_and_missing_server(captions: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="Did you mean balanced"):
        perturb_file(captions, tmp_path / "x.jsonl", Setup("balancd"))
    with pytest.raises(UserError, match="--llm URL"):
        perturb_file(captions, tmp_path / "x.jsonl", Setup("hard_positives_kamath_2024"))
    assert not list(tmp_path.iterdir())


def test_report_is_written_with_the_hash_of_the_output(whole: tuple[bytes, dict[str, Any]]) -> None:
    content, report = whole
    assert report["sha256"] == hashlib.sha256(content).hexdigest()
    assert report["captions"] == len(CAPTIONS)
    assert sum(report["edits"].values()) == content.count(b'"edit": {')
    assert report["separability"]["originals / positives"]["n"] > 100


@pytest.mark.slow
def test_refining_ends_in_a_file_that_loads(captions: Path, tmp_path: Path) -> None:
    out = tmp_path / "items.jsonl"
    report = perturb_file(captions, out, Setup("balanced"), refine=("words", "length"), shard=1000)
    items = load_items(out)
    assert len(items) == report["items"] == report["refined"]["items_after"]
    assert sum(len(item.negatives) for item in items) == report["refined"]["negatives_after"] > 0
    assert sum(report["edits"].values()) == sum(len(item.negatives) + len(item.positives) for item in items)
    left_out = report["nothing"] + sum(report["refused"].values())
    assert report["captions"] == report["refined"]["items_before"] + left_out
    assert report["refined"]["negatives_after"] < report["refined"]["negatives_before"]
    assert report["sha256"] == hashlib.sha256(out.read_bytes()).hexdigest()


def test_a_sample_is_spread_over_the_file(whole: tuple[bytes, dict[str, Any]], tmp_path: Path) -> None:
    (tmp_path / "items.jsonl").write_bytes(whole[0])
    count = whole[1]["items"]
    for most in (7, count - 1, count, count + 5):
        sample = [int(item.id) for item in sample_items(tmp_path / "items.jsonl", count, most)]
        assert len(sample) == min(most, count) and sample == sorted(sample)
        assert sample[-1] > 0.9 * len(CAPTIONS)


def command(*arguments: str) -> Any:
    app = typer.Typer(pretty_exceptions_enable=False)
    app.command()(perturb)
    return CliRunner().invoke(app, arguments, catch_exceptions=False)


def test_the_verb(captions: Path, tmp_path: Path) -> None:
    out = str(tmp_path / "items.jsonl")
    told = command(str(captions), "--recipe", "balanced", "--out", out, "--workers", "1", "--limit", "60").output
    assert "balanced:" in told and "which of two texts is the caption" in told and "against a negative (n = " in told
    read = json.loads(command(str(captions), "--recipe", "balanced", "--out", out, "--limit", "60", "--json").stdout)
    assert read["items"] == len(load_items(out))
    assert "hard_positives_kamath_2024\n" in command("--list").output
    for wrong in (
        ["--out", out],
        [str(captions), "--out", out, "--engine", "spark"],
        [str(captions), "--out", str(tmp_path)],
    ):
        with pytest.raises(UserError):
            command(*wrong)
    with pytest.raises(UserError, match="two judges"):
        command(str(captions), "--out", out, "--refine", "words")
    asking = ["--recipe", "hard_positives_kamath_2024", "--llm", "http://127.0.0.1:9/v1"]
    with pytest.raises(UserError, match="--llm-model"):
        command(str(captions), "--out", out, *asking)
    with pytest.raises(UserError, match="--masked-lm"):
        command(str(captions), "--out", out, *asking, "--llm-model", "tiny", "--masked-lm", "here")
    with pytest.raises(UserError, match="asks no language model"):
        command(str(captions), "--out", out, "--recipe", "swap_pairs", *asking[2:], "--llm-model", "tiny")


def test_an_image_is_never_cut_in_two(captions: Path) -> None:
    groups = [group for shard in shards_of(read_captions(captions), 4) for group in shard.groups]
    assert groups == list(read_captions(captions))
    assert all(shard.captions == 6 for shard in shards_of(read_captions(captions), 4))


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("'dog' is a synonym of 'hound'", "… is a synonym of"),
        ("wrong article: an dog", "wrong article"),
        ("8 words differ, more than 6", "N words differ, more than N"),
        ("the new word cannot be counted: 'wine'", "the new word cannot be counted"),
        ("unchanged", "unchanged"),
    ],
)
def test_reasons_are_counted_without_their_words(reason: str, expected: str) -> None:
    assert reason_class(reason) == expected


def test_a_shard_is_made_with_one_blas_thread(captions: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The judge's products are small: threads cost more than they save (bench/perturb.py)."""
    seen: list[int] = []
    work = shards._perturb_all

    def spied(*arguments: Any) -> Any:
        seen.extend(one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas")
        return work(*arguments)

    monkeypatch.setattr(shards, "_perturb_all", spied)
    with threadpool_limits(2, user_api="blas"):
        perturb_file(captions, tmp_path / "items.jsonl", SETUP, limit=3)
        after = {one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"}
    assert seen and set(seen) == {1} and after == {2}
