"""Folds of items by their images: nothing that a judge learns comes from an image it is asked about."""

from __future__ import annotations

from collections.abc import Sequence

from equipoise.items import Item
from equipoise.perturb.bias.separability import FOLDS, fold_of


def folds(items: Sequence[Item], count: int = FOLDS) -> list[int]:
    """The fold of each item. Items that share a photo, be it one's own and another's negative, share a fold.

    An item without an image is its own group (no path begins with a newline). The fold is a hash of the group's
    first path in the alphabet, so the order of the items does not matter.
    """
    first: dict[str, str] = {}

    def root(name: str) -> str:
        while (other := first.setdefault(name, name)) != name:
            first[name] = name = first[other]
        return name

    groups = [[ref.path for ref in item.images()] or [f"\n{item.id}"] for item in items]
    for names in groups:
        for name in names[1:]:
            one, other = sorted((root(names[0]), root(name)))
            first[other] = one
    return [fold_of(root(names[0]), count) for names in groups]
