"""How fluent a text is to a causal language model: a text-only score for adversarial refinement."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from equipoise.errors import UserError
from equipoise.perturb.english.lm_folder import load_lm, longest


class CausalLM:
    """Mean log-likelihood of a token. The mean, because the sum says above all which text is shorter; with `total`
    it is the sum."""

    name = "causal_lm"

    def __init__(self, folder: str | Path, total: bool = False, device: str = "cpu") -> None:
        self.folder, self.total, self.device = folder, total, device
        self._tokenizer, model = load_lm(folder, "AutoModelForCausalLM")
        self.model = model.to(device)

    def __call__(self, texts: Sequence[str]) -> list[float]:
        """One text at a time: padding in a batch would change the last bits with the company a text is in."""
        return [self._fluency(text) for text in texts]

    def _fluency(self, text: str) -> float:
        import torch

        tokenizer = self._tokenizer
        ids = tokenizer(text, add_special_tokens=False, truncation=True, max_length=longest(self.model))["input_ids"]
        # The first token is judged too, after whatever the model knows as the beginning of a text.
        begin = tokenizer.bos_token_id if tokenizer.bos_token_id is not None else tokenizer.eos_token_id
        numbers = torch.tensor([ids if begin is None else [begin, *ids]], device=self.device)
        if numbers.shape[1] < 2:
            return 0.0
        with torch.inference_mode():
            logits = self.model(input_ids=numbers).logits[0, :-1].double()
        likelihood = torch.log_softmax(logits, dim=-1).gather(1, numbers[0, 1:, None])
        value = float(likelihood.sum() if self.total else likelihood.mean())
        if not math.isfinite(value):
            raise UserError(f"{self.folder}: gives {text[:60]!r} no finite likelihood; are its weights whole?")
        return value
