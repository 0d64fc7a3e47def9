"""A run killed at any step, and started again, ends with the weights of one that was not, to the bit."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from equipoise.train.losses.cmr import Cmr
from equipoise.train.losses.itc_hn import itc_hn
from equipoise.train.losses.svlc import svlc_analogy
from equipoise.train.recipe import Lora, Needs, Recipe, Slot
from equipoise.train.run.log import read_log
from equipoise.train.run.loop import Hardware, Saving, train

RECIPE = Recipe(
    terms={"itc": (1.0, itc_hn), "analogy": (1.0, svlc_analogy), "cmr": (0.4, Cmr(["a", "b"]))},
    needs=Needs(positive=Slot(), negatives=(Slot(), Slot()), distinct_images=True),
    batch_size=4,
    epochs=3,
    lr=1e-3,
)


def _killed(work, at_step: int, monkeypatch) -> None:
    """Run `work` in a child that dies by kill -9 right after so many steps (of this child) were taken."""

    def child() -> None:
        torch.set_num_threads(1)
        from equipoise.train.run import loop

        plain, taken = loop.backward, 0

        def counted(*arguments, **options):
            nonlocal taken
            if taken == at_step:
                os.kill(os.getpid(), signal.SIGKILL)
            taken += 1
            return plain(*arguments, **options)

        loop.backward = counted
        work()

    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    process.join(60)
    assert process.exitcode == -signal.SIGKILL


@pytest.mark.slow
@pytest.mark.parametrize("lora", [None, Lora(rank=2)])
def test_killed_runs_end_with_the_same_bits(tiny_model, tiny_items, tmp_path, monkeypatch, lora):
    recipe = replace(RECIPE, lora=lora, crop=(0.6, 1.0))
    items, images = tiny_items(22, per_image=2), tmp_path / "images"

    def run(out: str, **options) -> Path:
        options = {"saving": Saving(every=2), "show": False, **options}
        return train(recipe, items, tiny_model(), tmp_path / out, images=images, **options)

    whole = run("whole")
    steps = [record["step"] for record in read_log(tmp_path / "whole")]
    assert len(steps) > 8 and steps == sorted(set(steps))
    rng = random.Random(lora is None)
    for _ in range(3 if lora is None else 2):
        _killed(lambda: run("cut"), rng.randint(2, 4), monkeypatch)
        assert (tmp_path / "cut" / "latest").exists() and not (tmp_path / "cut" / "model").exists()
    cut = run("cut", hardware=Hardware(workers=1))
    for name, value in load_file(whole / "model.safetensors").items():
        assert torch.equal(load_file(cut / "model.safetensors")[name], value), name
    losses = [[(r["step"], r["loss"], r["parts"]) for r in read_log(tmp_path / out)] for out in ("whole", "cut")]
    assert losses[0] == losses[1]


def test_the_same_call_twice_gives_the_same_bytes(tiny_model, tiny_items, tmp_path):
    items, recipe = tiny_items(12), replace(RECIPE, max_steps=3)
    for out in ("a", "b"):
        train(recipe, items, tiny_model(), tmp_path / out, images=tmp_path / "images", show=False)
    files = {path.name for path in (tmp_path / "a" / "model").iterdir()}
    assert {"config.json", "model.safetensors", "tokenizer.json", "preprocessor_config.json", "README.md"} <= files
    for name in files:
        assert (tmp_path / "a" / "model" / name).read_bytes() == (tmp_path / "b" / "model" / name).read_bytes(), name


@pytest.mark.slow
@pytest.mark.parametrize("file", ["training_state.pt", "model.safetensors"])
def test_a_damaged_checkpoint_goes_back_to_the_one_before_it(
    tiny_model, tiny_items, tmp_path, monkeypatch, capsys, file
):
    items = tiny_items(12)

    def run(out: str) -> Path:
        recipe, options = replace(RECIPE, epochs=6, max_steps=6), {"saving": Saving(every=2), "show": False}
        return train(recipe, items, tiny_model(), tmp_path / out, images=tmp_path / "images", **options)

    whole = run("whole")
    _killed(lambda: run("cut"), 5, monkeypatch)
    newest = tmp_path / "cut" / "checkpoints" / "step-00000004" / file
    newest.write_bytes(newest.read_bytes()[:-200])
    cut = run("cut")
    assert "step-00000004: cannot be read" in capsys.readouterr().err
    assert (cut / "model.safetensors").read_bytes() == (whole / "model.safetensors").read_bytes()
    assert [record["step"] for record in read_log(tmp_path / "cut")] == [1, 2, 3, 4, 5, 6]
