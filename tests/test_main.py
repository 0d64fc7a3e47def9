"""`python -m equipoise`, alone and as the two processes of a torchrun."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from equipoise.world.splits import make_world


def test_python_m_equipoise() -> None:
    found = subprocess.run([sys.executable, "-m", "equipoise", "--help"], capture_output=True, text=True, check=True)
    assert "train" in found.stdout and "eval" in found.stdout


@pytest.mark.slow
@pytest.mark.long
def test_torchrun_m_equipoise_train(tmp_path: Path) -> None:
    items = make_world(16, 0, tmp_path / "world")
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    command = ["-m", "equipoise", "train", "hard_positives_kamath_2024", "--quick"]
    command += ["--set", "max_steps=2", "--set", "batch_size=8", "--items", str(items)]
    command += ["--images", str(tmp_path / "world"), "--model", "world", "--out", str(tmp_path / "run")]
    found = subprocess.run(
        [*torchrun, *command, "--device", "cpu"],
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert found.returncode == 0, found.stderr
    assert found.stdout.count("the model is") == 1  # of two processes one speaks
    log = [json.loads(line) for line in (tmp_path / "run" / "log.jsonl").read_text().splitlines()]
    assert [record["step"] for record in log] == [1, 2]
    assert (tmp_path / "run" / "model" / "model.safetensors").exists()
