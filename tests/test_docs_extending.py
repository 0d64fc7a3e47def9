"""docs/extending.md: its files, written as they stand there, do what it says they do."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

DOCS = Path(__file__).resolve().parents[1] / "docs" / "extending.md"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for code in re.findall(r"(?s)```python\n(.*?)```", DOCS.read_text()):
        (tmp_path / code.split()[1]).write_text(code)
    (tmp_path / "photos").mkdir()
    rows = []
    for number, colour in enumerate(("red", "blue", "blue")):
        Image.fromarray(np.full((8, 8, 3), 40 * number + 1, np.uint8)).save(tmp_path / "photos" / f"{number}.png")
        rows.append({"image": f"{number}.png", "caption": f"a {colour} square", "foil": "a dog", "colour": colour})
    (tmp_path / "test.json").write_text(json.dumps(rows))
    (tmp_path / "captions.txt").write_text("a dog on a bench\n")
    return tmp_path


def test_its_commands_run(folder: Path) -> None:
    commands = re.findall(r"(?m)^    equipoise (.*)$", DOCS.read_text())
    assert len(commands) == 4
    printed = []
    for command in [*commands, "eval py:mymodel:Model --bench squares.jsonl --data photos --out again"]:
        code = "import sys; sys.path = [p for p in sys.path if p]; from equipoise.cli import main; main()"
        done = subprocess.run(
            [sys.executable, "-c", code, *command.split()],
            cwd=folder,
            env={**os.environ, "EQUIPOISE_CACHE": str(folder / "cache")},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, (command, done.stderr)
        printed.append(done.stdout)
    assert "Squares: caption against foil" in printed[0] and "squares.jsonl.benchmark.json" in printed[2]
    assert "a photo of a dog" in (folder / "items.jsonl").read_text()
    result = json.loads((folder / "again" / "squares" / "result.json").read_text())
    assert result["metrics"]["macro"]["over"] == ["colour"]
