"""Items and a model -> one number per (image, text) pair.

A cosine is a sum over two vectors and nothing else, so a score does not depend on which other texts its item has,
and two texts that share an embedding tie exactly.
"""

from __future__ import annotations

import logging
import os
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import chain, islice, repeat
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from equipoise.core.answer_store import from_cache
from equipoise.core.errors import UserError, listed
from equipoise.core.provenance import cores
from equipoise.data.identity import of_model, photo_digests
from equipoise.data.images import FolderImages, ImageProblem, ImageSource, absent, open_source
from equipoise.data.items import Item
from equipoise.embedding.cache import ALONE, CacheWriter, EmbeddingCache, Ranks, ScoringOptions, Vector, Work
from equipoise.embedding.embed import EMBEDDING_CODE, Embedded, embed
from equipoise.evaluation.asking.until import Until
from equipoise.evaluation.asking.variants import Ask
from equipoise.evaluation.scores import ImageScores, ItemScores, Scores, TextScores, require_finite
from equipoise.models.base import Model, device_of, keep_answers, kind_of, reads_images

log = logging.getLogger(__name__)

NO_IMAGE = "no image"
QUESTION = "a question, which only a model that answers can be asked"
PAIRS = 512  # cosines at a time: their vectors stay in the processor's cache


@dataclass
class Scoring:
    """The scores, in the order of the items, and what could not be scored."""

    rows: Sequence[Any]  # ItemScores, or the rows of a set
    skipped: dict[str, str] = field(default_factory=dict)  # item id -> why
    digests: dict[str, bytes] = field(default_factory=dict)  # path of each photo that was read -> its SHA-256
    counts: dict[str, int] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    read_alike: list[str] = field(default_factory=list)  # items with a right text that the model reads as a negative
    # Of a model with a text tower, by metric and item: the mean cosine of the caption with its positives, negatives.
    text_cosines: dict[str, NDArray[np.float64]] = field(default_factory=dict)


def score_items(
    model: Any,
    items: Sequence[Item],
    *,
    images: str | Path | ImageSource | None = None,
    cache: EmbeddingCache | None = None,
    batch_size: int | None = None,
    workers: int | None = None,
    allow_missing: bool = False,
    text_scores: bool = False,
    ranks: Ranks = ALONE,
    ask: Ask | None = None,
    until: Until | None = None,
    seed: int = 0,
) -> Scoring:
    """Score every caption, positive and negative of `items` with `model`, for every image of its item.

    `model` is anything from `load_model`, or any object with `embed_images(list of PIL images)` and
    `embed_texts(list of str)`, or with `score_pairs(images, texts)`. `images` is where the items' images lie: a
    folder, tar shards or Parquet files (see `images.py`). As many `workers` decode as there are processors.
    `ranks` are processes that all call this with the same arguments and share the work. With `ask`, and for a model
    that has only `answer(images, prompts)`, the items are asked as questions (evaluation/asking).
    """
    if not items:
        raise UserError("no items to score")
    workers = default_workers() if workers is None else workers
    how = ScoringOptions(batch_size or default_batch(model), workers, cache, allow_missing, ranks)
    if how.batch_size < 1 or workers < 1:
        raise UserError(f"expected a batch size and workers above 0, found {how.batch_size} and {workers}")
    if repeated := [name for name, count in Counter(item.id for item in items).items() if count > 1]:
        raise UserError(f"{len(repeated):,} ids belong to more than one item, for instance {repeated[0]!r}")
    kind = kind_of(model, answers=ask is not None)
    if kind == "pairs":  # most models embed
        from equipoise.embedding import pairs
    keep_answers(model, None if cache is None or cache.path is None else cache.path.parent)
    usable, skipped = _usable(items)
    if kind == "answers":  # an item with negative images alone gives it no choice
        skipped |= {item.id: "no hard negative to choose from" for item in usable if not item.negatives}
    elif any(item.question is not None for item in usable):
        skipped |= {item.id: QUESTION for item in usable if item.question is not None}
    usable = [item for item in usable if item.id not in skipped]
    source: ImageSource = _Nowhere()
    if kind != "taught" and reads_images(model):
        source = _image_source(usable, images)
        usable, unseen = _present(usable, source, allow_missing)
        skipped |= unseen
    if not usable:
        _refuse_all(items, skipped)
    known = kind in ("pairs", "tokens", "embeds") and of_model(
        model, how.batch_size, pairs.PAIR_CODE if kind == "pairs" else EMBEDDING_CODE
    )
    store = cache if cache is not None and known else EmbeddingCache(None)
    work: Work
    with CacheWriter(store) as keeper:
        if kind == "taught":
            work = Work()
        elif kind == "answers":
            from equipoise.evaluation.asking.live import answers_of  # most models give scores

            work = answers_of(model, usable, source, how, ask or Ask(), until, seed)
        elif kind == "pairs":
            work = pairs.score_all(model, usable, source, how, store, keeper)
        else:
            refs = (ref for item in usable for ref in item.images())
            strings = (text for item in usable for text in item.texts())
            work = embed(model, refs, strings, source, how, store, keeper)
        _tell_kept(model, work.counts)
        if bad := work.bad:
            if not allow_missing:
                raise UserError(
                    f"{len(bad):,} images {source} cannot be used:\n{listed(list(bad.values()))}\nAll others are done "
                    "and cached. Replace these and run again, or score the rest with --allow-missing."
                )
            unread: dict[str, str] = {}
            for item in usable:
                reasons = [bad[ref] for ref in item.images() if ref in bad]
                if reasons:
                    unread[item.id] = reasons[0]
            skipped |= unread
            usable = [item for item in usable if item.id not in unread]
        if not usable:
            _refuse_all(items, skipped)
        started = time.monotonic()
        between, alike = {}, []
        if isinstance(work, Embedded):
            texts = TextRows.of(usable, work)
            rows = _cosine_rows(usable, work, texts, text_scores)
            between, alike = _text_cosines(work, texts), _read_alike(usable, work, texts)
        else:
            rows = _rows(kind, model, usable, work)
        require_finite(rows, "the model's scores")
        seconds = work.seconds | {"cosines": time.monotonic() - started}
    seconds["kept"] = time.monotonic() - started - seconds["cosines"]
    return Scoring(rows, skipped, work.digests, work.counts | {"items": len(rows)}, seconds, alike, between)


