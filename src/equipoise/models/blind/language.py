"""Language models as judges of a text alone: likelihood to a causal model, plausibility to a classifier.

A classifier reads one text at a time. A causal model reads texts of the same number of tokens together, as that takes
less than half of the time; nothing is padded, so that their company shows in the seventh digit at most.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

from equipoise.core.errors import UserError
from equipoise.data.identity import of_folder
from equipoise.perturb.english.language_model import CausalLM, load_lm, longest

Likelihood = Literal["mean", "sum"]
TOGETHER = 16  # texts; with more Gemma-3-270M gains nothing
# The row of T5's vocabulary where Vera keeps what else it learnt: its head's weights, bias and temperature.
_VERA = {"weight": 32099, "bias": 32098}
_GOOD = ("acceptable", "plausible", "correct", "grammatical", "true", "label_1", "1")


class BlindLM:
    """Log-likelihood of a text to a causal language model: the mean of its tokens, or their sum.

    The sum is what a likelihood is, and prefers shorter texts; the mean does not. The card says which it was.
    """

    reads_images = False

    def __init__(self, folder: str, spec: str, likelihood: Likelihood = "mean", device: str = "cpu") -> None:
        self._model = CausalLM(folder, total=likelihood == "sum", device=device, together=TOGETHER)
        self.device = device
        self.card: dict[str, Any] = _card(spec, folder, self._model.model) | {"likelihood": likelihood}

    def score_pairs(self, images: Sequence[object], texts: Sequence[str]) -> list[float]:
        return self._model(texts)


class BlindClassifier:
    """How plausible or well-formed a classifier finds a text: the logit of the good class, less that of the others.

    A model of one output (Vera's kind) gives it as it is. Of two or more (CoLA's kind), the good class is named by
    `label`, else by what its config calls it; CoLA's own models leave LABEL_0 and LABEL_1, and 1 is acceptable there.
    """

    reads_images = False

    def __init__(self, folder: str, spec: str, label: str | None = None, device: str = "cpu") -> None:
        self._tokenizer, self._model = load_lm(folder, "AutoModelForSequenceClassification")
        self._model.to(device)
        self.device = device
        names = {int(place): str(name) for place, name in self._model.config.id2label.items()}
        self._good = _good_class(names, label, folder)
        shown = names[self._good] if len(names) > 1 else None
        self.card: dict[str, Any] = _card(spec, folder, self._model) | {"label": shown}

    def score_pairs(self, images: Sequence[object], texts: Sequence[str]) -> list[float]:
        return [_finite(self._score(text), text, self.card["spec"]) for text in texts]

    def _score(self, text: str) -> float:
        import torch

        given = self._tokenizer(text, truncation=True, max_length=longest(self._model), return_tensors="pt")
        with torch.inference_mode():
            logits = self._model(**given.to(self.device)).logits[0].double()
        if len(logits) == 1:
            return float(logits[0])
        others = torch.cat([logits[: self._good], logits[self._good + 1 :]])
        return float(logits[self._good] - torch.logsumexp(others, 0))


class Vera:
    """Vera (Liu et al. 2023) as it is published: T5's encoder, its head hidden in unused rows of the vocabulary.

    The head is a weight for each feature of the last token (row 32099) and a bias (first number of row 32098). The
    temperature only rescales, so it is left out.
    """

    reads_images = False

    def __init__(self, folder: str, spec: str, device: str = "cpu") -> None:
        self._tokenizer, self._model = load_lm(folder, "T5EncoderModel")
        self._model.to(device)
        self.device = device
        table = self._model.shared.weight
        if table.shape[0] <= max(_VERA.values()):
            raise UserError(
                f"{folder}: a T5 encoder of {table.shape[0]:,} words; Vera's head is in row {_VERA['weight']:,}"
            )
        self._weight, self._bias = table[_VERA["weight"]].detach().double(), float(table[_VERA["bias"], 0].detach())
        self.card: dict[str, Any] = _card(spec, folder, self._model) | {"label": None}

    def score_pairs(self, images: Sequence[object], texts: Sequence[str]) -> list[float]:
        return [_finite(self._score(text), text, self.card["spec"]) for text in texts]

    def _score(self, text: str) -> float:
        import torch

        given = self._tokenizer(text, truncation=True, max_length=512, return_tensors="pt").to(self.device)
        with torch.inference_mode():
            last = self._model(**given).last_hidden_state[0, -1].double()
        return float(last @ self._weight) + self._bias


def _card(spec: str, folder: str, model: Any) -> dict[str, Any]:
    return {
        "spec": spec,
        "weight_sha256": of_folder(folder),  # the tokenizer's files among them
        "blind": True,
        "architecture": type(model).__name__,
        "dtype": "float32",
    }


def _good_class(names: dict[int, str], label: str | None, folder: str) -> int:
    if len(names) == 1:
        if label is not None:
            raise UserError(f"{folder}: has one output and no classes, so label={label} chooses nothing")
        return 0
    wanted = (label.lower(),) if label is not None else _GOOD
    found = [place for word in wanted for place, name in names.items() if name.lower() == word]
    if not found:
        shown = ", ".join(names.values())
        raise UserError(f"{folder}: which of its classes is the good one? Say it: ?label=NAME, one of {shown}")
    return found[0]


def _finite(value: float, text: str, spec: str) -> float:
    if not math.isfinite(value):
        raise UserError(f"{spec}: gives {text[:60]!r} no finite score; are its weights whole?")
    return value
