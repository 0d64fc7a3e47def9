"""The page of a study: one HTML text with its style and script, for the server and, with everything in it, for mail."""

from __future__ import annotations

import base64
import functools
import hashlib
from importlib import resources
from pathlib import Path
from typing import Any

from equipoise.errors import UserError
from equipoise.report.gallery import embedded
from equipoise.report.page import templates
from equipoise.run_folder import write_own
from equipoise.study.questions import IMAGES, Study, picture_name, screen


def _part(name: str) -> str:
    return resources.files("equipoise.study").joinpath("templates", name).read_text(encoding="utf-8")


@functools.cache
def _digest(name: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(_part(name).encode()).digest()).decode()}'"


# The only script and style that may run are ours, by hash; nothing is fetched from anywhere else.
_OURS = f"script-src {_digest('study.js')}; style-src {_digest('study.css')}; base-uri 'none'; form-action 'none'"
POLICY = f"default-src 'none'; img-src 'self' data:; connect-src 'self'; {_OURS}; frame-ancestors 'none'"
_POLICY_OF_FILE = f"default-src 'none'; img-src data:; {_OURS}"


@functools.cache
def _template() -> Any:
    environment = templates("equipoise.study")
    return environment.get_template("study.html")


def _render(study: Study, policy: str, data: dict[str, Any]) -> str:
    about = {"ask": study.ask, "study": study.digest, "count": len(study.questions), **data}
    text: str = _template().render(
        policy=policy, ask=study.ask, style=_part("study.css"), script=_part("study.js"), data=embedded(about)
    )
    return text


def served_page(study: Study) -> str:
    """The page that asks its server for everything."""
    return _render(study, POLICY.partition("; frame-ancestors")[0], {})  # a browser knows that one in headers only


def write_file_page(folder: Path, study: Study, annotator: str, out: Path) -> int:
    """The page that needs no server, for one annotator: the order of everything is theirs, and no role is in it.
    Returns how many bytes it has."""
    pictures = []
    for number, picture in enumerate(study.pictures):
        path = folder / IMAGES / picture_name(number)
        data = path.read_bytes() if path.is_file() else b""
        if hashlib.sha256(data).hexdigest() != picture.sha256:
            raise UserError(f"{path}: missing, or not the picture this study was made with; make the study again")
        pictures.append(f"data:image/jpeg;base64,{base64.b64encode(data).decode()}")
    text = _render(
        study,
        _POLICY_OF_FILE,
        {"annotator": annotator, "questions": screen(study, annotator, {}), "pictures": pictures},
    )
    write_own(out, text, '<meta name="generator" content="equipoise study page">')
    return len(text.encode())
