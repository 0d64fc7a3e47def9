"""Every verb that writes, through a full disk, a kill and a short write; then the same command ends undisturbed."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.faults import KINDS

from equipoise.core.progress import STATUS
from equipoise.world.splits import make_world

AT = (1, 3)  # of the writes; more of them: FAULTS=1,2,3,4,5,6,7,8,9
NUMBERS = tuple(map(int, os.environ["FAULTS"].split(","))) if "FAULTS" in os.environ else AT
WORLD = "--items {items} --images {world} --model world --quick"
VERBS = {  # what is written below {out}, and the files that must come out the same
    "perturb": ("perturb {captions} --out {out}/x.jsonl", ["x.jsonl"]),
    "eval": ("eval world --bench {items} --images {world} --out {out}/run --no-cache", ["*/*/items.jsonl"]),
    "bench build world": ("bench build world --limit 6 --out {out}/world", ["world/*"]),
    "bench build": ("bench build {table} --out {out}/x.jsonl", ["x.jsonl"]),
    "train": (
        f"train hard_positives_kamath_2024 {WORLD} --set max_steps=2 --set batch_size=4 --device cpu --out {{out}}/t",
        ["t/model/model.safetensors"],
    ),
    "metrics": ("metrics {scores} --json", []),
    "compare": ("compare {run} {run} --json", []),
    "study make": ("study make {items} --images {world} --n 4 --out {out}/s", ["s/study.json", "s/images/*"]),
    "report --to": ("report {run} --to every-eval-ever --out {out}/x", ["x/data/*/*/*/[0-9a-f]*"]),
}


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("inputs")
    (folder / "captions.txt").write_text("a red dog sits on the green grass\na man holds a large blue ball\n" * 20)
    (folder / "table.csv").write_text("image,caption,negative\na.jpg,a dog,a cat\n")
    (folder / "scores.jsonl").write_text('{"id": "1", "caption": 0.2, "negatives": [0.1]}\n')
    items = make_world(8, 0, folder / "world")
    given = {"captions": folder / "captions.txt", "table": folder / "table.csv", "scores": folder / "scores.jsonl"}
    given |= {"world": folder / "world", "items": items, "run": folder / "run"}
    assert (
        command("none", 0, "eval world --bench {items} --images {world} --out {run} --no-cache", given).returncode == 0
    )
    return given


def command(kind: str, at: int, line: str, given: dict[str, Path]) -> subprocess.CompletedProcess[str]:
    words = [word.format(**given) for word in line.split()]
    program = [sys.executable, str(Path(__file__).with_name("faults.py")), kind, str(at)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.run([*program, *words], capture_output=True, text=True, env=environment)


def hashes(out: Path, patterns: list[str]) -> dict[str, str]:
    named = (path for pattern in patterns for path in out.glob(pattern) if path.is_file())
    found = sorted(path for path in named if STATUS not in path.name)  # which has times
    return {str(path.relative_to(out)): hashlib.sha256(path.read_bytes()).hexdigest() for path in found}


@pytest.mark.faults
@pytest.mark.parametrize("verb", VERBS)
def test_a_fault_and_then_the_same_command(verb: str, inputs: dict[str, Path], tmp_path: Path) -> None:
    line, patterns = VERBS[verb]
    whole = command("none", 0, line, inputs | {"out": tmp_path / "whole"})
    assert whole.returncode == 0, whole.stderr
    expected = hashes(tmp_path / "whole", patterns)
    assert bool(expected) == bool(patterns)
    for kind in KINDS if patterns else KINDS[:1]:
        for at in NUMBERS:
            out = tmp_path / f"{kind}{at}"
            broken = command(kind, at, line, inputs | {"out": out})
            assert broken.returncode in {0, 2, -9}, broken.stderr  # never "a bug"
            assert "Traceback" not in broken.stderr
            again = command("none", 0, line, inputs | {"out": out})
            assert again.returncode == 0, again.stderr
            assert hashes(out, patterns) == expected
