"""--log tensorboard and --log wandb get every row of log.jsonl."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from equipoise.core.errors import UserError
from equipoise.evaluation.record import Interval, Number
from equipoise.train.losses.clip import clip_loss
from equipoise.train.recipe import Recipe
from equipoise.train.run import log as loggers
from equipoise.train.run.log import read_log
from equipoise.train.run.loop import Evaluation, Saving, train

RECIPE = Recipe(name="test", citation="", terms={"clip": (1.0, clip_loss)}, batch_size=6, max_steps=3, lr=1e-3)
JUDGED = Evaluation(lambda model: {"augmented": Number(value=0.5, interval=Interval(0.4, 0.6), n=40), "own": 2.0})


@pytest.fixture
def run(tiny_model, tiny_items, tmp_path):
    def run(log: str, out: str = "out", evaluation: Evaluation | None = JUDGED) -> Path:
        saving, images = Saving(log=[log]), tmp_path / "images"
        train(RECIPE, tiny_items(), tiny_model(), tmp_path / out, images=images, saving=saving, show=False,
              evaluation=evaluation)  # fmt: skip
        return tmp_path / out

    return run


def test_a_logger_gets_every_row_of_the_log_and_is_closed(run, monkeypatch):
    rows: list[Any] = []

    class Kept:
        def __init__(self, out: Path, step: int, identity: Any) -> None:
            rows.append((out.name, step, identity["recipe"]))

        def row(self, record: Any) -> None:
            rows.append(json.loads(json.dumps(record)))

        def close(self) -> None:
            rows.append("closed")

    monkeypatch.setitem(loggers.LOGGERS, "tensorboard", Kept)
    monkeypatch.setattr(loggers, "find_spec", lambda name: SimpleNamespace(origin="wandb"))
    log = read_log(run("tensorboard"))
    assert rows == [("out", 0, "test"), *log, "closed"]
    assert [row["step"] for row in log] == [0, 1, 2, 3, 3]
    assert all(row["gradient_norm"] > 0 for row in log if "loss" in row)  # also where nothing is clipped
    assert log[0]["intervals"] == {"augmented": [0.4, 0.6]} and log[0]["n"] == {"augmented": 40}
    assert log[0]["metrics"] == {"augmented": 0.5, "own": 2.0}


def test_the_logged_gradient_norm_is_that_of_the_clipped_run(run, tiny_items, tiny_model, tmp_path):
    """Clipping at a bound that is never reached measures the same norm."""
    norms = []
    for clip in (None, 1e9):
        out = tmp_path / f"clip-{clip}"
        train(replace(RECIPE, grad_clip=clip), tiny_items(), tiny_model(), out, images=tmp_path / "images", show=False)
        norms.append([row["gradient_norm"] for row in read_log(out)])
    assert norms[0] == norms[1]


@pytest.mark.parametrize(
    ("name", "part"),
    [("tensorbord", "Did you mean tensorboard"), ("wandb", "pip install 'equipoise[wandb]'")],
)
def test_an_unknown_or_missing_logger_is_refused_with_its_install_line(name, part, monkeypatch):
    monkeypatch.setattr(loggers, "find_spec", lambda name: None)
    with pytest.raises(UserError) as refused:
        Saving(log=[name])
    assert part in str(refused.value)


def test_numbers_are_named_by_their_place():
    record = {"step": 3, "loss": 1.0, "parts": {"itc": 2.0}, "intervals": {"augmented": [0.1, 0.2]}}
    expected = {"loss": 1.0, "parts/itc": 2.0, "intervals/augmented_low": 0.1, "intervals/augmented_high": 0.2}
    assert loggers.flat(record) == expected


def test_tensorboard_reads_what_was_written(run):
    events = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator", reason="make test-extras")
    out = run("tensorboard")
    found = events.EventAccumulator(str(out / "tensorboard")).Reload()
    losses = {one.step: one.value for one in found.Scalars("loss")}
    assert losses == pytest.approx({row["step"]: row["loss"] for row in read_log(out) if "loss" in row})
    assert [one.value for one in found.Scalars("metrics/augmented")] == [0.5, 0.5]


def test_wandb_works_offline(run, monkeypatch):
    pytest.importorskip("wandb", reason="make test-extras")
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_SILENT", "true")
    out = run("wandb")
    (file,) = (out / "wandb").glob("offline-run-*/run-*.wandb")
    written = file.read_bytes()
    assert b"metrics/augmented" in written and b"parts/clip" in written and b"gradient_norm" in written


def test_the_folder_that_wandb_leaves_is_no_package(monkeypatch):
    monkeypatch.setattr(loggers, "find_spec", lambda name: ModuleSpec(name, None, is_package=True))
    with pytest.raises(UserError, match="not installed"):
        Saving(log=["wandb"])
