"""As many positives about relations as about attributes (Kamath et al. 2024, Appendix C.3).

Asked to replace any one word, a language model replaces objects more often than attributes, and relations hardly ever.
The paper had it write more positives for relations, with one prompt for verbs and one for spatial prepositions, "then
sampling an equal number for relations and attributes". So every replaced verb counts as a relation here, also where the
benchmark would call it an attribute ("a person standing"). What was done with the positives about objects is not said
there; ours stay, and so do swaps.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Literal

from equipoise.errors import UserError
from equipoise.items import Item, Text
from equipoise.perturb.bias.refine import Kind, keep_texts, rewrite_file

Side = Literal["relations", "attributes"]
_SIDES: dict[str | None, Side] = {"relation": "relations", "action": "relations", "attribute": "attributes"}


def side(text: Text) -> Side | None:
    """What the draw counts a positive as; None for one that it leaves alone."""
    return _SIDES.get(text.edit.target) if text.edit is not None and text.edit.op == "replace" else None


def even_items(read: Callable[[], Iterable[Item]], kept: dict[Side, set[int]], keep_all: bool) -> Iterator[Item]:
    """Items with the positives of those numbers, counted for each side from 0; one left without any text goes too."""
    place = {which: itertools.count() for which in kept}

    def keep(kind: Kind, text: Text) -> bool:
        which = side(text) if kind == "positives" else None
        return which is None or next(place[which]) in kept[which]

    return keep_texts(read, keep, keep_all)


def even_file(path: Path, seed: int, keep_all: bool) -> tuple[dict[str, int], dict[str, int]]:
    """Draw positives from an items file, in place; returns how many there were and are, and the edits that are."""
    found: dict[Side, int] = {"relations": 0, "attributes": 0}

    def change(read: Callable[[], Iterator[Item]]) -> Iterator[Item]:
        for item in read():
            for which in map(side, item.positives):
                if which is not None:
                    found[which] += 1
        least = min(found.values())
        if not least:
            raise UserError(
                f"--even-positives: {found['relations']:,} positives about relations and {found['attributes']:,} about "
                "attributes, so none would be left of either; hard_positives_kamath_2024_relations writes the first, "
                "hard_positives_kamath_2024 and hard_positives_rules both"
            )
        rng = random.Random(f"even {seed}")
        kept = {which: set(rng.sample(range(count), least)) for which, count in found.items()}
        return even_items(read, kept, keep_all)

    counts, edits = rewrite_file(path, change, "--even-positives left nothing; take more captions")
    told = {"relations": found["relations"], "attributes": found["attributes"], "kept of each": min(found.values())}
    return told | {"items": counts["items_after"]}, edits
