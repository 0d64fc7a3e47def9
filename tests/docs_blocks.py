"""The code blocks of the documentation, and how they are run.

A page is read from the top, in an empty folder, its blocks one after the other:

    ```bash      files (`cat > name`), then commands; where all begin with `equipoise` they are called in this process,
                 which saves seconds each
    ```python    code, with the names of the blocks before it; where the first line is `# name.py`, a file of that name
    ```text      after one of these: lines that it must have printed (`...` stands for anything)

A block that cannot run has a comment above it that the site does not show: <!-- not run: reason -->
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

RUN = {"bash", "console", "sh", "python"}
EXCUSE = "<!-- not run:"


@dataclass(frozen=True)
class Block:
    page: str
    line: int
    language: str
    code: str
    excuse: str  # why it is not run; "" where it is

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def blocks(path: Path) -> Iterator[Block]:
    """All fenced blocks of a page, also those in a list."""
    lines = path.read_text(encoding="utf-8").splitlines()
    number = 0
    while number < len(lines):
        if opened := re.match(r"^(\s*)(```+)\s*([^`]*)$", lines[number]):
            indent, fence, language = opened.groups()
            end = next(n for n in range(number + 1, len(lines)) if lines[n].strip() == fence)
            code = "\n".join(line.removeprefix(indent) for line in lines[number + 1 : end]) + "\n"
            yield Block(path.name, number + 1, language, code, _excuse(lines[:number]))
            number = end
        number += 1


def _excuse(before: list[str]) -> str:
    """The reason why a block is not run, from the paragraph above it."""
    *_, paragraph = re.split(r"\n\s*\n", "\n".join(before).rstrip())
    return paragraph.partition(EXCUSE)[2].removesuffix("-->").strip() if paragraph.startswith(EXCUSE) else ""


def run_page(path: Path, folder: Path) -> int:
    """Run what can be run of a page in `folder`; how many blocks that was."""
    names: dict[str, Any] = {"__name__": "__main__"}
    printed, done = "", 0
    for block in blocks(path):
        if block.language == "text" and printed:
            missing = [line for line in block.code.splitlines() if not _is_in(line, printed)]
            assert not missing, f"{block}: not printed: {missing}\n--- but\n{printed}"
        elif block.language in RUN and not block.excuse:
            printed = _python(block, names, folder) if block.language == "python" else _shell(block, folder)
            done += 1
            continue
        printed = ""
    return done


def _is_in(line: str, printed: str) -> bool:
    """Blanks count as one, and so do the frames of tables."""
    parts = [re.escape(part) for part in re.split(r"\.\.\.", _plain(line))]
    return re.search(r".*".join(part.strip() for part in parts), _plain(printed)) is not None


def _plain(text: str) -> str:
    return re.sub(r"[\s│┃|]+", " ", text).strip()


def _python(block: Block, names: dict[str, Any], folder: Path) -> str:
    if named := re.match(r"# (\w+\.py)\n", block.code):
        (folder / named[1]).write_text(block.code, encoding="utf-8")
        return ""
    output = io.StringIO()
    with _in(folder), contextlib.redirect_stdout(output):
        exec(compile(block.code, str(block), "exec"), names)
    return output.getvalue()


def _shell(block: Block, folder: Path) -> str:
    script, commands = re.fullmatch(r"(?s)((?:cat > \S+ <<'END'\n.*?\nEND\n)*)(.*)", block.code).groups()  # type: ignore[union-attr]
    lines = [line for line in commands.replace("\\\n", " ").splitlines() if line and not line.startswith("#")]
    if not all(line.startswith("equipoise ") and _is_one_command(line) for line in lines):
        script, lines = block.code, []
    ours = f'equipoise() {{ "{sys.executable}" -m equipoise "$@"; }}\npython() {{ "{sys.executable}" "$@"; }}\n'
    done = subprocess.run(["bash", "-eo", "pipefail", "-c", ours + script], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, f"{block}: exit {done.returncode}\n{done.stderr[-2000:]}"
    return done.stdout + "".join(_equipoise(block, shlex.split(line, comments=True)[1:], folder) for line in lines)


def _is_one_command(line: str) -> bool:
    """Without pipes, redirections, variables and the like; a quoted `&` is none."""
    words = shlex.shlex(line, posix=True, punctuation_chars="|>;&<()")
    words.whitespace_split = True
    return "$" not in line and not any(set(word) <= set("|>;&<()") for word in words)


def _equipoise(block: Block, arguments: list[str], folder: Path) -> str:
    from transformers.utils import logging
    from typer.testing import CliRunner

    from equipoise.cli import app

    logging.get_verbosity()  # its handler keeps the standard error of its first use: not the runner's, which closes
    with _in(folder):
        found = CliRunner(env={"COLUMNS": "200"}).invoke(app, arguments)
    why = (
        f"{block}: equipoise {' '.join(arguments)}: exit {found.exit_code}\n{found.output[-2000:]}\n{found.exception!r}"
    )
    assert found.exit_code == 0, why
    return found.stdout


@contextlib.contextmanager
def _in(folder: Path) -> Iterator[None]:
    """Work in a folder, and find the modules that lie there."""
    before, known = Path.cwd(), set(sys.modules)
    os.chdir(folder)
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        os.chdir(before)
        sys.path.remove(str(folder))
        for name in {module.stem for module in folder.glob("*.py")} & (set(sys.modules) - known):
            del sys.modules[name]
