"""Errors that end in exit code 2, and text that never reaches a terminal or a spreadsheet."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests.conftest import Command

from equipoise.core.errors import UserError, printable, reading
from equipoise.world.splits import make_world


def test_printable() -> None:
    assert printable("a\x1b[31m\u202eb\n") == "a\\x1b[31m\\u202eb\\n"
    assert printable("a\nb\x9b", lines=True) == "a\nb\\x9b"


def test_escape_codes_and_formulas_in_tags(tmp_path: Path, command_line: Command) -> None:
    path = tmp_path / "s.jsonl"
    tag = "\\u001b[31m<b>[x](javascript:1)|"
    path.write_text(
        f'{{"id": "1", "caption": 0.2, "negatives": [0.1], "tags": {{"=cmd()": "{tag}"}}}}\n'
        '{"id": "2", "caption": 0.2, "negatives": [0.1], "tags": {"=cmd()": "b"}}\n'
    )
    forms = ("--format=text", "--format=md", "--format=csv", "--format=latex", "--json")
    printed = {form: command_line("metrics", str(path), form)[1] for form in forms}
    assert all(printed.values()) and not [form for form, said in printed.items() if "\x1b" in said]
    assert "&lt;b&gt;[x]\\(javascript:1)\\|" in printed["--format=md"]
    assert "\n'=cmd()" in printed["--format=csv"].replace('"', "")


def test_an_error_message_cannot_steer_the_terminal(tmp_path: Path, command_line: Command) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text('{"id": "\\u001b[31m", "caption": 0.2, "negatives": [0.1]}\n' * 2)
    code, _, said = command_line("metrics", str(path))
    assert code == 2 and "s.jsonl" in said and "\x1b" not in said


def test_a_models_own_exception_ends_with_its_line(
    tmp_path: Path, command_line: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "mine", raising=False)
    items = make_world(4, 0, tmp_path / "world")
    (tmp_path / "mine.py").write_text(
        "class Model:\n"
        "    def embed_images(self, images):\n"
        "        return {}['nothing here']\n"
        "    def embed_texts(self, texts):\n"
        "        return [[1.0, 0.0] for _ in texts]\n"
    )
    evaluate = ("eval", "py:mine:Model", "--bench", str(items), "--images", "world")
    for more, code in (((), 1), (("--skip-preflight",), 2)):  # a check that is wrong, or scoring that fails
        found, _, said = command_line(*evaluate, *more)
        assert found == code, said
        assert "mine.py, line 3" in said and "nothing here" in said


def test_a_link_to_itself(tmp_path: Path, command_line: Command) -> None:
    (tmp_path / "loop.jsonl").symlink_to("loop.jsonl")
    (tmp_path / "c.txt").write_text("a red dog on the grass\n")
    captions, loop = str(tmp_path / "c.txt"), str(tmp_path / "loop.jsonl")
    assert command_line("metrics", loop)[0] == 2
    assert command_line("perturb", captions, "--out", loop)[0] == 2


def test_memory_that_runs_out_names_the_file() -> None:
    with pytest.raises(UserError, match=r"big\.json: not enough memory"), reading("big.json"):
        raise MemoryError
