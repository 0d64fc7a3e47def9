"""Commands of the documentation that need a reader's own files: without them each ends with one clear sentence."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.docs_blocks import RUN, blocks
from tests.test_docs import PAGES, ROOT, name_of

from equipoise.cli import main

# They train, fetch, wait for a browser or change the user's shell; their own tests run them.
LEFT_OUT = re.compile(r"equipoise (?:demo|bench fetch)\b|--install-completion|torchrun|--engine ray")


def commands(page: Path) -> Iterator[str]:
    """The commands of ours in blocks that are not run, whole lines without comments and pipes."""
    for block in blocks(page):
        if block.language in RUN - {"python"} and block.excuse:
            for line in block.code.replace("\\\n", " ").splitlines():
                if line.startswith("equipoise ") and not LEFT_OUT.search(line) and not set(line) & set("|>$;&"):
                    yield line


LISTED = [(name_of(page), command) for page in PAGES for command in commands(page)]


@pytest.mark.slow
def test_without_the_readers_files_each_command_runs_or_says_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("EQUIPOISE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    wrong = []
    for number, (page, command) in enumerate(LISTED):
        folder = tmp_path / str(number)
        folder.mkdir()
        monkeypatch.chdir(folder)
        fewer = re.sub(r"--limit \d{4,}", "--limit 20", command)  # 4,000 pictures take ten seconds to draw
        monkeypatch.setattr(sys, "argv", shlex.split(fewer, comments=True))
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        clear = ended.value.code in (0, None) or (ended.value.code == 2 and said.err.strip())
        if not clear or "Traceback" in said.err or "a bug in equipoise" in said.err:
            wrong.append(f"{page}: {command}: {ended.value.code}\n{said.err[-500:]}")
    assert len(LISTED) > 20 and not wrong, "\n".join(wrong)


def test_every_script_that_a_page_names_is_there() -> None:
    named = {
        (name_of(page), script)
        for page in PAGES
        for script in re.findall(
            r"(?<![\w/])((?:studies|bench|examples)/[\w/]+\.(?:py|sh))\b", page.read_text(encoding="utf-8")
        )
    }
    named |= {
        (name_of(page), f"{module.replace('.', '/')}.py")
        for page in PAGES
        for module in re.findall(r"python -m (studies[\w.]+)", page.read_text(encoding="utf-8"))
    }
    assert not {one for one in named if not (ROOT / one[1]).exists() and "CHANGELOG" not in one[0]}
