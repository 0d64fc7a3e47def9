"""What ends in exit code 2, and what never reaches a terminal or a spreadsheet."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from equipoise.core.errors import UserError, printable, reading
from equipoise.world.splits import make_world


def command(*arguments: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "equipoise", *map(str, arguments)]
    return subprocess.run(line, capture_output=True, text=True, cwd=cwd)


def test_printable() -> None:
    assert printable("a\x1b[31m\u202eb\n") == "a\\x1b[31m\\u202eb\\n"
    assert printable("a\nb\x9b", lines=True) == "a\nb\\x9b"


@pytest.mark.slow
def test_escape_codes_and_formulas_in_tags(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    tag = "\\u001b[31m<b>[x](javascript:1)|"
    path.write_text(
        f'{{"id": "1", "caption": 0.2, "negatives": [0.1], "tags": {{"=cmd()": "{tag}"}}}}\n'
        '{"id": "2", "caption": 0.2, "negatives": [0.1], "tags": {"=cmd()": "b"}}\n'
    )
    for form in ("text", "md", "csv", "latex", "json"):
        assert "\x1b" not in command("metrics", path, "--format", form).stdout
    assert "&lt;b&gt;[x]\\(javascript:1)\\|" in command("metrics", path, "--format", "md").stdout
    assert "\n'=cmd()" in command("metrics", path, "--format", "csv").stdout.replace('"', "")


def test_an_error_message_cannot_steer_the_terminal(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text('{"id": "\\u001b[31m", "caption": 0.2, "negatives": [0.1]}\n' * 2)
    found = command("metrics", path)
    assert found.returncode == 2 and "\x1b" not in found.stderr


def test_a_models_own_exception_ends_with_its_line(tmp_path: Path) -> None:
    items = make_world(4, 0, tmp_path / "world")
    (tmp_path / "mine.py").write_text(
        "class Model:\n"
        "    def embed_images(self, images):\n"
        "        return {}['nothing here']\n"
        "    def embed_texts(self, texts):\n"
        "        return [[1.0, 0.0] for _ in texts]\n"
    )
    evaluate = ("eval", "py:mine:Model", "--bench", items, "--images", tmp_path / "world")
    for more, code in (((), 1), (("--skip-preflight",), 2)):  # a check that is wrong, or scoring that fails
        found = command(*evaluate, *more, cwd=tmp_path)
        assert found.returncode == code, found.stderr
        assert "mine.py, line 3" in found.stderr and "nothing here" in found.stderr


def test_a_link_to_itself(tmp_path: Path) -> None:
    (tmp_path / "loop.jsonl").symlink_to("loop.jsonl")
    (tmp_path / "c.txt").write_text("a red dog on the grass\n")
    assert command("metrics", tmp_path / "loop.jsonl").returncode == 2
    assert command("perturb", tmp_path / "c.txt", "--out", tmp_path / "loop.jsonl").returncode == 2


def test_memory_that_runs_out_names_the_file() -> None:
    with pytest.raises(UserError, match=r"big\.json: not enough memory"), reading("big.json"):
        raise MemoryError
