"""How often images are used again: REPLACE asks up to 26 questions about one caption, and they are not 26 opinions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from equipoise.audit.record import Example, Reuse
from equipoise.data.items import Item

_SHOWN = 5


def effective_size(counts: Sequence[int]) -> float:
    """1 / sum of squared shares: as many images used equally often would be as concentrated."""
    return sum(counts) ** 2 / sum(count * count for count in counts)


def reuse(items: Sequence[Item]) -> Reuse | None:
    """Counts over items with an image, by path: boxes of one photo share its contents."""
    images = Counter(item.image.path for item in items if item.image is not None)
    if not images:
        return None
    captions = Counter((item.image.path, item.caption) for item in items if item.image is not None)
    n, effective = sum(images.values()), effective_size(list(images.values()))
    often = dict(images.most_common(_SHOWN))
    first = {
        item.image.path: item.id for item in reversed(items) if item.image is not None and item.image.path in often
    }
    return Reuse(
        items=n,
        images=len(images),
        most=max(images.values()),
        most_of_caption=max(captions.values()),
        effective=round(effective, 1),
        design_effect=round(n / effective, 3),
        examples=[
            Example(id=first[path], said=f"{path}: {count:,} items") for path, count in often.items() if count > 1
        ],
        fix="resample images, not items, for every interval (as eval and compare do); cap the items of one image",
    )
