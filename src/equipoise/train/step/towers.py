"""The two towers in training: no padding, bytes in, unit-norm embeddings out.

CLIP's towers are run layer by layer (with transformers' modules and weights), because rows of packed captions may be
longer than the context, and because one compiled layer serves all layers of a tower: 12 s before the first step,
against 70 s for a compiled tower. SigLIP's text tower is not causal, so SigLIP runs as in transformers.

Captions are packed: CLIP's context is 77 tokens and a COCO caption has 13 in the median, so padding would be five
sixths of the text tower's work. CLIP's text tower is causal, so tokens after a caption's end cannot change its
embedding. Captions are laid end to end in rows, a block-diagonal mask separates them, and positions restart with each.
The embeddings equal those of the padded form up to rounding. Rows rather than one long sequence suit every attention
kernel, the CPU and torch.compile.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import linear, normalize, pad

from equipoise.models.families import family_of, read_texts
from equipoise.models.inputs import Preprocess
from equipoise.train.step import distributed
from equipoise.train.step.lora import trained_weights

if TYPE_CHECKING:
    from transformers import PreTrainedModel

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


ALIKE = 32  # padded texts per batch on a CPU


class Towers:
    """Embeds images and texts with a transformers CLIP or SigLIP. On a GPU, `compiled` layers and, if each tower is
    called once per step, `graphed` towers are faster."""

    def __init__(
        self,
        network: PreTrainedModel,
        preprocess: Preprocess,
        *,
        tokens: bool = False,
        compiled: bool = False,
        graphed: bool = False,
    ) -> None:
        self.network, self.tokens, self.compiled = network, tokens, compiled
        self.by_pieces = family_of(network).by_pieces
        self.dtype = network.dtype  # of the weights; autocast makes the towers' output narrower
        self.mean, self.deviation = (
            torch.tensor(values, dtype=self.dtype, device=network.device)
            for values in (preprocess.mean, preprocess.std)
        )
        if self.by_pieces:
            self._vision_layers, self._text_layers = (
                [torch.compile(layer) if compiled else layer for layer in tower.encoder.layers]
                for tower in (network.vision_model, network.text_model)
            )
            self._see: Callable[[Tensor], Tensor] = self._seen
            self._read: Callable[[Tensor, Tensor], Tensor] = self._read_rows
            if graphed:
                self._see = Graphed(network.vision_model, self._seen)
                self._read = Graphed(network.text_model, self._read_rows)

    def images(self, pixels: Tensor) -> tuple[Tensor, Tensor | None]:
        """Bytes (I, H, W, 3) -> (I, D) unit norm, and (I, P, D) patches if wanted.

        As in FSC-CLIP, patches go through the layer norm and projection of the class token (open_clip normalises all
        tokens before it pools, transformers only the pooled one). Floats (I, width) are outputs of `pooled` and are
        only projected."""
        if pixels.is_floating_point():
            return self._unit(self._projected(pixels)), None
        if not self.by_pieces:
            output = self.network.get_image_features(pixel_values=self.normalized(pixels).permute(0, 3, 1, 2))
            return self._unit(output.pooler_output), None
        tower = self.network.vision_model
        states = self._see(pixels)
        image = self._unit(self.network.visual_projection(tower.post_layernorm(states[:, 0])))
        if not self.tokens:
            return image, None
        return image, self.network.visual_projection(tower.post_layernorm(states[:, 1:])).to(self.dtype)

    @torch.no_grad()
    def pooled(self, pixels: Tensor) -> Tensor:
        """Bytes (I, H, W, 3) -> (I, width), before the projection: the output of a frozen tower."""
        output = self.network.vision_model(pixel_values=self.normalized(pixels).permute(0, 3, 1, 2))
        pooled: Tensor = output.pooler_output.to(self.dtype)
        return pooled

    def _projected(self, pooled: Tensor) -> Tensor:
        """The projected vectors; SigLIP has no projection."""
        projection = getattr(self.network, "visual_projection", None)
        projected: Tensor = pooled if projection is None else projection(pooled)
        return projected

    def _seen(self, pixels: Tensor) -> Tensor:
        """The last states of the class token and all patches, (I, 1 + P, width)."""
        states: Tensor = self.network.vision_model.pre_layrnorm(self._patches(self.normalized(pixels)))
        for layer in self._vision_layers:
            states = layer(states, None)
        return states

    def normalized(self, pixels: Tensor) -> Tensor:
        """Bytes -> floats of the same shape, as the model's preprocessing computes them."""
        return (pixels.to(self.dtype) / 255 - self.mean) / self.deviation

    def _patches(self, floats: Tensor) -> Tensor:
        """(I, H, W, 3) -> (I, 1 + P, width): the class token and the patches, with their positions."""
        embeddings = self.network.vision_model.embeddings
        convolution = embeddings.patch_embedding
        if isinstance(convolution, torch.nn.Conv2d):
            count, height, width, _ = floats.shape
            size = embeddings.patch_size
            cut = floats.view(count, height // size, size, width // size, size, 3).permute(0, 1, 3, 5, 2, 4)
            patches = linear(cut.reshape(count, -1, 3 * size * size), convolution.weight.flatten(1))
        else:  # with an adapter on it
            patches = convolution(floats.permute(0, 3, 1, 2)).flatten(2).transpose(1, 2)
        first = embeddings.class_embedding.to(patches.dtype).expand(len(patches), 1, -1)
        positions: Tensor = embeddings.position_embedding.weight
        return torch.cat([first, patches], dim=1) + positions

    def texts(self, chunk: PackedTexts | Tensor) -> tuple[Tensor, Tensor | None, Tensor | None]:
        """(U, D) unit norm, and if wanted (U, T, D) tokens with their mask (words and the end, not the start)."""
        if not isinstance(chunk, PackedTexts):
            return self._unit(self._padded(chunk)), None, None
        states = self._packed(chunk)
        text = self._unit(self.network.text_projection(states[chunk.ends]))
        if not self.tokens:
            return text, None, None
        place = torch.arange(int(chunk.lengths.max()), device=states.device)
        mask = (place > 0) & (place < chunk.lengths[:, None])
        rows = (chunk.starts[:, None] + place).clamp(max=len(states) - 1)
        tokens = self.network.text_projection(states[rows]).to(self.dtype)
        return text, tokens * mask[..., None], mask

    def _padded(self, ids: Tensor) -> Tensor:
        """The features of padded texts. If padding is masked, a CPU reads texts of similar length together, since half
        of a batch is padding."""
        if ids.device.type != "cpu" or not family_of(self.network).masked_text:
            return read_texts(self.network, ids)
        lengths = (ids != self.network.config.text_config.pad_token_id).sum(1)
        order = lengths.argsort(stable=True)
        parts = [read_texts(self.network, ids[rows, : int(lengths[rows[-1]])]) for rows in order.split(ALIKE)]
        return torch.cat(parts)[order.argsort()]

    def _packed(self, chunk: PackedTexts) -> Tensor:
        """The last states of all tokens, in flattened rows."""
        tower = self.network.text_model
        states = tower.embeddings.token_embedding(chunk.tokens) + tower.embeddings.position_embedding(chunk.positions)
        return self._read(states, chunk.segments).flatten(0, 1)

    def _read_rows(self, states: Tensor, segments: Tensor) -> Tensor:
        mask = block_mask(segments, self.dtype)
        if self.compiled:  # one compiled layer for any number of rows
            torch._dynamo.maybe_mark_dynamic(states, 0)
            torch._dynamo.maybe_mark_dynamic(mask, 0)
        for layer in self._text_layers:
            states = layer(states, mask)
        last: Tensor = self.network.text_model.final_layer_norm(states)
        return last

    def scale(self) -> Tensor:
        """exp(logit_scale); every process has its whole gradient (see `distributed.shared`)."""
        return distributed.shared(self.network.logit_scale).exp()

    def bias(self) -> Tensor | None:
        bias = getattr(self.network, "logit_bias", None)
        return None if bias is None else distributed.shared(bias)

    def _unit(self, features: Tensor) -> Tensor:
        return normalize(features.to(self.dtype), dim=-1)


class Teacher:
    """A moving average of the network, for self-distillation (DeGLA, Hu et al. 2025):

        teacher <- decay teacher + (1 - decay) student        after every step, for the trained weights

    A decay of 1 keeps the base. With LoRA, the two factors are averaged separately. The weights are in the checkpoint,
    so a resumed run has exactly the same teacher. It costs a forward pass of both towers and a copy of the weights.
    """

    def __init__(self, student: PreTrainedModel, preprocess: Preprocess, decay: float) -> None:
        self.decay = decay
        network = copy.deepcopy(student).eval()
        weights = dict(network.named_parameters())
        self._followed = {name: weights[name] for name in trained_weights(student)}
        network.requires_grad_(False)
        self.towers = Towers(network, preprocess)

    @torch.no_grad()
    def follow(self, student: torch.nn.Module) -> None:
        """Call it once after each optimizer step."""
        for name, weight in trained_weights(student).items():
            self._followed[name].lerp_(weight, 1 - self.decay)

    def state_dict(self) -> dict[str, Tensor]:
        return {name: weight.detach() for name, weight in self._followed.items()}

    @torch.no_grad()
    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        for name, weight in self._followed.items():
            weight.copy_(state[name])


# CUDA graphs: a ViT-B/32 step has some 2,000 kernels; with packed captions the GPU needs about 33 ms for them, and
# Python 90 ms to launch them (H200, profiled). Replaying a recorded graph removes the launches. A graph has fixed
# shapes, so inputs are padded to a multiple of ROUND rows; a run has two or three sizes.

ROUND = 16
MOST = 6  # recorded sizes per tower; each keeps the memory of its activations


class _Module(torch.nn.Module):
    """Attaches a tower's parameters to a function, so that the recording includes their gradients."""

    def __init__(self, tower: torch.nn.Module, run: Callable[..., Tensor]) -> None:
        super().__init__()
        self.tower = tower
        self.run = run

    def forward(self, *inputs: Tensor) -> Tensor:
        return self.run(*inputs)


class Graphed:
    """`run` on tensors with equal first dimensions, recorded once per padded size.

    The next replay overwrites the gradients of the last, so call it once per step.
    """

    def __init__(self, tower: torch.nn.Module, run: Callable[..., Tensor]) -> None:
        self.tower, self.run = tower, run
        self._recorded: dict[int, Callable[..., Tensor]] = {}

    def __call__(self, *inputs: Tensor) -> Tensor:
        count = len(inputs[0])
        size = -(-count // ROUND) * ROUND
        rounded = tuple(pad(value, [0, 0] * (value.dim() - 1) + [0, size - count]) for value in inputs)
        if size not in self._recorded:
            self._recorded[size] = self._record(rounded) if len(self._recorded) < MOST else self.run
        result: Tensor = self._recorded[size](*rounded)
        return result[:count]

    def _record(self, inputs: tuple[Tensor, ...]) -> Callable[..., Tensor]:
        samples = tuple(value.detach().clone().requires_grad_(value.requires_grad) for value in inputs)
        try:
            module = _Module(self.tower, self.run)
            recorded: Any = torch.cuda.make_graphed_callables(module, samples, allow_unused_input=True)
        except RuntimeError as error:
            warnings.warn(f"a CUDA graph could not be recorded, training goes on without: {error}", stacklevel=2)
            return self.run
        return recorded  # type: ignore[no-any-return]
