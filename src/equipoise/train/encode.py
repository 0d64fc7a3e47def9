"""From a batch to the features of its loss, over one process or many, in one pass or in chunks.

    towers      the distinct images and texts of this process -> unit-norm embeddings
    gather      those of all processes, in their order; each process passes the gradient of its own
    assemble    rows of the embeddings -> the fields of `Features`, with masks

Because every process computes the loss of the whole batch, the gradient of its own embeddings is
exact, and summing the weights' gradients over processes gives what one process would have found.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import normalize, pad

from equipoise.models.preprocess import Preprocess
from equipoise.train import distributed
from equipoise.train.data import MISSING, Batch
from equipoise.train.features import Features
from equipoise.train.texts import PackedTexts, block_mask

IMAGE_FIELDS = ("image", "hard_image")


@dataclass
class Embeddings:
    """Of distinct images and texts. Patches and tokens only where the recipe's loss looks at them."""

    images: Tensor  # (I, D) unit norm
    texts: Tensor  # (U, D) unit norm
    patches: Tensor | None = None  # (I, P, D)
    tokens: Tensor | None = None  # (U, T, D)
    tokens_mask: Tensor | None = None  # (U, T) bool

    def leaves(self) -> dict[str, Tensor]:
        """The tensors gradients flow through."""
        found = {"images": self.images, "texts": self.texts, "patches": self.patches, "tokens": self.tokens}
        return {name: value for name, value in found.items() if value is not None}


class Towers:
    """The two towers of a transformers CLIP or SigLIP, `compiled` for a GPU or not."""

    def __init__(self, network: Any, preprocess: Preprocess, *, tokens: bool = False, compiled: bool = False) -> None:
        self.network, self.tokens, self.compiled = network, tokens, compiled
        self.dtype = network.dtype  # of the weights; under autocast the towers' output is narrower
        self.mean, self.deviation = (
            torch.tensor(values, dtype=self.dtype, device=network.device)
            for values in (preprocess.mean, preprocess.std)
        )
        self._image = torch.compile(self._image_states) if compiled else self._image_states
        self._packed = torch.compile(self._packed_states) if compiled else self._packed_states

    def _normalized(self, pixels: Tensor) -> Tensor:
        """Bytes (I, H, W, 3) -> (I, 3, H, W), with the arithmetic of the model's preprocessing."""
        return ((pixels.to(self.dtype) / 255 - self.mean) / self.deviation).permute(0, 3, 1, 2)

    def _image_states(self, pixels: Tensor) -> tuple[Tensor, Tensor]:
        output = self.network.vision_model(pixel_values=self._normalized(pixels))
        return output.last_hidden_state, output.pooler_output

    def _packed_states(self, tokens: Tensor, positions: Tensor, segments: Tensor) -> Tensor:
        """The text tower by its pieces: as a whole it refuses rows longer than the context."""
        tower = self.network.text_model
        embedded = tower.embeddings.token_embedding(tokens) + tower.embeddings.position_embedding(positions)
        mask = block_mask(segments, self.dtype)
        states: Tensor = tower.final_layer_norm(tower.encoder(embedded, attention_mask=mask).last_hidden_state)
        return states

    def images(self, pixels: Tensor) -> tuple[Tensor, Tensor | None]:
        """(I, D) unit norm, and (I, P, D) patches where wanted.

        The patches go through the layer norm and projection of the class token, as in FSC-CLIP (open_clip
        norms all tokens before it pools; transformers only the pooled one)."""
        if not hasattr(self.network, "visual_projection"):  # SigLIP: its pooled output is the embedding
            output = self.network.get_image_features(pixel_values=self._normalized(pixels))
            return normalize(output.pooler_output.to(self.dtype), dim=-1), None
        states, pooled = self._image(pixels)
        image = normalize(self.network.visual_projection(pooled).to(self.dtype), dim=-1)
        if not self.tokens:
            return image, None
        patches = self.network.vision_model.post_layernorm(states[:, 1:])
        return image, self.network.visual_projection(patches).to(self.dtype)

    def texts(self, chunk: PackedTexts | Tensor) -> tuple[Tensor, Tensor | None, Tensor | None]:
        """(U, D) unit norm, and (U, T, D) tokens with their mask where wanted (words and the end, no start)."""
        if not isinstance(chunk, PackedTexts):
            return (
                normalize(self.network.get_text_features(input_ids=chunk).pooler_output.to(self.dtype), dim=-1),
                None,
                None,
            )
        rows = (chunk.tokens, chunk.positions, chunk.segments)
        if self.compiled:  # batches differ in rows, and one compiled tower serves them all
            for tensor in rows:
                torch._dynamo.maybe_mark_dynamic(tensor, 0)
        states = self._packed(*rows).flatten(0, 1)
        text = normalize(self.network.text_projection(states[chunk.ends]).to(self.dtype), dim=-1)
        if not self.tokens:
            return text, None, None
        place = torch.arange(int(chunk.lengths.max()), device=states.device)
        mask = (place > 0) & (place < chunk.lengths[:, None])
        found = (chunk.starts[:, None] + place).clamp(max=len(states) - 1)
        tokens = self.network.text_projection(states[found]).to(self.dtype)
        return text, tokens * mask[..., None], mask

    def scale(self) -> Tensor:
        """exp(logit_scale); its gradient, alike in every process, is shared among them before they are summed."""
        return distributed.shared(self.network.logit_scale).exp()

    def bias(self) -> Tensor | None:
        bias = getattr(self.network, "logit_bias", None)
        return None if bias is None else distributed.shared(bias)


def join(
    images: list[tuple[Tensor, Tensor | None]], texts: list[tuple[Tensor, Tensor | None, Tensor | None]]
) -> Embeddings:
    """The chunks' embeddings as one; token rows are widened to the longest chunk's."""
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
    """Embeddings and fields of all processes; the rows that fields name are renumbered to fit."""
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
    """The Features of a batch: rows picked, missing ones zero and masked."""
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
    """All chunks of a batch in one pass, with a graph behind them if gradients are on."""
    return join([towers.images(pixels) for pixels in batch.pixels], [towers.texts(texts) for texts in batch.texts])