def _rows(kind: str, model: Any, usable: Sequence[Item], work: Any) -> Scores:
    if kind == "taught":
        return taught_rows(usable, model.score_taught(usable))
    if kind == "answers":
        wanted = {item.id for item in usable}
        return Scores(row for row in work.rows if row.id in wanted)
    return Scores(_row(i, [work.scores[ref][text] for ref in i.images() for text in i.texts()]) for i in usable)


def taught_rows(items: Sequence[Item], scores: Sequence[list[float]], like: Scores | None = None) -> Scores:
    """Scores of texts alone: a text has the same score with every image. `like` are other scores of these items."""
    if _alternatives(items):
        return Scores(_row(item, values * len(item.images())) for item, values in zip(items, scores, strict=True))
    values = np.fromiter(chain.from_iterable(scores), np.float64)
    return Scores.of_items(items, values) if like is None else like.like(values)


def _tell_kept(model: object, counts: Mapping[str, int]) -> None:
    """The number of a server's answers that came from the cache, one by one or as scores of pairs."""
    if hasattr(model, "answered") and "pairs" in counts:
        given, kept = model.answered()
        before = counts.get("pairs", 0) - counts.get("pairs_scored", 0)
        if kept + before:
            log.warning("%s", from_cache(given + before, kept + before))


def default_batch(model: Model) -> int:
    """A CPU gains nothing from larger batches and would pay for filling up the last one; a GPU gains."""
    if stated := getattr(model, "default_batch", None):
        return int(stated)
    return 256 if device_of(model).startswith("cuda") else 16


