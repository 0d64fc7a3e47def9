"""Items -> an audit."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence

from equipoise.audit.checks import checks
from equipoise.audit.record import Audit
from equipoise.audit.reuse import reuse
from equipoise.audit.shortcuts import detector, shortcuts
from equipoise.data.items import Item

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
