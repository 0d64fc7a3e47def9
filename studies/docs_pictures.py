"""The pictures of docs/tour.md, from the demo's page in a real browser.

    equipoise demo && python -m studies.docs_pictures demo-out/report.html

Needs playwright and Debian's Chromium, as tests/report does. Colours are counted down: a PNG is small.
"""

from __future__ import annotations

import io
import shutil
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import sync_playwright

from studies.docs_site import FLAGS
from studies.harness import ROOT
from studies.harness.inputs import arguments, existing

OUT = ROOT / "docs" / "pictures"


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("page", type=existing())
    options = parser.parse_args()
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        desk = opened(browser, options.page, 1100, 1400)
        desk.add_style_tag(content="nav, figure details { display: none }")
        first, chart = desk.locator("section.example").bounding_box(), desk.locator("main > figure").bounding_box()
        above = {"x": first["x"], "y": first["y"], "width": first["width"]}
        height = chart["y"] + chart["height"] - first["y"]
        keep(desk.screenshot(clip={**above, "height": height}, full_page=True), OUT / "demo.png")
        desk.locator("#f-outcome").select_option(label=brittle(desk))
        desk.locator("#gallery").scroll_into_view_if_needed()
        desk.evaluate("document.querySelector('#gallery').scrollIntoView()")
        keep(desk.screenshot(), OUT / "gallery.png")
        browser.close()


def opened(browser: Any, page: Path, width: int, height: int) -> Any:
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme="light")
    tab = context.new_page()
    tab.goto(page.resolve().as_uri())
    return tab


def brittle(page: Any) -> str:
    """How the filter calls brittle items, with their number."""
    named: list[str] = page.locator("#f-outcome option").all_inner_texts()
    return next((name for name in named if "rittle" in name), named[0])


def keep(png: bytes, path: Path) -> None:
    """A picture of the same screen has the same bytes, and at most 128 colours."""
    Image.open(io.BytesIO(png)).convert("RGB").quantize(128, dither=Image.Dither.NONE).save(path, optimize=True)
    print(f"{path}: {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
