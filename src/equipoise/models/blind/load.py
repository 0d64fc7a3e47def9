"""`blind:...` -> a judge that never sees an image."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from equipoise.core.errors import UserError, did_you_mean
from equipoise.models.blind import rules

FORMS = ("length", "ngram", "lm:FOLDER", "classifier:FOLDER")


def load_blind(rest: str, *, spec: str, device: str = "auto") -> Any:
    """The judge that a spec names. Options follow a question mark: likelihood=sum of lm, label=NAME of classifier."""
    kind, _, place = rest.partition(":")
    if kind == "length" and not place:
        return rules.length(spec)
    if kind == "ngram" and not place:
        return rules.ngram(spec)
    if kind not in {"lm", "classifier"} or not place:
        shown = ", ".join(f"blind:{form}" for form in FORMS)
        raise UserError(
            f"model {spec!r}: expected {shown}.{did_you_mean(kind, [form.partition(':')[0] for form in FORMS])}"
        )
    folder, _, option = place.partition("?")
    name, _, value = option.partition("=")
    allowed = {"lm": "likelihood", "classifier": "label"}[kind]
    if option and (name != allowed or not value or (kind == "lm" and value not in {"mean", "sum"})):
        expected = "likelihood=mean or likelihood=sum" if kind == "lm" else "label=NAME"
        raise UserError(f"model {spec!r}: expected {expected} after the question mark, found {option!r}")
    if not Path(folder).is_dir():
        raise UserError(
            f"model {spec!r}: no folder {folder}; expected a model of transformers, saved with save_pretrained"
        )
    import torch

    from equipoise.models.blind.language import BlindClassifier, BlindLM, Vera

    on = ("cuda" if torch.cuda.is_available() else "cpu") if device == "auto" else device
    if kind == "lm":
        return BlindLM(folder, spec, "sum" if value == "sum" else "mean", on)
    if not value and "T5EncoderModel" in _architectures(folder):
        return Vera(folder, spec, on)
    return BlindClassifier(folder, spec, value or None, on)


def _architectures(folder: str) -> list[str]:
    try:
        found = json.loads((Path(folder) / "config.json").read_text())
        return [str(name) for name in found.get("architectures") or ()]
    except (OSError, ValueError, AttributeError):
        return []  # the loader says what is wrong with it
