"""What several recipes, and the item that was there before, make together.

The training set of Kamath et al. 2024 is such a union: positives from a language model, negatives from CREPE's rules,
for the same captions. Every recipe draws as it does alone, so a union holds what its parts hold. Nothing that was
there goes; what one recipe calls right and another wrong is kept from whoever said it first, and counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from equipoise.items import ImageRef, Item, Text
from equipoise.perturb.candidate import Candidate
from equipoise.perturb.recipe import Perturbed
from equipoise.readers.captions.groups import Group, Record


def joined(found: Sequence[Perturbed], before: Item | None = None) -> Perturbed:
    """The results of several recipes for one caption as one, beside what its item has already."""
    together = Perturbed(refused=next((one.refused for one in found if one.refused), None))
    said = {
        "positive": {_same(text.text) for text in before.positives} if before else set(),
        "negative": {_same(text.text) for text in before.negatives} if before else set(),
    }
    for one in found:
        together.dropped += one.dropped
        together.empty += one.empty
        for candidate in (*one.positives, *one.negatives):
            other = "negative" if candidate.kind == "positive" else "positive"
            if _same(candidate.text) in said[other]:
                together.dropped.append((candidate, f"already a {other} of this caption"))
            elif _same(candidate.text) in said[candidate.kind]:
                together.dropped.append((candidate, "the item has this text already"))
            else:
                said[candidate.kind].add(_same(candidate.text))
                (together.positives if candidate.kind == "positive" else together.negatives).append(candidate)
    return together


def _same(text: str) -> str:
    return " ".join(text.lower().split())


def before_of(record: Record) -> Item | None:
    return None if record.item is None else Item.model_validate_json(record.item)


def item_of(group: Group, record: Record, found: Perturbed, recipe: str) -> Item:
    """The item of a caption; where there was one, it with the new texts after its own."""
    before = before_of(record)
    if before is None:
        tags = {"recipe": recipe} | ({} if record.source_id is None else {"source_id": record.source_id})
        box = None if record.box is None else (*record.box,)
        return Item(
            id=f"{record.number:09d}",
            image=None if group.image is None else ImageRef(path=group.image, box=box),
            caption=record.text,
            positives=_texts(found.positives),
            negatives=_texts(found.negatives),
            tags=tags,
        )
    spans = before.caption == record.text  # else the places are those of the cleaned caption
    names = before.tags["recipe"].split(",") if before.tags.get("recipe") else []
    return before.model_copy(
        update={
            "positives": before.positives + _texts(found.positives, spans),
            "negatives": before.negatives + _texts(found.negatives, spans),
            "tags": before.tags | {"recipe": ",".join(dict.fromkeys((*names, *recipe.split(","))))},
        }
    )


def texts_of(found: Perturbed) -> dict[str, tuple[Text, ...]]:
    """The new texts alone, as an item's fields."""
    return {"positives": _texts(found.positives), "negatives": _texts(found.negatives)}


def _texts(candidates: list[Candidate], spans: bool = True) -> tuple[Text, ...]:
    return tuple(
        Text(text=each.text, edit=each.edit if spans else each.edit.model_copy(update={"span": None}))
        for each in candidates
    )


# ---------------------------------------------------------------------------- counting

HAVING = ("a positive", "a negative", "both", "both by swap", "both by replace", "neither")


def having(items: Iterable[Item]) -> dict[str, int]:
    """How many items have what a recipe of training may need; a loss that needs both learns nothing from the others."""
    counts = dict.fromkeys(HAVING, 0)
    for item in items:
        right, wrong = (
            {None if text.edit is None else text.edit.op for text in texts}
            for texts in (item.positives, item.negatives)
        )
        counts["a positive"] += bool(right)
        counts["a negative"] += bool(wrong)
        counts["both"] += bool(right and wrong)
        counts["both by swap"] += "swap" in right & wrong
        counts["both by replace"] += "replace" in right & wrong
        counts["neither"] += not (right or wrong)
    return counts
