"""The HTML page of an audit: the bad items with their photos, files to download, then what to read."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Sequence
from itertools import cycle
from pathlib import Path

from markupsafe import Markup

from equipoise.audit.page import advice, headline, rest
from equipoise.audit.record import Audit
from equipoise.core.errors import printable
from equipoise.data.images import open_source
from equipoise.data.items import Item
from equipoise.report.gallery import picture_of
from equipoise.report.page import page_part, templates

MOST = 400  # bad items on the page; the download has the ids of all
MOST_BYTES = 4_000_000  # of a cleaned file within the page; of a larger one it has the command


def audit_html(audit: Audit, items: Sequence[Item], images: Path | None = None) -> str:
    """No request, no script; the benchmark's texts are escaped."""
    from markdown_it import MarkdownIt  # of rich

    known = {item.id: item for item in items}
    bad = {one.id for one in audit.bad}
    sources = [] if images is None else [open_source(images)]
    good = "".join(f"{json.dumps(item.to_json(), ensure_ascii=False)}\n" for item in items if item.id not in bad)
    body = MarkdownIt("commonmark", {"html": False}).enable("table").render(rest(audit))
    return (
        templates("equipoise.report")
        .get_template("audit.html")
        .render(
            audit=audit,
            headline=headline(audit),
            advice=advice(audit),
            counts=[(check.title, len(check.found)) for check in audit.checks if check.bad and check.found],
            cases=[(one, known[one.id], picture_of(known[one.id], sources)) for one in audit.bad[:MOST]],
            ids=_file("".join(f"{one.id}\n" for one in audit.bad)),
            good=_file(good) if len(good) <= MOST_BYTES else "",
            body=Markup(re.sub("<table>.*?</table>", _labelled, body, flags=re.DOTALL)),
            style=page_part("report.css"),
            printable=printable,
        )
    )


def _file(text: str) -> str:
    return f"data:text/plain;base64,{base64.b64encode(text.encode()).decode()}"


def _labelled(found: re.Match[str]) -> str:
    """The table with the name of its column at each cell, which a phone shows above it."""
    names = cycle(re.findall("<th[^>]*>(.*?)</th>", found[0]))
    table = re.sub("<td", lambda _: f'<td data-name="{next(names)}"', found[0]).replace("<table>", "", 1)
    return f'<div class="scroll"><table class="stack">{table}</div>'
