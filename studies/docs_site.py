"""The site: built by zensical from mkdocs.yml, then every link of every page is followed.

    python -m studies.docs_site            into site/; `make docs` installs what it needs first

A warning of the generator, a link to a file or a heading that is not there, or what a page would fetch elsewhere,
ends with exit code 1: the site must work from a disk without a network.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote, urlsplit

from studies.harness import ROOT
from studies.harness.inputs import arguments

SITE = ROOT / "site"
FETCHED = {("img", "src"), ("script", "src"), ("link", "href"), ("source", "src"), ("iframe", "src")}


class Links(HTMLParser):
    """The targets and the anchors of one page."""

    def __init__(self) -> None:
        super().__init__()
        self.targets: list[tuple[str, str, str]] = []  # tag, attribute, address
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        self.anchors |= {value for name in ("id", "name") if (value := attributes.get(name))}
        if tag == "link" and attributes.get("rel") not in {"stylesheet", "icon", "preload", "modulepreload"}:
            return  # canonical and the like fetch nothing
        for name in ("href", "src"):
            if value := attributes.get(name):
                self.targets.append((tag, name, value))


def main() -> int:
    parser = arguments(__doc__)
    parser.parse_args()
    if find_spec("zensical") is None:
        parser.error("zensical is not installed: make docs")
    built = subprocess.run([sys.executable, "-m", "zensical", "build", "--clean", "--strict"], cwd=ROOT, check=False)
    if built.returncode:
        return built.returncode
    wrong = [*broken(SITE), *cut(SITE)]
    for line in wrong:
        print(line, file=sys.stderr)
    pages = len(list(SITE.rglob("*.html")))
    print(f"{pages} pages, {len(wrong)} broken links, requests to elsewhere, cut code blocks or broken lists")
    return 1 if wrong else 0


FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
WIDTHS = (1280, 390)  # a laptop, a phone
_LOOK = """() => [
  ...[...document.querySelectorAll('pre > code')].filter(e => e.scrollWidth > e.clientWidth + 1).map(e => 'cut: ' + e.innerText.slice(0, 60)),
  ...[...document.querySelectorAll('article p')].filter(e => /\\n- /.test(e.textContent)).map(e => 'list: ' + e.textContent.slice(0, 60)),
  ...(document.documentElement.scrollWidth > innerWidth + 1 ? ['the page is wider than the screen'] : [])]"""  # noqa: E501


def cut(site: Path) -> list[str]:
    """Code blocks cut at their edge, lists shown as paragraphs, pages wider than the screen; needs Chromium."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if browser is None or find_spec("playwright") is None:
        print("no Chromium: the pages were not looked at", file=sys.stderr)
        return []
    from playwright.sync_api import sync_playwright

    problems = []
    with sync_playwright() as started:
        window = started.chromium.launch(executable_path=browser, args=FLAGS)
        for width in WIDTHS:
            page = window.new_page(viewport={"width": width, "height": 900})
            for file in sorted(site.rglob("*.html")):
                page.goto(file.as_uri())
                problems += [f"{file.relative_to(site)} at {width} px: {line}" for line in page.evaluate(_LOOK)]
        window.close()
    return problems


def broken(site: Path) -> list[str]:
    """Links that lead nowhere, and what a page would ask of the network."""
    read: dict[Path, Links] = {}
    for path in sorted(site.rglob("*.html")):
        read[path] = Links()
        read[path].feed(path.read_text(encoding="utf-8"))
    wrong = []
    for path, page in read.items():
        for tag, name, address in page.targets:
            url = urlsplit(address)
            if url.scheme in {"http", "https"} or url.netloc:
                if (tag, name) in FETCHED:
                    wrong.append(f"{path.relative_to(site)}: {tag} asks {address}")
            elif not url.scheme and (why := _nowhere(site, path, url.path, unquote(url.fragment), read)):
                wrong.append(f"{path.relative_to(site)}: {address}: {why}")
    return wrong


def _nowhere(site: Path, page: Path, target: str, anchor: str, read: dict[Path, Links]) -> str:
    base = site if target.startswith("/") else page.parent
    file = (base / unquote(target).lstrip("/")).resolve() if target else page
    file = file / "index.html" if file.is_dir() else file
    if not file.exists():
        return "no such file"
    if anchor and file in read and anchor not in read[file].anchors and not anchor.startswith("__"):
        return "no such heading"
    return ""


if __name__ == "__main__":
    sys.exit(main())
