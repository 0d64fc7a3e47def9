"""Cut perturbed captions into items whose substitutions finetuning has seen or not.

One positive and one negative an item:
    seen      replace positive by a substitution that training may show, replace negative of object, attribute or action
    unseen    the positive's substitution (in both directions) is one of the 30 % that training never shows
    swap      positive and negative by swap

Which substitutions are held out is decided by a hash of the two words, before any model is trained.
"""

from __future__ import annotations

import hashlib
import random

from equipoise.data.items import Edit, Item, Text

HELD_OUT = 0.3


def held_out(edit: Edit | None) -> bool:
    if edit is None or edit.op != "replace" or not edit.source or not edit.to:
        return False
    words = "|".join(sorted((edit.source.lower(), edit.to.lower())))
    return int.from_bytes(hashlib.sha256(words.encode()).digest()[:4], "big") / 2**32 < HELD_OUT


def is_relation(text: Text) -> bool:
    return text.edit is not None and text.edit.target == "relation" and text.edit.op == "replace"


def for_testing(items: list[Item], kind: str) -> list[Item]:
    """One positive and one negative each, drawn by the item's id."""
    found = []
    for item in items:
        op = "swap" if kind == "swap" else "replace"
        positives = [t for t in item.positives if t.edit and t.edit.op == op and held_out(t.edit) == (kind == "unseen")]
        negatives = [t for t in item.negatives if t.edit and t.edit.op == op and not is_relation(t)]
        if not positives or not negatives:
            continue
        rng = random.Random(f"{kind}/{item.id}")
        positive, negative = rng.choice(positives), rng.choice(negatives)
        tags = {"split": kind, "type": (negative.edit and negative.edit.target) or "none"}
        found.append(item.model_copy(update={"positives": (positive,), "negatives": (negative,), "tags": tags}))
    return found
