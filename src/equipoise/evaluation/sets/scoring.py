"""What a model says of photos and texts: vectors of a dual encoder, or scores of pairs, through `evaluation`.

Every photo and every text is embedded once and kept in the embedding cache, so that 1,000 classes in 80 templates cost
their time once, and a killed run goes on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.core.errors import UserError
from equipoise.data.identity import of_model, photo_digests
from equipoise.data.images import ImageSource, absent
from equipoise.data.items import ImageRef, Item, Text
from equipoise.evaluation.embedding.cache import EmbeddingCache
from equipoise.evaluation.embedding.embed import EMBEDDING_CODE, Embedded, embed
from equipoise.evaluation.scoring import ScoringOptions, score_items

PAIRS = 50_000  # that a pair scorer is asked for at a time: their scores are small, their bookkeeping is not


@dataclass
class ReadLog:
    """What was read on the way."""

    digests: dict[str, bytes] = field(default_factory=dict)  # path -> SHA-256 of the photo
    skipped: dict[str, str] = field(default_factory=dict)  # path -> why
    counts: dict[str, int] = field(default_factory=dict)


def present(refs: Sequence[ImageRef], source: ImageSource, how: ScoringOptions, log: ReadLog) -> list[ImageRef]:
    """The photos that the source has; the others are refused, or skipped where that is allowed."""
    missing = absent(source, dict.fromkeys(ref.path for ref in refs))
    refuse_unread({path: f"{path}: missing" for path in missing}, source, how, log)
    return [ref for ref in refs if ref.path not in log.skipped]


def refuse_unread(bad: dict[str, str], source: ImageSource, how: ScoringOptions, log: ReadLog) -> None:
    if bad and not how.allow_missing:
        shown = "\n".join(f"  {reason}" for reason in list(bad.values())[:5])
        rest = f"\n  ... and {len(bad) - 5:,} more" if len(bad) > 5 else ""
        raise UserError(
            f"{len(bad):,} photos {source} are missing or cannot be used:\n{shown}{rest}\n"
            "Check --images, or evaluate on the rest with --allow-missing (the result then says how many)."
        )
    log.skipped |= bad


def digests(refs: Sequence[ImageRef], source: ImageSource, how: ScoringOptions) -> dict[str, bytes]:
    """The SHA-256 of each photo, without a model: is a finished run still of these photos?"""
    return photo_digests((ref.path for ref in present(refs, source, how, ReadLog())), source, how.workers)


def vectors(
    model: Any, refs: Sequence[ImageRef], texts: Sequence[str], source: ImageSource, how: ScoringOptions, log: ReadLog
) -> Embedded:
    """Unit vectors of photos and texts."""
    known = of_model(model, how.batch_size, EMBEDDING_CODE)
    store = how.cache if how.cache is not None and known else EmbeddingCache(None)
    usable = present(refs, source, how, log)
    items = [_item(ref.path, ref, texts[0]) for ref in usable] + [_item(text, None, text) for text in texts]
    found = embed(model, items, source, store, how.batch_size, how.workers, how.ranks)
    log.digests |= found.digests
    log.counts |= found.counts
    refuse_unread({ref.path: why for ref, why in found.bad.items()}, source, how, log)
    for what, rows in (("photos", found.images), ("texts", found.texts)):
        if broken := int((~np.isfinite(rows)).any(axis=1).sum()):
            raise UserError(f"the model gives no finite embedding for {broken:,} of {len(rows):,} {what}")
    return found


def pair_scores(
    model: Any,
    refs: Sequence[ImageRef],
    texts: Sequence[Sequence[str]],
    source: ImageSource,
    how: ScoringOptions,
    log: ReadLog,
) -> list[NDArray[np.float64]]:
    """The scores of each photo with its own list of texts; nothing where the photo was skipped.

    The one way to ask pairs is `score_items`, which wants an item with a hard negative: all texts are given as such.
    """
    usable = set(present(refs, source, how, log))
    found: dict[int, NDArray[np.float64]] = {}
    part: list[Item] = []
    wanted = 0
    places = [place for place, ref in enumerate(refs) if ref in usable and texts[place]]
    for place in places:
        listed = tuple(Text.model_construct(text=text, edit=None) for text in texts[place])
        part.append(_item(str(place), refs[place], texts[place][0], listed))
        wanted += len(listed)
        if wanted < PAIRS and place != places[-1]:
            continue
        scoring = score_items(model, part, images=source, **vars(how))
        found |= {int(row.id): np.array(row.negatives) for row in scoring.rows}
        log.digests |= scoring.digests
        log.skipped |= {refs[int(name)].path: why for name, why in scoring.skipped.items()}
        log.counts["pairs_scored"] = log.counts.get("pairs_scored", 0) + wanted
        part, wanted = [], 0
    return [found.get(place, np.zeros(0)) for place in range(len(refs))]


def _item(name: str, photo: ImageRef | None, text: str, negatives: tuple[Text, ...] = ()) -> Item:
    """An item that nobody reads: not checked again, there may be 100,000 of them."""
    return Item.model_construct(id=name, image=photo, caption=text, positives=(), negatives=negatives, tags={})
