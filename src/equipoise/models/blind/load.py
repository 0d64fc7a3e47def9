"""`blind:...` -> a judge that never sees an image: the two rules, or a causal language model of the user's."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from equipoise.core.errors import UserError, did_you_mean
from equipoise.data.identity import of_folder
from equipoise.models.base import split_options
from equipoise.models.blind import rules

FORMS = ("length", "ngram", "lm:FOLDER")
TOGETHER = 16  # texts; with more Gemma-3-270M gains nothing


class BlindLM:
    """Log-likelihood of a text to a causal language model: the mean of its tokens, or their sum.

    The sum is what a likelihood is, and prefers shorter texts; the mean does not. The card says which it was. Texts of
    the same number of tokens are read together; nothing is padded, so their company shows in the seventh digit at most.
    """

    reads_images = False

    def __init__(self, folder: str, spec: str, likelihood: str, device: str) -> None:
        from equipoise.perturb.english.language_model import CausalLM

        self._model = CausalLM(folder, total=likelihood == "sum", device=device, together=TOGETHER)
        self.device = device
        self.card: dict[str, Any] = {
            "spec": spec,
            "weight_sha256": of_folder(folder),  # the tokenizer's files among them
            "blind": True,
            "architecture": type(self._model.model).__name__,
            "dtype": "float32",
            "likelihood": likelihood,
        }

    def score_pairs(self, images: Sequence[object], texts: Sequence[str]) -> list[float]:
        return self._model(texts)


def load_blind(rest: str, *, spec: str, device: str = "auto", **unused: str) -> Any:
    """The judge that a spec names; `?likelihood=sum` is an option of lm."""
    if rest == "length":
        return rules.length(spec)
    if rest == "ngram":
        return rules.ngram(spec)
    kind, _, place = rest.partition(":")
    if kind != "lm" or not place:
        shown = ", ".join(f"blind:{form}" for form in FORMS)
        raise UserError(
            f"model {spec!r}: expected {shown}.{did_you_mean(kind, [form.partition(':')[0] for form in FORMS])}"
        )
    folder, options = split_options(place, spec, {"likelihood": ("mean", "sum")})
    if not Path(folder).is_dir():
        raise UserError(
            f"model {spec!r}: no folder {folder}; expected a model of transformers, saved with save_pretrained"
        )
    import torch

    on = ("cuda" if torch.cuda.is_available() else "cpu") if device == "auto" else device
    return BlindLM(folder, spec, options.get("likelihood", "mean"), on)
