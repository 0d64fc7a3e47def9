"""Which items stand in which batch: a function of (seed, epoch) alone.

Nothing here depends on workers, processes or on what happened before, so a run that was killed
finds its place by the step number, and every process knows every batch.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.int64]


def epoch_order(seed: int, epoch: int, sizes: Sequence[int], weights: Sequence[float] | None = None) -> Indices:
    """The items of one epoch in order; items of part k are numbered after those of the parts before it.

    Without weights the parts are concatenated and every item comes once (CE-CLIP+ trains so on COCO, CC3M
    and Visual Genome). Weighted, an epoch is as long, and part k gets its share of it: its items come from
    one endless row of permutations, so that a small part repeats and a large one is seen in full over
    several epochs.
    """
    counts = list(sizes) if weights is None else _shares(sum(sizes), weights)
    offsets = np.cumsum([0, *sizes[:-1]])
    picked = [
        offset + _stream(seed, part, size, epoch * count, count)
        for part, (size, count, offset) in enumerate(zip(sizes, counts, offsets, strict=True))
    ]
    order = np.concatenate(picked)
    return order if len(picked) == 1 else np.random.default_rng([seed, epoch, len(sizes)]).permutation(order)


def _shares(total: int, weights: Sequence[float]) -> list[int]:
    """`total` split by weight, whole numbers, largest remainders first."""
    exact = [total * weight / sum(weights) for weight in weights]
    counts = [int(value) for value in exact]
    by_remainder = sorted(range(len(exact)), key=lambda part: counts[part] - exact[part])
    for part in by_remainder[: total - sum(counts)]:
        counts[part] += 1
    return counts


def _stream(seed: int, part: int, size: int, start: int, count: int) -> Indices:
    """`count` entries from `start` of the endless row permutation 0, permutation 1, ... of a part."""
    first, last = start // size, (start + count - 1) // size
    rounds = [np.random.default_rng([seed, part, number]).permutation(size) for number in range(first, last + 1)]
    return np.concatenate([np.empty(0, np.int64), *rounds])[start - first * size :][:count]


def batches(order: Indices, size: int, images: Sequence[Hashable] | None = None) -> list[Indices]:
    """The order cut into batches of `size`; a short rest is left out, as the papers' loaders do.

    With `images` (the image of every item) no batch holds an image twice: a second caption of an image
    would be a wrong negative of the first. An item that must wait goes into the next batch that takes it.
    """
    if images is None:
        return [order[start : start + size] for start in range(0, len(order) - size + 1, size)]
    stream = iter(order.tolist())
    waiting: deque[int] = deque()
    found: list[Indices] = []
    while True:
        batch: list[int] = []
        inside: set[Hashable] = set()
        for _ in range(len(waiting)):
            index = waiting.popleft()
            if len(batch) < size and images[index] not in inside:
                batch.append(index)
                inside.add(images[index])
            else:
                waiting.append(index)
        while len(batch) < size:
            following = next(stream, None)
            if following is None:
                return found
            if images[following] in inside:
                waiting.append(following)
            else:
                batch.append(following)
                inside.add(images[following])
        found.append(np.array(batch, dtype=np.int64))
