"""Load a language model of a local folder, without the network and without its code; measure a text's fluency."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from equipoise.core.errors import UserError

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


def load_lm(folder: str | Path, kind: str) -> tuple[PreTrainedTokenizerBase, PreTrainedModel]:
    """Tokenizer and model of a local folder; never the network, never code from the folder."""
    path = Path(folder)
    if not (path / "config.json").is_file() or not any(_VOCABULARY.search(file.name) for file in path.iterdir()):
        # Without its vocabulary, transformers would make an empty tokenizer and say nothing.
        raise UserError(f"{path}: expected a folder of transformers with config.json, weights and tokenizer")
    import transformers

    safely = {"local_files_only": True, "trust_remote_code": False}  # without them it would ask on the terminal
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(path, **safely)
        model, report = getattr(transformers, kind).from_pretrained(path, **safely, output_loading_info=True)
    except Exception as error:  # whatever a damaged or foreign file does to transformers
        what = f"{type(error).__name__}: {error}".split("\n")[0]
        raise UserError(f"{path}: cannot be loaded as {kind.removeprefix('AutoModelFor')} ({what})") from None
    if kind != "AutoModel" and report["missing_keys"]:  # a bare encoder; its head would be made of random numbers
        raise UserError(
            f"{path}: no weights for {sorted(report['missing_keys'])[0]}; it is no {kind[len('AutoModelFor') :]}"
        )
    return tokenizer, model.eval()


_VOCABULARY = re.compile(r"tokenizer\.json|vocab|merges|\.model$|spiece")


def longest(model: PreTrainedModel) -> int:
    """Tokens the model reads; RoBERTa's positions begin at two."""
    return int(getattr(model.config, "max_position_embeddings", None) or 512) - 2


class CausalLM:
    """Mean log-likelihood of a token. The mean, because the sum says above all which text is shorter; with `total`
    it is the sum.

    Texts are read one by one: a batch multiplies matrices of another shape, so the last bits of a score would depend
    on the other texts. Where that does not matter, up to `together` texts of the same number of tokens are read at once
    (nothing is ever padded), in half of the time.
    """

    name = "causal_lm"

    def __init__(self, folder: str | Path, total: bool = False, device: str = "cpu", together: int = 1) -> None:
        self.folder, self.total, self.device, self.together = folder, total, device, together
        self._tokenizer, model = load_lm(folder, "AutoModelForCausalLM")
        self.model = model.to(device)

    def __call__(self, texts: Sequence[str]) -> list[float]:
        read = [self._tokens(text) for text in texts]
        fluency = [0.0] * len(texts)
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
                fluency[place] = value
        return fluency

    def _tokens(self, text: str) -> list[int]:
        tokenizer = self._tokenizer
        most = longest(self.model)
        ids: list[int] = tokenizer(text, add_special_tokens=False, truncation=True, max_length=most)["input_ids"]
        # The first token is judged too, after whatever the model knows as the beginning of a text.
        begin = tokenizer.bos_token_id if tokenizer.bos_token_id is not None else tokenizer.eos_token_id
        return ids if begin is None else [begin, *ids]

    def _fluency(self, read: list[list[int]]) -> list[float]:
        import torch

        tokens = torch.tensor(read, device=self.device)
        with torch.inference_mode():
            logits = self.model(input_ids=tokens).logits[:, :-1]
            likelihoods = (
                torch.log_softmax(scores.double(), dim=-1).gather(1, ids[1:, None])
                for scores, ids in zip(logits, tokens, strict=True)
            )
            return [float(values.sum() if self.total else values.mean()) for values in likelihoods]
