"""From a batch to the features of its loss, over one process or many, in one pass or in chunks.

    towers      the distinct images and texts of this process -> unit-norm embeddings
    gather      the embeddings of all processes; each process backpropagates into its own
    assemble    rows of the embeddings -> the fields of `Features`, with masks

Every process computes the loss of the whole batch, so the gradient of its own embeddings is exact, and the sum of the
weights' gradients over processes is what one process would compute.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import pad

from equipoise.train.data.batches import MISSING, Batch
from equipoise.train.features import Features
from equipoise.train.step import distributed
from equipoise.train.step.towers import Towers

IMAGE_FIELDS = ("image", "hard_image")


@dataclass
class Embeddings:
    """Embeddings of distinct images and texts; patches and tokens only if the loss needs them."""

    images: Tensor  # (I, D) unit norm
    texts: Tensor  # (U, D) unit norm
    patches: Tensor | None = None  # (I, P, D)
    tokens: Tensor | None = None  # (U, T, D)
    tokens_mask: Tensor | None = None  # (U, T) bool

    def leaves(self) -> dict[str, Tensor]:
        """The tensors with a gradient."""
        found = {"images": self.images, "texts": self.texts, "patches": self.patches, "tokens": self.tokens}
        return {name: value for name, value in found.items() if value is not None}


def join(
    images: list[tuple[Tensor, Tensor | None]], texts: list[tuple[Tensor, Tensor | None, Tensor | None]]
) -> Embeddings:
    """Concatenate the chunks; tokens are padded to the longest chunk."""
    patches = [patch for _, patch in images if patch is not None]
    tokens = [token for _, token, _ in texts if token is not None]
    masks = [mask for _, _, mask in texts if mask is not None]
    longest = max((token.shape[1] for token in tokens), default=0)
    return Embeddings(
        torch.cat([image for image, _ in images]),
        torch.cat([text for text, _, _ in texts]),
        torch.cat(patches) if patches else None,
        torch.cat([widen(token, longest) for token in tokens]) if tokens else None,
        torch.cat([widen(mask, longest) for mask in masks]) if masks else None,
    )


def widen(value: Tensor, length: int) -> Tensor:
    """(U, T, ...) padded with zeros to T = length."""
    return pad(value, [0, 0] * (value.dim() - 2) + [0, length - value.shape[1]])


def gather(local: Embeddings, fields: dict[str, Tensor]) -> tuple[Embeddings, dict[str, Tensor]]:
    """Embeddings and fields of all processes, with the rows in the fields renumbered."""
    if distributed.processes() == 1:
        return local, fields
    tokens, mask = local.tokens, local.tokens_mask
    sizes = distributed.exchange(
        [len(local.images), len(local.texts), len(fields["image"]), 0 if tokens is None else tokens.shape[1]]
    )
    images, texts, samples, longest = ([row[kind] for row in sizes] for kind in range(4))
    if tokens is not None and mask is not None:
        tokens, mask = widen(tokens, max(longest)), widen(mask, max(longest))
    mine = distributed.rank()
    moved: dict[str, Tensor] = {}
    for name, value in sorted(fields.items()):
        before = sum((images if name in IMAGE_FIELDS else texts)[:mine])
        moved[name] = distributed.gather(torch.where(value == MISSING, MISSING, value + before), samples)
    return Embeddings(
        distributed.gather(local.images, images),
        distributed.gather(local.texts, texts),
        None if local.patches is None else distributed.gather(local.patches, images),
        None if tokens is None else distributed.gather(tokens, texts),
        None if mask is None else distributed.gather(mask, texts),
    ), moved


def assemble(embeddings: Embeddings, fields: dict[str, Tensor], scale: Tensor, bias: Tensor | None) -> Features:
    """The Features of a batch; missing rows are zero and masked."""
    values: dict[str, Tensor] = {}
    for name, rows in fields.items():
        vectors = embeddings.images if name in IMAGE_FIELDS else embeddings.texts
        there = rows != MISSING
        values[name] = vectors[rows.clamp(min=0)] * there[..., None]
        if name not in {"image", "caption", "hard_caption"}:  # the hard image's mask serves its caption too
            values[f"{name}_mask"] = there
    if embeddings.patches is not None and embeddings.tokens is not None and embeddings.tokens_mask is not None:
        values["patches"] = embeddings.patches[fields["image"]]
        for name in ("caption", "negative"):
            if name in fields:
                there = fields[name] != MISSING
                rows = fields[name].clamp(min=0)
                values[f"{name}_tokens"] = embeddings.tokens[rows] * there[..., None, None]
                values[f"{name}_tokens_mask"] = embeddings.tokens_mask[rows] & there[..., None]
    return Features(**values, scale=scale, bias=bias)


def encode(towers: Towers, batch: Batch) -> Embeddings:
    """All chunks of a batch in one pass, with a graph if gradients are on."""
    return join([towers.images(pixels) for pixels in batch.pixels], [towers.texts(texts) for texts in batch.texts])
