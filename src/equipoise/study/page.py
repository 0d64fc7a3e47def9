"""The page of a study: one HTML file for one annotator, with its pictures, style and script; it needs no server."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path

from equipoise.core.errors import UserError
from equipoise.core.run_folder import write_own
from equipoise.report.gallery import embedded
from equipoise.report.page import digest, page_part, templates
from equipoise.study.questions import IMAGES, Study, picture_name, screen


def write_page(folder: Path, study: Study, annotator: str, out: Path) -> int:
    """Write the page, in the annotator's order and without any role. Returns how many bytes it has."""
    pictures = []
    for number, picture in enumerate(study.pictures):
        path = folder / IMAGES / picture_name(number)
        data = path.read_bytes() if path.is_file() else b""
        if hashlib.sha256(data).hexdigest() != picture.sha256:
            raise UserError(f"{path}: missing, or not the picture this study was made with; make the study again")
        pictures.append(f"data:image/jpeg;base64,{base64.b64encode(data).decode()}")
    about = {"ask": study.ask, "study": study.digest, "annotator": annotator, "pictures": pictures}
    style, script = page_part("study.css", "study"), page_part("study.js", "study")
    # The only script and style that may run are ours, by hash; nothing is fetched from anywhere.
    policy = (
        f"default-src 'none'; img-src data:; script-src '{digest(script)}'; style-src '{digest(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    text = (
        templates("equipoise.study")
        .get_template("study.html")
        .render(
            policy=policy,
            ask=study.ask,
            annotator=annotator,
            count=len(study.questions),
            style=style,
            script=script,
            data=embedded({**about, "questions": screen(study, annotator)}),
        )
    )
    write_own(out, text, '<meta name="generator" content="equipoise study page">')
    return len(text.encode())
