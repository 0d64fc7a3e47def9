"""An object that a notebook changed in place is read again: the numbers are those of a fresh process.

`pytest -s tests/api/test_notebook_life.py` prints the table.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.api.notebook_life import CASES, call

import equipoise as eq

ROOT = Path(__file__).resolve().parents[2]
TABLE: list[str] = []
pytestmark = pytest.mark.slow  # half a minute; tests/data/test_objects.py is quick


@pytest.fixture(scope="module")
def truth(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("fresh")
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
    command = [sys.executable, "-m", "tests.api.notebook_life", str(folder)]
    found = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr[-3000:]
    numbers: dict[str, Any] = json.loads(found.stdout.splitlines()[-1])
    return numbers


@pytest.fixture(scope="module", autouse=True)
def _printed() -> Iterator[None]:
    yield
    print(f"\n| changed in place | without out | with the same out | as in a fresh process |\n{'| --- ' * 4}|")
    print("\n".join(TABLE))


@pytest.mark.parametrize("name", CASES)
def test_a_change_is_seen(name: str, truth: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EQUIPOISE_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    life = CASES[name](tmp_path)
    asked = next(life)
    first = call(asked, None)
    assert call(asked, tmp_path / "out") == first
    if "open file" not in name:  # what did not change is read, not refused
        assert call(asked, tmp_path / "out") == first
    changed = next(life)
    seen = {}
    for out in (None, tmp_path / "out"):
        try:
            seen[out] = call(changed, out)
        except eq.UserError as error:
            assert "holds another run" in str(error), error
            seen[out] = None
    elsewhere = call(changed, tmp_path / "other")
    words = ["refused" if value is None else "computed" for value in seen.values()]
    same = all(value in (None, truth[name]) for value in seen.values()) and elsewhere == truth[name]
    TABLE.append(f"| {name} | {words[0]} | {words[1]} | {'yes' if same else 'NO'} |")
    assert first != truth[name], "the change must show in a number"
    assert same
    assert name.startswith("train") or words[0] == "computed"
