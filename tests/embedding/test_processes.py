"""Two processes of a torchrun come to the bytes that one process comes to."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from equipoise.data.items import ImageRef, Item, texts, write_items
from equipoise.embedding.cache import Ranks

EVAL = ["-m", "equipoise", "eval", "world", "--bench", "items.jsonl", "--images", "photos", "--device", "cpu"]
TWO = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]


@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_shares_are_all_and_nothing_twice(count: int) -> None:
    values = list("abcde")
    assert [value for number in range(count) for value in Ranks(number, count).share(values)] == values


@pytest.mark.slow
@pytest.mark.long
def test_two_processes_find_what_one_finds(tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    for index in range(40):
        pixels = np.random.default_rng(index % 35).integers(0, 255, (6, 8, 3), dtype=np.uint8)  # five are there twice
        Image.fromarray(pixels).resize((80, 60)).save(tmp_path / "photos" / f"{index}.png")
    (tmp_path / "photos" / "17.png").write_bytes(b"no picture")
    words = "a red blue small large circle square left right of above below the two three".split()
    rng = np.random.default_rng(0)
    items = [
        Item(
            id=str(index),
            image=ImageRef(path=f"{index % 40}.png", box=(3.0, 3.0, 40.0, 30.0) if index % 7 == 0 else None),
            caption=" ".join(rng.choice(words, 5)),
            positives=texts(" ".join(rng.choice(words, 6))),
            negatives=texts(*(" ".join(rng.choice(words, 5)) for _ in range(1 + index % 2))),
            negative_images=(ImageRef(path=f"{(index + 16) % 40}.png"),) if index % 10 == 1 else (),
        )
        for index in range(120)
    ]
    write_items(tmp_path / "items.jsonl", items)
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    found = []
    for name, launcher in (("one", []), ("two", TWO)):
        command = [sys.executable, *launcher, *EVAL, "--allow-missing", "--cache", f"{name}-cache", "--out", name]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        folder = tmp_path / name / "items"
        record = json.loads((folder / "result.json").read_text())
        found.append(((folder / "items.jsonl").read_bytes(), record, done.stdout))
    (rows, record, out), (again, second, said) = found
    assert again == rows and said == out
    for part in ("metrics", "n", "skipped", "images", "benchmark", "model", "settings", "counts"):
        assert second[part] == record[part], part
    assert record["n"]["skipped"] == 6 and record["metrics"]["overall"]["metrics"]["image_original"]["n"] == 9
    assert record["counts"]["images_encoded"] < 60
    # The same command again reads the finished run, in both processes.
    command = [sys.executable, *TWO, *EVAL, "--allow-missing", "--cache", "two-cache", "--out", "two"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0 and "not computed" in done.stderr and done.stdout == out
