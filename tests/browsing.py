"""Debian's Chromium, driven by Playwright, for every page of ours. Its tests are skipped, with a reason, where one is
absent."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest

playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright==1.65.0")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
NEEDED = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="needs a browser: apt-get install chromium"),
]
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]

Visit = Callable[..., Any]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as started:
        found = started.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield found
        found.close()


@contextlib.contextmanager
def visiting(browser: Any) -> Iterator[Visit]:
    """Opens pages; whatever went wrong in one, or was asked of anybody but its address, fails the test in the end."""
    wrong: list[str] = []
    contexts = []

    def opened(address: str, width: int = 1280, context: Any = None, **options: Any) -> Any:
        if context is None:
            size = {"width": width, "height": 844 if width < 500 else 800}
            context = browser.new_context(viewport=size, **options)
            contexts.append(context)
        page = context.new_page()
        page.allowed = []  # words of console errors that a test expects
        page.on("console", lambda message: wrong.append(f"console: {message.text}") if not page.allowed else None)
        page.on("pageerror", lambda error: wrong.append(f"error: {error}"))
        page.on("dialog", lambda dialog: wrong.append(f"dialog: {dialog.message}"))
        own = ("data:", "blob:", address.partition("?")[0])
        page.on("request", lambda asked: asked.url.startswith(own) or wrong.append(asked.url))
        page.goto(address)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert not wrong
