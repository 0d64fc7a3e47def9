"""The trainer on the built-in world with its shipped model: killed and resumed, on two processes, with CE-CLIP."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from equipoise.models import load_model
from equipoise.models.clip import ClipModel
from equipoise.train.recipes import get_recipe
from equipoise.train.run.log import read_log
from equipoise.train.run.loop import Hardware, train
from equipoise.world.splits import DrawnImages, world_items

# Seven processes that each load torch and the model; test_resume.py and test_distributed.py ask the same of a tiny one.
slow = pytest.mark.slow

SCRIPT = """
import sys
from dataclasses import replace
from pathlib import Path
import torch
from equipoise.models import load_model
from equipoise.train.run.loop import train
from equipoise.train.run.loop import Hardware, Saving
from equipoise.train.recipes import get_recipe
from equipoise.world.splits import DrawnImages, world_items

torch.set_num_threads(1)
folder = Path(sys.argv[1])
recipe = replace(get_recipe("hard_positives_kamath_2024", quick=True), max_steps=24, batch_size=12)
items = list(world_items("finetune", 36))
train(recipe, items, load_model("world", device="cpu"), folder / sys.argv[2], images=DrawnImages(),
      hardware=Hardware(device="cpu"), saving=Saving(every=4), show=False)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the script and the run that nobody disturbed."""
    place = tmp_path_factory.mktemp("world")
    (place / "script.py").write_text(SCRIPT)
    subprocess.run([sys.executable, place / "script.py", place, "whole"], check=True)
    return place


@slow
@pytest.mark.long
def test_killed_in_mid_epoch_it_ends_with_the_same_bytes(folder: Path) -> None:
    command = [sys.executable, folder / "script.py", folder, "cut"]
    latest = folder / "cut" / "latest"
    for _ in range(2):
        before = latest.read_text() if latest.exists() else ""
        process = subprocess.Popen(command)
        while process.poll() is None:
            if latest.exists() and latest.read_text() != before:
                process.kill()
            time.sleep(0.005)
        assert process.returncode == -9
    assert not (folder / "cut" / "model").exists()
    subprocess.run(command, check=True)
    whole, cut = ((folder / name / "model" / "model.safetensors").read_bytes() for name in ("whole", "cut"))
    assert whole == cut


@slow
@pytest.mark.long
def test_two_processes_train_what_one_trains(folder: Path) -> None:
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    subprocess.run([*torchrun, folder / "script.py", folder, "two"], check=True, env=environment)
    losses = [[record["loss"] for record in read_log(folder / name)] for name in ("whole", "two")]
    assert len(losses[0]) == 24 and losses[1] == pytest.approx(losses[0], abs=1e-4)
    one, two = (load_file(folder / name / "model" / "model.safetensors") for name in ("whole", "two"))
    furthest = max(float((one[name] - two[name]).abs().max()) for name in one)
    assert furthest < 1e-3 and all(torch.isfinite(value).all() for value in two.values())


@pytest.mark.slow
@pytest.mark.parametrize(("split", "still"), [("finetune-actions", set()), ("finetune-objects", {"threshold_action"})])
def test_ce_clips_thresholds_move_where_the_items_have_their_type(tmp_path: Path, split: str, still: set[str]) -> None:
    """All four leave zero on finetune-actions: a type without negatives keeps its start."""
    base = load_model("world", device="cpu")
    assert isinstance(base, ClipModel)
    recipe = get_recipe("ce_clip_zhang_2024", max_steps=3, batch_size=40, lr=3e-4, warmup_steps=0)
    items = list(world_items(split, 120))
    train(recipe, items, base, tmp_path / "run", images=DrawnImages(), hardware=Hardware(device="cpu"), show=False)
    steps = [record["parts"] for record in read_log(tmp_path / "run")]
    highest = {name: max(parts[name] for parts in steps) for name in steps[0] if name.startswith("threshold_")}
    assert len(highest) == 4 and all(steps[0][name] == 0 for name in highest)
    assert {name for name, value in highest.items() if value == 0} == still, highest
