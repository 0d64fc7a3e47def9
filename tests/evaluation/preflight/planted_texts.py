"""Loader bugs in what happens to texts, each with the check that finds it."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from tests.evaluation.preflight.planted import Loader, SiglipLoader, copied


class StartTwice(Loader):
    def tokens(self, texts: Sequence[str]) -> tuple[torch.Tensor, torch.Tensor]:
        ids, lengths = super().tokens(texts)
        return torch.cat([ids[:, :1], ids], dim=1)[:, :32], (lengths + 1).clamp(max=32)


class NotLowered(Loader):
    def tokens(self, texts: Sequence[str]) -> tuple[torch.Tensor, torch.Tensor]:
        ids, lengths = super().tokens(texts)
        capital = torch.tensor([[any(letter.isupper() for letter in text)] for text in texts])
        middle = (torch.arange(ids.shape[1]) > 0) & (torch.arange(ids.shape[1]) < lengths[:, None] - 1)
        return torch.where(capital & middle, (ids * 7 + 3) % 1200, ids), lengths

    def cleaned(self, text: str) -> str:
        return text


class NoEnd(Loader):
    def tokens(self, texts: Sequence[str]) -> tuple[torch.Tensor, torch.Tensor]:
        rows = [ids[1:-1][:32] for ids in self.tokenizer(list(texts))["input_ids"]]
        width = max(map(len, rows))
        return torch.tensor([row + [0] * (width - len(row)) for row in rows]), torch.tensor([len(r) for r in rows])


class FirstToken(Loader):
    def read(self, ids: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        return super().read(ids, torch.ones_like(lengths))


class LastPosition(Loader):
    """Read at the end of the padded row, which is another place in another batch."""

    def tokens(self, texts: Sequence[str]) -> tuple[torch.Tensor, torch.Tensor]:
        ids, lengths = super().tokens(texts)
        return torch.where(torch.arange(ids.shape[1]) >= lengths[:, None], 0, ids), torch.full_like(
            lengths, ids.shape[1]
        )


class PaddedLeft(Loader):
    def tokens(self, texts: Sequence[str]) -> tuple[torch.Tensor, torch.Tensor]:
        ids, lengths = super().tokens(texts)
        width = ids.shape[1]
        rows = [[0] * (width - n) + row[:n] for row, n in zip(ids.tolist(), lengths.tolist(), strict=True)]
        return torch.tensor(rows), torch.full_like(lengths, width)


class SortedByLength(Loader):
    def embed_texts(self, texts: Sequence[str]) -> Any:
        return super().embed_texts(sorted(texts, key=len))


class CacheByLength(Loader):
    def embed_texts(self, texts: Sequence[str]) -> Any:
        kept: dict[int, Any] = {}
        return np.stack([kept.setdefault(len(text), Loader.embed_texts(self, [text])[0]) for text in texts])


class OffByOne(Loader):
    """Each batch begins a row late."""

    def embed_texts(self, texts: Sequence[str]) -> Any:
        rows = super().embed_texts(texts)
        return np.concatenate([rows[:32], rows[31:-1]]) if len(rows) > 32 else rows


class FewTokens(Loader):
    def cleaned(self, text: str) -> str:
        return " ".join(text.lower().split()[:6])


class SiglipOneByOne(SiglipLoader):
    """Never a neighbour, and never padded."""

    padding, chunk = False, 1


class Dropout(Loader):
    def read(self, ids: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.dropout(super().read(ids, lengths), 0.1)


def _rounded(module: torch.nn.Linear, rows: torch.Tensor) -> torch.Tensor:
    """Sums in float32, as bfloat16 has them, but ten times faster on such processors."""
    bias = None if module.bias is None else module.bias.float()
    return torch.nn.functional.linear(rows.float(), module.weight.float(), bias).bfloat16()


class HalfPrecision(Loader):
    def __init__(self) -> None:
        super().__init__()
        self.network = copied()
        self.network.text_model.bfloat16()  # pictures would take a minute on processors without bfloat16
        self.network.text_projection.bfloat16()
        for module in self.network.modules():
            if isinstance(module, torch.nn.Linear) and module.weight.dtype == torch.bfloat16:
                module.forward = functools.partial(_rounded, module)

    def see(self, pixels: torch.Tensor) -> torch.Tensor:
        return super().see(pixels).bfloat16().float()


class OtherTokenizer(Loader):
    """A vocabulary in another order."""

    def tokens(self, texts: Sequence[str]) -> tuple[torch.Tensor, torch.Tensor]:
        ids, lengths = super().tokens(texts)
        return torch.where(ids < 1227, (ids * 13 + 5) % 1227, ids), lengths


OF_TEXTS: list[tuple[type, str | set[str]]] = [
    (StartTwice, "special tokens"),
    (NotLowered, "case"),
    (NoEnd, "special tokens"),
    (FirstToken, "collapse"),
    (LastPosition, "text padding"),
    (PaddedLeft, "text padding"),
    (SortedByLength, "text batch"),
    (CacheByLength, {"text batch", "vocabulary", "collapse"}),
    (OffByOne, "text batch"),
    (FewTokens, "text end"),
    (SiglipOneByOne, "text padding"),
    (Dropout, "determinism"),
    (HalfPrecision, "precision"),
    (OtherTokenizer, "probe set"),
]
