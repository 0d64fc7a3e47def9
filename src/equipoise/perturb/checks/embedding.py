"""A positive must stay close to its caption for a sentence encoder, where one is given.

Encoders differ in scale: what is far for one is near for another. So no threshold is asked for: the encoder is
measured first on captions of our own (data/senses.txt), and a positive is dropped when it is further away than all but
a few of the synonyms there. An encoder that cannot tell those synonyms from other words is refused. Word order means
little to such models (exchanging two nouns hardly moves an embedding), so swaps are not judged by them.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.errors import UserError
from equipoise.perturb.candidate import Candidate
from equipoise.perturb.checks.trials import CAUGHT, least_kept
from equipoise.perturb.english.caption import Caption
from equipoise.perturb.english.lm_folder import load_lm, longest

Encoder = Callable[[str], NDArray[np.float64]]  # text -> vector of length one

_LOST = 0.05  # of the synonyms that lie below the threshold


class EmbeddingCheck:
    """Drops replacements that lie further from the caption than synonyms do."""

    def __init__(self, encode: Encoder, name: str) -> None:
        self._encode = functools.lru_cache(maxsize=1024)(encode)  # the caption comes again with every candidate

        def complaint(others: int, caught: str) -> str:
            return (
                f"{name}: does not tell synonyms from other words: of {others} other words in plain captions only "
                f"{caught} lie further away than synonyms do, {CAUGHT:.0%} were expected. "
                "Is it a sentence encoder (all-MiniLM-L6-v2, for one)?"
            )

        self.least = least_kept("senses", self._cosine, _LOST, complaint)

    def __call__(self, caption: Caption, candidate: Candidate) -> str | None:
        if candidate.kind != "positive" or candidate.edit.op != "replace":
            return None
        found = self._cosine(caption.text, candidate.text)
        if found >= self.least:
            return None
        return f"far from the caption for the sentence encoder: {found:.3f}, synonyms have {self.least:.3f}"

    def _cosine(self, first: str, second: str) -> float:
        return float(self._encode(first) @ self._encode(second))


# ---------------------------------------------------------------------------- a folder of transformers


@functools.cache
def embedding_check(folder: str) -> EmbeddingCheck:
    """One a process; one thread and one text at a time, so that the last bits never depend on the company."""
    import torch

    torch.set_num_threads(1)
    return EmbeddingCheck(_encoder(Path(folder)), folder)


def _encoder(folder: Path) -> Encoder:
    import torch

    tokenizer, model = load_lm(folder, "AutoModel")
    first = _pools_first_token(folder)

    def encode(text: str) -> NDArray[np.float64]:
        encoded = tokenizer(text, return_tensors="pt", truncation=True, max_length=longest(model))
        with torch.inference_mode():
            states = model(**encoded).last_hidden_state[0].double()
        vector = states[0] if first else states.mean(dim=0)
        found: NDArray[np.float64] = (vector / vector.norm()).numpy()
        return found

    return encode


def _pools_first_token(folder: Path) -> bool:
    """sentence-transformers writes down how a model's states become one vector; most take the mean."""
    path = folder / "1_Pooling" / "config.json"
    if not path.is_file():
        return False
    try:
        found: Any = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        raise UserError(f"{path}: not JSON; it should say how the encoder pools its states") from None
    return isinstance(found, dict) and bool(found.get("pooling_mode_cls_token"))
