"""The loss and gradients of one step, in one pass or, to save memory, in chunks (GradCache).

The losses of small batches cannot simply be added up, since every sample's loss depends on all others. In chunks, all
embeddings are computed without a graph, then the loss and its gradient at the embeddings; then each chunk is run again
with a graph, and that gradient is fed into it (Gao et al. 2021, "Scaling Deep Contrastive Learning Batch Size under
Memory Limited Setup"). The result is that of one pass.
"""

from __future__ import annotations

import torch
from torch import Tensor

from equipoise.train.data.batches import Batch
from equipoise.train.features import LossParts, StatefulLoss
from equipoise.train.step.encode import Embeddings, assemble, encode, gather, join
from equipoise.train.step.matching import MatchingTowers
from equipoise.train.step.towers import Towers


def backward(
    towers: Towers, loss: StatefulLoss, batch: Batch, seed: int = 0, teacher: Towers | None = None
) -> LossParts:
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
    loss: StatefulLoss,
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
    there = [(value, gradient) for value, gradient in pairs if value is not None and gradient is not None]
    torch.autograd.backward([value for value, _ in there], [gradient for _, gradient in there])
