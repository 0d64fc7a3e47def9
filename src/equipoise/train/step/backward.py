"""The loss, the gradients and the optimizer of one step, in one pass or, to save memory, in chunks (GradCache).

The losses of small batches cannot simply be added up, since every sample's loss depends on all others. In chunks, all
embeddings are computed without a graph, then the loss and its gradient at the embeddings; then each chunk is run again
with a graph, and that gradient is fed into it (Gao et al. 2021, "Scaling Deep Contrastive Learning Batch Size under
Memory Limited Setup"). The result is that of one pass.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import pad

from equipoise.train.data.batches import MISSING, Batch
from equipoise.train.losses.base import Features, LossParts
from equipoise.train.recipe import Recipe
from equipoise.train.step import distributed
from equipoise.train.step.matching import MatchingTowers
from equipoise.train.step.towers import Towers

Loss = Callable[[Features], LossParts]
IMAGE_FIELDS = ("image", "hard_image")


def backward(towers: Towers, loss: Loss, batch: Batch, seed: int = 0, teacher: Towers | None = None) -> LossParts:
    """Add the gradients of the batch's loss to the weights; the returned loss is detached.

    `seed` makes dropout, if any, the same in both passes of a chunk. The loss also gets the `teacher`'s embeddings of
    the batch, without gradient.
    """
    whole = len(batch.pixels) == 1 and len(batch.texts) == 1
    precision = torch.autocast("cuda", torch.bfloat16, enabled=batch.pixels[0].is_cuda, cache_enabled=False)
    taught = None
    if teacher is not None:
        with torch.no_grad(), precision:
            taught = encode(teacher, batch)
    if whole:
        torch.manual_seed(seed)
        with precision:
            embeddings = encode(towers, batch)
        parts = _loss(towers, loss, batch, embeddings, taught, seed, precision)
        parts.total.backward()  # type: ignore[no-untyped-call]
    else:
        with torch.no_grad(), precision:
            cached = _chunks(towers, batch, seed)
        for leaf in cached.leaves().values():
            leaf.requires_grad_()
        parts = _loss(towers, loss, batch, cached, taught, seed, precision)
        parts.total.backward()  # type: ignore[no-untyped-call]
        _feed(towers, batch, cached, seed, precision)
    return LossParts(parts.total.detach(), {name: value.detach() for name, value in parts.parts.items()})


def _loss(
    towers: Towers,
    loss: Loss,
    batch: Batch,
    local: Embeddings,
    taught: Embeddings | None,
    seed: int,
    precision: torch.autocast,
) -> LossParts:
    embeddings, fields = gather(local, batch.fields)
    features = assemble(embeddings, fields, towers.scale(), towers.bias())
    if taught is not None:
        seen = assemble(gather(taught, batch.fields)[0], fields, features.scale, None)
        features.teacher_image, features.teacher_caption = seen.image, seen.caption
        features.teacher_negative = seen.negative
    if isinstance(towers, MatchingTowers) and embeddings.patches is not None:
        with precision:
            towers.match(features, batch, embeddings.patches, seed)
    return loss(features)


def _chunks(towers: Towers, batch: Batch, seed: int) -> Embeddings:
    images, texts = [], []
    for number, pixels in enumerate(batch.pixels):
        torch.manual_seed(seed + number)
        images.append(towers.images(pixels))
    for number, chunk in enumerate(batch.texts):
        torch.manual_seed(seed + number)
        texts.append(towers.texts(chunk))
    return join(images, texts)


def _feed(towers: Towers, batch: Batch, cached: Embeddings, seed: int, precision: torch.autocast) -> None:
    """Run each chunk again with a graph, and backpropagate the gradient at its embeddings."""
    start = 0
    for number, pixels in enumerate(batch.pixels):
        torch.manual_seed(seed + number)
        with precision:
            image, patches = towers.images(pixels)
        rows = slice(start, start + len(image))
        start = rows.stop
        _through([(image, _gradient(cached.images, rows)), (patches, _gradient(cached.patches, rows))])
    start = 0
    for number, chunk in enumerate(batch.texts):
        torch.manual_seed(seed + number)
        with precision:
            text, tokens, _ = towers.texts(chunk)
        rows = slice(start, start + len(text))
        start = rows.stop
        token_gradient = _gradient(cached.tokens, rows)
        if tokens is not None and token_gradient is not None:
            token_gradient = token_gradient[:, : tokens.shape[1]]
        _through([(text, _gradient(cached.texts, rows)), (tokens, token_gradient)])


def _gradient(leaf: Tensor | None, rows: slice) -> Tensor | None:
    return None if leaf is None or leaf.grad is None else leaf.grad[rows]


def _through(pairs: list[tuple[Tensor | None, Tensor | None]]) -> None:
    present = [(value, gradient) for value, gradient in pairs if value is not None and gradient is not None]
    torch.autograd.backward([value for value, _ in present], [gradient for _, gradient in present])


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
        tensors = {"images": self.images, "texts": self.texts, "patches": self.patches, "tokens": self.tokens}
        return {name: value for name, value in tensors.items() if value is not None}


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
    rank = distributed.rank()
    moved: dict[str, Tensor] = {}
    for name, value in sorted(fields.items()):
        before = sum((images if name in IMAGE_FIELDS else texts)[:rank])
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
        exists = rows != MISSING
        values[name] = vectors[rows.clamp(min=0)] * exists[..., None]
        if name not in {"image", "caption", "hard_caption"}:  # the hard image's mask serves its caption too
            values[f"{name}_mask"] = exists
    if embeddings.patches is not None and embeddings.tokens is not None and embeddings.tokens_mask is not None:
        values["patches"] = embeddings.patches[fields["image"]]
        for name in ("caption", "negative"):
            if name in fields:
                exists = fields[name] != MISSING
                rows = fields[name].clamp(min=0)
                values[f"{name}_tokens"] = embeddings.tokens[rows] * exists[..., None, None]
                values[f"{name}_tokens_mask"] = embeddings.tokens_mask[rows] & exists[..., None]
    return Features(**values, scale=scale, bias=bias)


def encode(towers: Towers, batch: Batch) -> Embeddings:
    """All chunks of a batch in one pass, with a graph if gradients are on."""
    return join([towers.images(pixels) for pixels in batch.pixels], [towers.texts(texts) for texts in batch.texts])


# The optimizer: AdamW as in the papers, and the learning rate as a function of the step.


def parameter_groups(network: torch.nn.Module, weight_decay: float) -> list[dict[str, object]]:
    """Weight decay only on matrices, not on biases, norms, other vectors and the logit scale (open_clip's rule)."""
    trained = [parameter for parameter in network.parameters() if parameter.requires_grad]
    return [
        {"params": [p for p in trained if p.ndim >= 2], "weight_decay": weight_decay},
        {"params": [p for p in trained if p.ndim < 2], "weight_decay": 0.0},
    ]


def adamw(network: torch.nn.Module, recipe: Recipe) -> torch.optim.AdamW:
    fused = next(network.parameters()).is_cuda
    groups = [group for group in parameter_groups(network, recipe.weight_decay) if group["params"]]
    return torch.optim.AdamW(groups, lr=recipe.lr, betas=recipe.betas, eps=recipe.eps, fused=fused)


def warmup_used(recipe: Recipe, steps: int) -> int:
    """A recipe's warm-up is shortened to its share of the run, since SVLC's 10,000 steps may be longer than a short
    run. A warm-up that the user sets is kept."""
    return min(recipe.warmup_steps, max(1, int(steps * recipe.warmup_share)))


def learning_rate(recipe: Recipe, step: int, steps: int) -> float:
    """Linear warm-up, then a half cosine to zero."""
    warmup = warmup_used(recipe, steps)
    if step < warmup:
        return recipe.lr * (step + 1) / warmup
    return recipe.lr * 0.5 * (1 + math.cos(math.pi * (step - warmup) / max(1, steps - warmup)))


@torch.no_grad()
def clamp_scale(network: torch.nn.Module, highest: float) -> None:
    """exp(logit_scale) stays between 1 and `highest` (CLIP: 100)."""
    scale = getattr(network, "logit_scale", None)
    if isinstance(scale, torch.nn.Parameter) and scale.requires_grad:
        scale.clamp_(0, math.log(highest))
