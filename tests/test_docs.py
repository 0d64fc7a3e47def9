"""The documentation: every block that can run is run, every other one says why not, and no page is forgotten."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.docs_blocks import RUN, blocks, run_page

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
WITH_CODE = [page for page in PAGES if any(block.language in RUN and not block.excuse for block in blocks(page))]
QUICK = {"metrics.md", "scores.md"}  # the others draw, train or start workers


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=[] if page.name in QUICK else pytest.mark.slow) for page in WITH_CODE],
    ids=name_of,
)
def test_its_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EQUIPOISE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    folder = tmp_path / "here"
    folder.mkdir()
    (folder / "examples").symlink_to(ROOT / "examples")
    assert run_page(page, folder) > 0


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_commands_stand_in_blocks(page: Path) -> None:
    """An indented command is not run by anybody: it belongs into a block, with a reason where it cannot run."""
    inside = "\n".join(block.code for block in blocks(page))
    found = re.findall(r"(?m)^ {4}((?:equipoise|python|torchrun|pip) .*)$", page.read_text(encoding="utf-8"))
    assert not [line for line in found if line not in inside]


def test_every_page_is_in_the_navigation() -> None:
    listed = set(re.findall(r": (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE))
    assert listed == {str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")}


def test_links_between_files_resolve() -> None:
    """As they are read on a forge, without the site: relative files, and headings in them."""
    wrong = []
    for page in PAGES:
        for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"(?s)```.*?```", "", page.read_text(encoding="utf-8"))):
            if re.match(r"[a-z]+:", target):
                continue
            path, _, anchor = target.partition("#")
            file = (page.parent / path).resolve() if path else page
            if not file.exists() or (anchor and file.suffix == ".md" and anchor not in _anchors(file)):
                wrong.append(f"{name_of(page)}: {target}")
    assert not wrong


def _anchors(page: Path) -> set[str]:
    heads = re.findall(r"(?m)^#+ (.*)$", page.read_text(encoding="utf-8"))
    return {re.sub(r"[\s]+", "-", re.sub(r"[^\w\s-]", "", head.lower()).strip()) for head in heads}


def test_a_broken_site_is_seen(tmp_path: Path) -> None:
    from runs.docs_site import broken

    (tmp_path / "other.html").write_text('<h2 id="here">x</h2>')
    (tmp_path / "index.html").write_text(
        '<a href="other.html#here">fine</a> <a href="https://example.org">fine</a> <a href="gone.html">1</a> '
        '<a href="other.html#there">2</a> <script src="https://example.org/x.js"></script>'
    )
    found = [line.split(": ", 1)[1].split(":")[0] for line in broken(tmp_path)]
    assert found == [
        "gone.html",
        "other.html#there",
        "script asks https",
    ]
