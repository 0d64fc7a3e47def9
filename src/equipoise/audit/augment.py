"""Adds hard positives of a recipe to items that have none, so that a benchmark's Brittleness can be measured.

SugarCrepe, VALSE, ARO, VL-CheckList and others ask only whether a wrong caption scores lower. The augmented benchmark
has its own name (NAME-augmented): captions and negatives are the original's, positives are ours where it had none, so
its numbers are not the paper's.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Sequence

from equipoise import __version__
from equipoise.benchmarks.base import Benchmark
from equipoise.benchmarks.ceilings import as_read
from equipoise.core.errors import UserError
from equipoise.data.items import Item, Text
from equipoise.language.caption import Caption
from equipoise.perturb.llm.answers import plain_words
from equipoise.perturb.recipe import Candidate, Recipe, perturb_caption

VERSION = 1  # raise it when other positives are written or refused
BY = "equipoise"  # prefix of Edit.by
TAG = "positives"  # an item's tag for who wrote its positives


@dataclasses.dataclass(frozen=True)
class Augmented:
    items: list[Item]
    benchmark: Benchmark
    dropped: Counter[str]  # reason -> candidates
    ours: int  # items that got a positive


def augment(
    items: Sequence[Item],
    benchmark: Benchmark,
    recipe: Recipe,
    seed: int = 0,
    advance: Callable[[int], None] = lambda count: None,
) -> Augmented:
    if all(item.positives for item in items):
        raise UserError(f"{benchmark.name}: all {len(items):,} items have hard positives already; nothing to add")
    name = f"{benchmark.name}-augmented"
    made = f"{BY} {__version__}, augment {VERSION}, recipe {recipe.name}, seed {seed}"
    written: dict[str, tuple[list[Candidate], list[str]]] = {}  # captions repeat
    augmented: list[Item] = []
    dropped: Counter[str] = Counter()
    for item in items:
        new_id = f"{name}-{item.id.removeprefix(f'{benchmark.name}-')}"
        if item.positives:
            augmented.append(item.model_copy(update={"id": new_id, "tags": {**item.tags, TAG: "original"}}))
            advance(1)
            continue
        if item.caption not in written:
            perturbed = perturb_caption(recipe, Caption(item.caption), seed)
            written[item.caption] = perturbed.positives, [reason for _, reason in perturbed.dropped]
        candidates, reasons = written[item.caption]
        dropped.update(reasons)
        kept = []
        for candidate in candidates:
            if reason := _clashes(item, candidate):
                dropped[reason] += 1
            else:
                edit = candidate.edit
                by = f"{BY}:{edit.by}" if edit.by else BY
                kept.append(Text(text=candidate.text, edit=edit.model_copy(update={"by": by})))
        tags = {**item.tags, TAG: f"{BY}-{VERSION}" if kept else "none"}
        augmented.append(item.model_copy(update={"id": new_id, "positives": tuple(kept), "tags": tags}))
        advance(1)
    ours = sum(item.tags[TAG] not in ("original", "none") for item in augmented)
    if not ours:
        raise UserError(f"{benchmark.name}: no hard positive of recipe {recipe.name} applies to any of its captions")
    facts = dataclasses.replace(
        benchmark,
        name=name,
        title=f"{benchmark.title}, with hard positives of equipoise",
        notes=f"Hard positives added by {made}; captions and negatives are the original's. {benchmark.notes}".strip(),
        downloads=(),
    )
    return Augmented(augmented, facts, dropped, ours)


def _clashes(item: Item, candidate: Candidate) -> str | None:
    """Why the positive does not fit this item, whose negatives the recipe does not see."""
    read = as_read(candidate.text)
    if read == as_read(item.caption):
        return "has the same tokens for CLIP as the caption"
    if any(read == as_read(negative.text) for negative in item.negatives):
        return "is one of the item's negatives"
    before = set(plain_words(item.caption))
    new = set(plain_words(candidate.text)) - before
    if any(new & (set(plain_words(negative.text)) - before) for negative in item.negatives):
        return "adds a word that one of the negatives adds"
    return None
