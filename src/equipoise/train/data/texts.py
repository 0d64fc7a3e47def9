"""Packs captions without padding: several share a row, with attention only within each caption.

CLIP's context is 77 tokens and a COCO caption has 13 in the median, so padding would be five sixths of the text tower's
work. CLIP's text tower is causal, so tokens after a caption's end cannot change its embedding. Captions are laid end to
end in rows, a block-diagonal mask separates them, and positions restart with each. The embeddings equal those of the
padded form up to rounding. Rows rather than one long sequence suit every attention kernel, the CPU and torch.compile.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

PADDING = -1  # the segment of a row's unused tail


@dataclass
class PackedTexts:
    """Texts in rows. Text u has `lengths[u]` tokens from `starts[u]` on in the flattened rows."""

    tokens: Tensor  # (R, L) int64
    positions: Tensor  # (R, L) int64, starting at 0 for each text
    segments: Tensor  # (R, L) int64, the text each token belongs to
    starts: Tensor  # (U,) int64
    lengths: Tensor  # (U,) int64

    @property
    def ends(self) -> Tensor:
        """The place of each text's last token (CLIP pools the end of text) in the flattened rows."""
        return self.starts + self.lengths - 1


def block_mask(segments: Tensor, dtype: torch.dtype) -> Tensor:
    """(R, 1, L, L), added to attention scores: 0 for earlier tokens of the same text, else the lowest number."""
    length = segments.shape[1]
    same = segments[:, :, None] == segments[:, None, :]
    backwards = torch.ones(length, length, dtype=torch.bool, device=segments.device).tril()
    lowest = torch.full((), torch.finfo(dtype).min, dtype=dtype, device=segments.device)
    return torch.where(same & backwards, torch.zeros_like(lowest), lowest)[:, None]


def row_length(context: int) -> int:
    """Tokens per row: at least the longest text, and a multiple of 8 for the attention kernels."""
    return max(32, -(-context // 8) * 8)


def pack(ids: Sequence[Sequence[int]], length: int) -> PackedTexts:
    """Best-fit packing into rows of `length` tokens: longest text first, into the fullest row with room."""
    lengths = np.array([len(text) for text in ids], dtype=np.int64)
    if len(lengths) == 0 or lengths.min() == 0:
        raise ValueError("every text needs at least one token")
    if lengths.max() > length:
        raise ValueError(f"a text of {lengths.max()} tokens does not fit a row of {length}")
    starts = np.empty(len(ids), dtype=np.int64)
    open_rows: list[list[int]] = [[] for _ in range(length + 1)]  # row numbers by the room they have left
    rows = 0
    for text in np.argsort(-lengths, kind="stable"):
        need = int(lengths[text])
        room = next((left for left in range(need, length) if open_rows[left]), None)
        if room is None:
            row, room = rows, length
            rows += 1
        else:
            row = open_rows[room].pop()
        starts[text] = row * length + length - room
        open_rows[room - need].append(row)
    tokens = np.zeros(rows * length, dtype=np.int64)
    positions = np.zeros(rows * length, dtype=np.int64)
    segments = np.full(rows * length, PADDING, dtype=np.int64)
    for number, (text_ids, start) in enumerate(zip(ids, starts.tolist(), strict=True)):
        stop = start + len(text_ids)
        tokens[start:stop] = text_ids
        positions[start:stop] = np.arange(stop - start)
        segments[start:stop] = number
    return PackedTexts(
        torch.from_numpy(tokens.reshape(rows, length)),
        torch.from_numpy(positions.reshape(rows, length)),
        torch.from_numpy(segments.reshape(rows, length)),
        torch.from_numpy(starts),
        torch.from_numpy(lengths),
    )
