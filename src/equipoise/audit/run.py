"""Items -> an audit."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence

from equipoise.audit.checks import checks
from equipoise.audit.record import Audit, Example, Reuse
from equipoise.audit.shortcuts import detector, shortcuts
from equipoise.data.items import Item

_SHOWN = 5
SAMPLE = 4_000  # items for the shortcuts: enough for intervals of two points, and seconds instead of minutes


def audit(
    items: Sequence[Item],
    name: str,
    seed: int = 0,
    sample: int = SAMPLE,
    advance: Callable[[int], None] = lambda count: None,
) -> Audit:
    """The checks read every item; the shortcuts a sample of them, drawn with `seed`."""
    chosen = range(len(items))
    drawn = sorted(random.Random(seed).sample(chosen, sample)) if len(items) > sample else chosen
    some = [items[place] for place in drawn]
    return Audit(
        benchmark=name,
        items=len(items),
        with_positives=sum(bool(item.positives) for item in items),
        with_negatives=sum(bool(item.negatives) for item in items),
        splits=dict(Counter(item.tags.get("split", "all") for item in items)),
        checks=checks(items, advance),
        reuse=reuse(items),
        sample=len(some),
        seed=seed,
        shortcuts=shortcuts(some, seed),
        detector=detector(some, seed),
    )


def effective_size(counts: Sequence[int]) -> float:
    """1 / sum of squared shares: as many images used equally often would be as concentrated."""
    return sum(counts) ** 2 / sum(count * count for count in counts)


def reuse(items: Sequence[Item]) -> Reuse | None:
    """How often images are used again, by path: boxes of one photo share its contents.

    REPLACE asks up to 26 questions about one caption, and they are not 26 opinions.
    """
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
