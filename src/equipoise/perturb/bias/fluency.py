"""How fluent a text is to a causal language model: a text-only score for adversarial refinement and blind judging."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from equipoise.errors import UserError
from equipoise.perturb.english.lm_folder import load_lm, longest


class CausalLM:
    """Mean log-likelihood of a token. The mean, because the sum says above all which text is shorter; with `total`
    it is the sum.

    Texts are read one by one: in a batch a matrix of another shape is multiplied, and the last bits would change with
    the company a text is in. Where that does not matter, up to `together` texts of the same number of tokens are read
    at once (nothing is ever padded), in half of the time.
    """

    name = "causal_lm"

    def __init__(self, folder: str | Path, total: bool = False, device: str = "cpu", together: int = 1) -> None:
        self.folder, self.total, self.device, self.together = folder, total, device, together
        self._tokenizer, model = load_lm(folder, "AutoModelForCausalLM")
        self.model = model.to(device)

    def __call__(self, texts: Sequence[str]) -> list[float]:
        read = [self._tokens(text) for text in texts]
        found = [0.0] * len(texts)
        order = sorted((place for place, tokens in enumerate(read) if len(tokens) > 1), key=lambda p: len(read[p]))
        while order:
            length = len(read[order[0]])
            places = [place for place in order[: self.together] if len(read[place]) == length]
            order = order[len(places) :]
            for place, value in zip(places, self._fluency([read[place] for place in places]), strict=True):
                if not math.isfinite(value):
                    raise UserError(
                        f"{self.folder}: gives {texts[place][:60]!r} no finite likelihood; are its weights whole?"
                    )
                found[place] = value
        return found

    def _tokens(self, text: str) -> list[int]:
        tokenizer = self._tokenizer
        ids: list[int] = tokenizer(text, add_special_tokens=False, truncation=True, max_length=longest(self.model))[
            "input_ids"
        ]
        # The first token is judged too, after whatever the model knows as the beginning of a text.
        begin = tokenizer.bos_token_id if tokenizer.bos_token_id is not None else tokenizer.eos_token_id
        return ids if begin is None else [begin, *ids]

    def _fluency(self, read: list[list[int]]) -> list[float]:
        import torch

        tokens = torch.tensor(read, device=self.device)
        with torch.inference_mode():
            logits = self.model(input_ids=tokens).logits[:, :-1]
            values = [self._likelihood(one, own[1:]) for one, own in zip(logits, tokens, strict=True)]
        return values

    def _likelihood(self, logits: Any, tokens: Any) -> float:
        import torch

        found = torch.log_softmax(logits.double(), dim=-1).gather(1, tokens[:, None])
        return float(found.sum() if self.total else found.mean())
