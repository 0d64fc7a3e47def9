"""The HTML pages of a study and of a label court: one file each, with pictures, style and script, and no server."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from pathlib import Path

from equipoise.audit.record import Court
from equipoise.core.errors import UserError, printable
from equipoise.core.run_folder import write_own
from equipoise.data.images import open_source
from equipoise.data.items import Item
from equipoise.report.gallery import embedded, picture_of
from equipoise.report.html import digest, page_part, templates
from equipoise.study.questions import IMAGES, Study, page_of, picture_name, screen

MARK = '<meta name="generator" content="equipoise audit">'
SHARE, MOST = 0.04, 200  # of the queue on the page; more photos make it slow


def write_page(folder: Path, study: Study, annotator: str, out: Path) -> int:
    """Write the page in the annotator's order, without roles; returns its size in bytes."""
    pictures = []
    for number, picture in enumerate(study.pictures):
        path = folder / IMAGES / picture_name(number)
        data = path.read_bytes() if path.is_file() else b""
        if hashlib.sha256(data).hexdigest() != picture.sha256:
            raise UserError(f"{path}: missing, or not the picture this study was made with; make the study again")
        pictures.append(f"data:image/jpeg;base64,{base64.b64encode(data).decode()}")
    about = {"ask": study.ask, "study": study.digest, "annotator": annotator, "page": page_of(study, annotator)}
    style, script = page_part("study.css", "study"), page_part("study.js", "study")
    # Only our script and style may run, by hash; nothing is fetched.
    policy = (
        f"default-src 'none'; img-src data:; script-src '{digest(script)}'; style-src '{digest(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    page = templates("equipoise.study").get_template("study.html")
    text = page.render(
        policy=policy,
        ask=study.ask,
        annotator=annotator,
        count=len(study.questions),
        style=style,
        script=script,
        data=embedded({**about, "pictures": pictures, "questions": screen(study, annotator)}),
    )
    write_own(out, text, '<meta name="generator" content="equipoise study page">')
    return len(text.encode())


def shown(court: Court) -> int:
    return min(MOST, max(10, round(SHARE * len(court.queue))), len(court.queue))


def write_court(out: Path, court: Court, items: Sequence[Item], images: Path | None) -> int:
    """Write the page of a label court: suspicious items with photo, texts and a choice of verdict, and the verdicts as
    a diff. Returns the number of cases without a photo."""
    known = {item.id: item for item in items}
    sources = [open_source(images)] if images is not None else []
    cases: list[dict[str, object]] = []
    for case in court.queue[: shown(court)]:
        item = known[case.id]
        texts = {kind: [text.text for text in getattr(item, kind)] for kind in ("positives", "negatives")}
        image = item.image.path if item.image else None
        parts = {"image": image, "picture": picture_of(item, sources), "caption": item.caption, **texts}
        cases.append(case.model_dump() | parts)
    script = page_part("court.js", "study")
    about = court.model_dump(include={"made_by", "benchmark", "items_sha256", "models"})
    page = templates("equipoise.study").get_template("court.html")
    text = page.render(
        court=court,
        cases=cases,
        printable=printable,
        style=page_part("report.css"),
        script=script,
        digest=digest(script),
        data=embedded({**about, "cases": [{**case, "picture": None} for case in cases]}),
    )
    write_own(out, text, MARK)
    return sum(case["picture"] is None for case in cases)
