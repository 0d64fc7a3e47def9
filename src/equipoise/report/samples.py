"""A page with some items of a benchmark, drawn at random, as papers show them in an appendix."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

from equipoise.core.errors import printable
from equipoise.core.run_folder import write_own
from equipoise.data.images import open_source
from equipoise.data.items import Item
from equipoise.report.gallery import picture_of
from equipoise.report.page import page_part, templates

MARK = '<meta name="generator" content="equipoise bench show">'


def write_samples(path: Path, title: str, items: Sequence[Item], count: int, seed: int, images: Path | None) -> None:
    """`count` items with all texts, and their photos where `images` has them."""
    sources = [] if images is None else [open_source(images)]
    places = sorted(random.Random(seed).sample(range(len(items)), min(count, len(items))))
    drawn = [(items[place], picture_of(items[place], sources)) for place in places]
    page = templates("equipoise.report").get_template("samples.html")
    about = {"title": title, "drawn": drawn, "of": len(items), "seed": seed}
    write_own(path, page.render(**about, mark=MARK, style=page_part("report.css"), printable=printable), MARK)
