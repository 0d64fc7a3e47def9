"""Scores of a model that can only choose between two texts of an image (a server without log-probabilities).

Every right text of an item meets every hard negative, for each of the item's images. A negative scores one half; a
right text scores the least share of its choices that it won: 1 where it won against every negative in both orders, 0.5
where the order decided (a tie, so never a win), 0 where it lost. The outcomes of `metrics` are then those of the
choices. Mean scores and margins of such a run are shares of choices and nothing finer.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from equipoise.core.errors import UserError
from equipoise.core.progress import progress
from equipoise.data.images import ImageProblem, ImageSource, decode_image
from equipoise.data.items import ImageRef, Item

LEVEL = 0.5  # of every negative
Duel = tuple[str, str]  # a right text and a negative


@dataclass
class Chosen:
    """The share of choices that a right text won against a negative, for each image."""

    shares: dict[ImageRef, dict[Duel, float]] = field(default_factory=dict)
    bad: dict[ImageRef, str] = field(default_factory=dict)
    digests: dict[str, bytes] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)


def choose_all(model: Any, items: Sequence[Item], source: ImageSource, batch_size: int) -> Chosen:
    """Every distinct choice once. The model keeps its own answers: what is asked here may have been answered before."""
    duels: dict[ImageRef, dict[Duel, None]] = {}
    for item in items:
        for ref in item.images():
            duels.setdefault(ref, {}).update(dict.fromkeys(duels_of(item)))
    found = Chosen()
    waiting: list[tuple[ImageRef, Any, Duel]] = []
    with progress(sum(map(len, duels.values())), "choices ", "pairs") as advance:

        def ask() -> None:
            images = [image for _, image, _ in waiting]
            shares = model.prefer(images, *([duel[side] for _, _, duel in waiting] for side in (0, 1)))
            if len(shares) != len(waiting):
                raise UserError(f"prefer: expected {len(waiting)} shares, found {len(shares)}")
            for (ref, _, duel), share in zip(waiting, shares, strict=True):
                found.shares.setdefault(ref, {})[duel] = float(share)
            advance(len(waiting))
            waiting.clear()

        for ref, asked in duels.items():
            try:
                data = source.read(ref.path)
                found.digests[ref.path] = hashlib.sha256(data).digest()
                image = decode_image(data, ref)
            except ImageProblem as problem:
                found.bad[ref] = str(problem)
                continue
            for duel in asked:
                waiting.append((ref, image, duel))
                if len(waiting) == batch_size:
                    ask()
        if waiting:
            ask()
    found.counts = {"images": len(duels) - len(found.bad), **getattr(model, "counts", {})}
    return found


def duels_of(item: Item) -> list[Duel]:
    right = [item.caption, *(text.text for text in item.positives)]
    return [(one, text.text) for one in right for text in item.negatives]


def scores_of(item: Item, chosen: Chosen) -> list[float]:
    """The scores of an item's texts for each of its images, caption first."""
    values = []
    for ref in item.images():
        shares = chosen.shares[ref]
        for right in (item.caption, *(text.text for text in item.positives)):
            values.append(min(shares[right, text.text] for text in item.negatives))
        values += [LEVEL] * len(item.negatives)
    return values