def default_workers() -> int:
    """The processors that we may use, which on a shared machine are not all it has; each of a torchrun its part."""
    return max(1, cores() // int(os.environ.get("LOCAL_WORLD_SIZE", "1")))


def check_photos(items: Sequence[Item], images: str | Path | ImageSource | None, allow_missing: bool) -> None:
    """Refuse what scoring would refuse, before seconds are spent on loading a model: no item with an image, no folder
    named, photos missing in it. Shards are opened once, by who scores."""
    usable, skipped = _usable(items)
    if items and not usable:
        _refuse_all(items, skipped)
    if not isinstance(images, str | Path | None):
        return
    if images is None or not Path(images).exists():
        _image_source(usable, images)  # refuses it
        return
    folder = Path(images)
    if folder.is_dir() and not any(entry.suffix in {".tar", ".parquet"} for entry in folder.iterdir()):
        _present(usable, FolderImages(folder), allow_missing)


def _refuse_all(items: Sequence[Item], skipped: Mapping[str, str]) -> NoReturn:
    why = next(iter(skipped.values()))
    hint = " (a table names it in its column `image`)" if why == NO_IMAGE else ""
    if "negative" in why:
        hint = ". `equipoise perturb ITEMS --out MORE.jsonl` adds hard negatives"
    raise UserError(f"none of {len(items):,} items could be scored; the first because: {why}{hint}")


def scored_photos(
    items: Sequence[Item], images: str | Path | ImageSource | None, workers: int, allow_missing: bool
) -> dict[str, bytes]:
    """The SHA-256 of each photo that scoring these items would read, without a model: is a finished run still true?"""
    usable, _ = _usable(items)
    source = _image_source(usable, images)
    usable, _ = _present(usable, source, allow_missing)
    return photo_digests((ref.path for item in usable for ref in item.images()), source, workers)


def _usable(items: Sequence[Item]) -> tuple[list[Item], dict[str, str]]:
    lonely = [item.id for item in items if not (item.negatives or item.negative_images)]
    skipped = dict.fromkeys(lonely, "no hard negative to compare with")
    skipped |= {item.id: NO_IMAGE for item in items if item.image is None}
    return [item for item in items if item.id not in skipped], skipped


def _image_source(items: Sequence[Item], images: str | Path | ImageSource | None) -> ImageSource:
    if images is None:
        if not items:
            return _Nowhere()
        raise UserError(f"{len(items):,} items need their images: name the folder they are in with --images DIR")
    if isinstance(images, str | Path) and not Path(images).exists():
        raise UserError(f"{images}: no such folder (expected the images: a folder, or shards, --images)")
    return open_source(images)


class _Nowhere:
    """The images of no items."""

    def read(self, path: str) -> bytes:
        raise ImageProblem(f"{path}: no folder of images was given")


def _present(items: list[Item], source: ImageSource, allow_missing: bool) -> tuple[list[Item], dict[str, str]]:
    distinct = dict.fromkeys(ref.path for item in items for ref in item.images())
    missing = absent(source, distinct)
    if missing and not allow_missing:
        raise UserError(
            f"{len(missing):,} of {len(distinct):,} images are missing {source}:\n{listed(missing)}\n"
            f"Check --images{_found_above(source, missing)}, or score the rest with --allow-missing (the result then "
            "says how many)."
        )
    if not missing:
        return items, {}
    gone = set(missing)
    skipped = {item.id: f"image missing: {ref.path}" for item in items for ref in item.images() if ref.path in gone}
    return [item for item in items if item.id not in skipped], skipped


def _found_above(source: ImageSource, missing: Sequence[str]) -> str:
    """A table that says photos/1.jpg, with --images photos: the folder above is meant."""
    if isinstance(source, FolderImages):
        for folder in (source.root.absolute().parent, Path.cwd()):
            if all((folder / path).is_file() for path in missing[:5]):
                return f" (they are below {folder}: --images {folder})"
    return ""


def _row(item: Item, values: Sequence[float], text: TextScores | None = None) -> ItemScores:
    """The scores of every text for the item's own image, then for each alternative one."""

    assert item.image is not None
    right, count = 1 + len(item.positives), 1 + len(item.positives) + len(item.negatives)
    others: tuple[ImageScores, ...] = ()
    for start, ref in zip(range(count, len(values), count), item.images()[1:], strict=True):
        positives, negatives = list(values[start + 1 : start + right]), list(values[start + right : start + count])
        others += (ImageScores(image=ref.path, caption=values[start], positives=positives, negatives=negatives),)
    return ItemScores(
        id=item.id,
        image=item.image.path,
        caption=values[0],
        positives=list(values[1:right]),
        negatives=list(values[right:count]),
        tags=item.tags,
        text=text,
        positive_images=others[: len(item.positive_images)],
        negative_images=others[len(item.positive_images) :],
        paired=item.paired,
    )


def _alternatives(items: Sequence[Item]) -> bool:
    return any(item.positive_images or item.negative_images for item in items)


class TextRows(NamedTuple):
    """The embedding of each text of each item: caption, positives, negatives, item after item."""

    rows: NDArray[np.int64]
    right: NDArray[np.int64]  # of each item, how many of its texts are right
    each: NDArray[np.int64]  # of each item, how many texts it has

    @classmethod
    def of(cls, items: Sequence[Item], embedded: Embedded) -> TextRows:
        texts = [item.texts() for item in items]
        each = np.array([len(own) for own in texts])
        right = np.array([1 + len(item.positives) for item in items])
        row = embedded.text
        return cls(np.array([row[text] for own in texts for text in own], np.int64), right, each)

    @property
    def owner(self) -> NDArray[np.int64]:
        return np.repeat(np.arange(len(self.each)), self.each)

    @property
    def starts(self) -> NDArray[np.int64]:
        return np.asarray(self.each.cumsum() - self.each)

    @property
    def place(self) -> NDArray[np.int64]:
        """The place of each text among those of its item; the caption's is 0."""
        return np.asarray(np.arange(len(self.rows)) - np.repeat(self.starts, self.each))


def _cosine_rows(items: Sequence[Item], embedded: Embedded, texts: TextRows, text_scores: bool) -> Scores:
    """The cosines of every image of an item with every text of it, image by image."""
    if not (text_scores or _alternatives(items)):
        images = [embedded.image[item.image] for item in items if item.image is not None]
        return Scores.of_items(
            items, cosines(embedded.images, embedded.texts, np.repeat(images, texts.each), texts.rows)
        )
    text_rows = [part.tolist() for part in np.split(texts.rows, texts.starts[1:])]
    image_rows = [[embedded.image[ref] for ref in item.images()] for item in items]
    images_each = np.array([len(rows) for rows in image_rows])
    counts = texts.each * images_each
    lefts = np.repeat(list(chain.from_iterable(image_rows)), np.repeat(texts.each, images_each))
    repeated = (own * len(images) for own, images in zip(text_rows, image_rows, strict=True))
    rights = np.fromiter(chain.from_iterable(repeated), np.int64, int(counts.sum()))
    values = cosines(embedded.images, embedded.texts, lefts, rights).tolist()
    between = _text_scores(items, text_rows, embedded.texts) if text_scores else repeat(None)
    ends = counts.cumsum().tolist()
    return Scores(
        _row(item, values[end - count : end], text)
        for item, count, end, text in zip(items, counts.tolist(), ends, between, strict=False)
    )


def _read_alike(items: Sequence[Item], embedded: Embedded, texts: TextRows) -> list[str]:
    """Items of which a right text and a negative have one embedding: both were cut, or their words are unknown."""
    _, same = np.unique([hash(row.tobytes()) for row in embedded.texts], return_inverse=True)
    keys = texts.owner * len(embedded.texts) + same[texts.rows]
    is_right = texts.place < np.repeat(texts.right, texts.each)
    alike = np.isin(keys[~is_right], keys[is_right])
    return [items[index].id for index in np.unique(texts.owner[~is_right][alike])]


def _text_cosines(embedded: Embedded, texts: TextRows) -> dict[str, NDArray[np.float64]]:
    """Cosines of a caption with its hard positives and negatives in the text tower; NaN without any."""
    owner, place = texts.owner, texts.place
    captions = np.repeat(texts.rows[texts.starts], texts.each)
    is_right = place < np.repeat(texts.right, texts.each)
    means = {}
    for name, wanted in (("text_cosine_positive", is_right & (place > 0)), ("text_cosine_negative", ~is_right)):
        values = cosines(embedded.texts, embedded.texts, captions[wanted], texts.rows[wanted])
        counts = np.bincount(owner[wanted], minlength=len(texts.each))
        sums = np.bincount(owner[wanted], values, len(texts.each))
        means[name] = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
    return means


def cosines(left: Vector, right: Vector, lefts: NDArray[np.int64], rights: NDArray[np.int64]) -> NDArray[np.float64]:
    """left[l] . right[r] of each pair (l, r), in float64. Each is summed by itself: its neighbours change no bit."""
    sums = np.empty(len(lefts))

    def multiply(start: int) -> None:
        part = slice(start, start + PAIRS)
        products = left[lefts[part]].astype(np.float64)
        products *= right[rights[part]]
        products.sum(axis=1, out=sums[part])

    with ThreadPoolExecutor(cores()) as pool:
        list(pool.map(multiply, range(0, len(lefts), PAIRS)))
    return sums


def _text_scores(items: Sequence[Item], texts: Sequence[Sequence[int]], vectors: Vector) -> Iterator[TextScores]:
    """caption x positives, caption x negatives and positives x negatives of each item."""
    pairs: list[tuple[int, int]] = []
    for item, rows in zip(items, texts, strict=True):
        positives, negatives = rows[1 : 1 + len(item.positives)], rows[1 + len(item.positives) :]
        pairs += [(rows[0], other) for other in (*positives, *negatives)]
        pairs += [(positive, negative) for positive in positives for negative in negatives]
    both = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    values = iter(cosines(vectors, vectors, both[:, 0], both[:, 1]).tolist())
    for item in items:
        positives_, negatives_ = len(item.positives), len(item.negatives)
        yield TextScores(
            caption_positives=list(islice(values, positives_)),
            caption_negatives=list(islice(values, negatives_)),
            positives_negatives=[list(islice(values, negatives_)) for _ in range(positives_)],
        )
