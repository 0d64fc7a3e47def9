"""`paper:NAME@FILE`: the published checkpoints of earlier papers, and what one must know to load each rightly.

The evaluation code of the hard-positive paper loads all the models finetuned from OpenAI's CLIP with GELU,
though they were trained with QuickGELU; so do others (sugar-crepe#7, open_clip#771). Each row states what the
model was trained with. A published number that rests on the mistake is had with `?act=gelu`, and the card says so.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

from equipoise.core.errors import UserError, did_you_mean
from equipoise.models.checkpoint import file_options, load_file
from equipoise.models.clip import ClipModel


@dataclass(frozen=True)
class Paper:
    """One family of published checkpoint files."""

    title: str
    base: str
    activation: str
    where: str
    quirks: str = ""
    context: int | None = None


_DATA = (Path(__file__).with_name("data") / "papers.toml").read_text(encoding="utf-8")
PAPERS = {name: Paper(**facts) for name, facts in tomllib.loads(_DATA).items()}


def load_paper(rest: str, *, spec: str, device: str = "auto", dtype: str = "float32") -> ClipModel:
    """`rest` is NAME@FILE, with ?act= to repeat a published mistake."""
    name, at, file = rest.partition("@")
    if name not in PAPERS:
        raise UserError(f"{spec}: no paper {name!r} ({', '.join(PAPERS)}).{did_you_mean(name, PAPERS)}")
    paper = PAPERS[name]
    if not at or not file:
        raise UserError(f"{spec}: which file? paper:{name}@FILE, with the checkpoint from {paper.where}")
    path, options = file_options(file, spec)
    activation = options.get("act", paper.activation)
    quirks = paper.quirks
    if activation != paper.activation:
        quirks += f"; LOADED WITH {activation.upper()}, though trained with {paper.activation}"
    context = int(options["context"]) if "context" in options else paper.context
    notes = {"paper": paper.title, "base": paper.base, "quirks": quirks}
    return load_file(
        path,
        spec=spec,
        activation=activation,
        arch=options.get("arch"),
        context=context,
        device=device,
        dtype=dtype,
        notes=notes,
    )
