"""Items and a model -> one number per (image, text) pair."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.errors import UserError
from equipoise.evaluation.cache import EmbeddingCache
from equipoise.evaluation.embedding import Embedded, batched, embed, embedding_identity
from equipoise.evaluation.photos import Photos, read_photos
from equipoise.evaluation.scores import ItemScores, TextScores, require_finite
from equipoise.images import ImageProblem, missing_images
from equipoise.items import ImageRef, Item
from equipoise.models.base import kind_of
from equipoise.progress import progress


@dataclass
class Scoring:
    """The scores, in the order of the items, and what could not be scored."""

    rows: list[ItemScores]
    skipped: dict[str, str] = field(default_factory=dict)  # item id -> why
    counts: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Cases:
    """The items that have something to score and a photo, and what is known of the others."""

    items: list[Item]
    skipped: dict[str, str]  # item id -> why
    photos: Photos
    allow_missing: bool


def score_items(
    model: Any,
    items: Sequence[Item],
    *,
    images: Path | None = None,
    cache: EmbeddingCache | None = None,
    batch_size: int | None = None,
    workers: int = 4,
    allow_missing: bool = False,
    text_scores: bool = False,
) -> Scoring:
    """Score every caption, positive and negative of `items` with `model`.

    `model` is anything from `load_model`, or any object with `embed_images(list of PIL images)` and
    `embed_texts(list of str)`, or with `score_pairs(images, texts)`. `images` is the folder the items' paths are in.
    """
    cases = find_cases(items, images, workers, allow_missing)
    return score_cases(model, cases, cache, batch_size or default_batch(model), workers, text_scores)


def find_cases(items: Sequence[Item], images: Path | None, workers: int, allow_missing: bool) -> Cases:
    """What there is to score: every photo is looked for, and read, before a model is asked anything."""
    if not items:
        raise UserError("no items to score")
    if workers < 1:
        raise UserError(f"expected workers above 0, found {workers}")
    _refuse_repeated([item.id for item in items])
    usable, skipped = _usable(items)
    root = _image_root(usable, images)
    usable, unseen = _present(usable, root, allow_missing)
    photos = read_photos(root, (item.image.path for item in usable if item.image is not None), workers)
    return Cases(usable, skipped | unseen, photos, allow_missing)


def score_cases(
    model: Any, cases: Cases, cache: EmbeddingCache | None, batch_size: int, workers: int, text_scores: bool
) -> Scoring:
    if batch_size < 1:
        raise UserError(f"expected a batch size above 0, found {batch_size}")
    usable, photos = cases.items, cases.photos
    if kind_of(model) == "pairs":
        score, bad, counts = _pair_scores(model, usable, photos, batch_size)
    else:
        store = cache if cache is not None and embedding_identity(model, batch_size) else EmbeddingCache(None)
        embedded = embed(model, usable, photos, store, batch_size, workers)
        score, bad, counts = _cosines(embedded), embedded.bad, embedded.counts
    _refuse_bad(bad, photos.root, cases.allow_missing)
    skipped = cases.skipped | {item.id: bad[item.image] for item in usable if item.image in bad}
    usable = [item for item in usable if item.image not in bad]
    if not usable:
        raise UserError(
            f"none of {len(skipped):,} items could be scored; the first because: {next(iter(skipped.values()))}"
        )
    rows = score(usable, text_scores)
    require_finite(rows, "the model's scores")
    return Scoring(rows, skipped, counts | {"items": len(rows)})


def default_batch(model: Any) -> int:
    """A CPU gains nothing from larger batches and would pay for filling up the last one; a GPU gains."""
    return 256 if str(getattr(model, "device", "cpu")).startswith("cuda") else 32


# ---------------------------------------------------------------------------- what can be scored


def _usable(items: Sequence[Item]) -> tuple[list[Item], dict[str, str]]:
    skipped = {item.id: "no hard negative to compare with" for item in items if not item.negatives}
    skipped |= {item.id: "no image" for item in items if item.image is None}
    return [item for item in items if item.id not in skipped], skipped


def _refuse_repeated(ids: list[str]) -> None:
    counts = Counter(ids)
    if len(counts) < len(ids):
        repeated = next(name for name, count in counts.items() if count > 1)
        raise UserError(f"{len(ids) - len(counts):,} items share their id with another, for instance {repeated!r}")


def _image_root(items: Sequence[Item], images: Path | None) -> Path:
    if not items:
        return Path()
    if images is None:
        raise UserError(f"{len(items):,} items need their images: name the folder they are in with --data DIR")
    if not images.is_dir():
        raise UserError(f"{images}: no such folder (expected the folder of the images, --data)")
    return images


def _present(items: list[Item], root: Path, allow_missing: bool) -> tuple[list[Item], dict[str, str]]:
    missing = missing_images(root, (item.image for item in items if item.image is not None))
    if missing and not allow_missing:
        distinct = len({item.image.path for item in items if item.image is not None})
        shown = "\n".join(f"  {path}" for path in missing[:5])
        rest = f"\n  ... and {len(missing) - 5:,} more" if len(missing) > 5 else ""
        raise UserError(
            f"{len(missing):,} of {distinct:,} images are missing below {root}:\n{shown}{rest}\n"
            "Check --data, or score the rest with --allow-missing (the result then says how many)."
        )
    gone = set(missing)
    skipped = {item.id: f"image missing: {item.image.path}" for item in items if item.image and item.image.path in gone}
    return [item for item in items if item.id not in skipped], skipped


def _refuse_bad(bad: dict[ImageRef, str], root: Path, allow_missing: bool) -> None:
    if bad and not allow_missing:
        shown = "\n".join(f"  {reason}" for reason in list(bad.values())[:5])
        rest = f"\n  ... and {len(bad) - 5:,} more" if len(bad) > 5 else ""
        raise UserError(
            f"{len(bad):,} images below {root} cannot be used:\n{shown}{rest}\n"
            "All others are embedded and cached. Replace these and run again, or score the rest with --allow-missing."
        )


def _row(item: Item, values: Sequence[float], text: TextScores | None = None) -> ItemScores:
    assert item.image is not None
    positives = len(item.positives)
    return ItemScores(
        id=item.id,
        image=item.image.path,
        caption=values[0],
        positives=list(values[1 : 1 + positives]),
        negatives=list(values[1 + positives :]),
        tags=item.tags,
        text=text,
    )


# ---------------------------------------------------------------------------- scores


def _cosines(embedded: Embedded) -> Callable[[Sequence[Item], bool], list[ItemScores]]:
    def score(items: Sequence[Item], text_scores: bool) -> list[ItemScores]:
        rows = []
        for item in items:
            assert item.image is not None
            image = embedded.image[item.image].astype(np.float64)
            matrix = np.stack([embedded.text[text] for text in item.texts()]).astype(np.float64)
            # Row by row, so that a score does not depend on which other texts the item has.
            values = [float(np.dot(text, image)) for text in matrix]
            rows.append(_row(item, values, _text_scores(item, matrix) if text_scores else None))
        return rows

    return score


def _text_scores(item: Item, matrix: NDArray[np.float64]) -> TextScores:
    positives = matrix[1 : 1 + len(item.positives)]
    negatives = matrix[1 + len(item.positives) :]

    def cosines(one: NDArray[np.float64], others: Iterable[NDArray[np.float64]]) -> list[float]:
        return [float(np.dot(one, other)) for other in others]

    return TextScores(
        caption_positives=cosines(matrix[0], positives),
        caption_negatives=cosines(matrix[0], negatives),
        positives_negatives=[cosines(positive, negatives) for positive in positives],
    )


def _pair_scores(
    model: Any, items: Sequence[Item], photos: Photos, batch_size: int
) -> tuple[Callable[[Sequence[Item], bool], list[ItemScores]], dict[ImageRef, str], dict[str, int]]:
    """Models with a matching head see each distinct (image, text) pair once."""
    pairs: dict[ImageRef, dict[str, float]] = {}
    for item in items:
        if item.image is not None:
            pairs.setdefault(item.image, {}).update(dict.fromkeys(item.texts(), np.nan))
    bad: dict[ImageRef, str] = {}
    total = sum(len(texts) for texts in pairs.values())
    with progress(total, "pairs ", "pairs") as advance:
        for ref, texts in pairs.items():
            try:
                image = photos.open(ref)
            except ImageProblem as problem:
                bad[ref] = str(problem)
                continue
            for batch in batched(list(texts), batch_size):
                values = np.asarray(model.score_pairs([image] * len(batch), batch), dtype=np.float64)
                if values.shape != (len(batch),):
                    raise UserError(f"score_pairs: expected {len(batch)} scores, found shape {values.shape}")
                texts.update(zip(batch, values.tolist(), strict=True))
                advance(len(batch))

    def score(usable: Sequence[Item], text_scores: bool) -> list[ItemScores]:
        return [
            _row(item, [pairs[item.image][text] for text in item.texts()]) for item in usable if item.image is not None
        ]

    return score, bad, {"pairs_scored": total}
