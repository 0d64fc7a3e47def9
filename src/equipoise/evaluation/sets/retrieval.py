"""Retrieval: the photo of a caption among all photos, and a caption of a photo among all captions.

A caption's own photo must score above all other photos, and the best of a photo's own captions above all captions of
others: Recall@K is the share where fewer than K of the others score as high or higher, so a tie counts against the
model. Two photos whose people wrote the very same text share it: a model cannot tell equal texts apart, and finding
either is right. (The published code goes by the number of a caption, and takes what topk happens to put first.)

Scores are made some rows at a time, in float64, so that memory does not grow with photos x captions.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.core import stats
from equipoise.core.errors import UserError
from equipoise.data.readers.sets.kinds import Caption, CaptionSet
from equipoise.embedding.cache import ScoringOptions
from equipoise.evaluation.scoring import Scoring
from equipoise.evaluation.sets import RetrievalRow
from equipoise.evaluation.sets.scoring import Estimate, means, pair_scores, vectors
from equipoise.models.base import kind_of

_logger = logging.getLogger(__name__)

TOPS = (1, 5, 10)
COSTLY = 100_000  # pairs that a pair scorer is asked about without a word
_BYTES = 64 * 2**20  # of scores at a time
Floats = NDArray[np.float64]


def score(model: Any, data: CaptionSet, how: ScoringOptions, log: Scoring) -> list[RetrievalRow]:
    strings = list(dict.fromkeys(caption.text for caption in data.captions))
    if kind_of(model) == "pairs":
        if (pairs := len(data.photos) * len(strings)) > COSTLY:
            _logger.warning(
                "%s: this model is asked about every photo with every text, %s pairs", data.name, f"{pairs:,}"
            )
        scores = pair_scores(model, data.photos, [strings] * len(data.photos), data.source, how, log)
        photos, captions = _usable(data, log)
        matrix = np.stack([row for row in scores if len(row)])
        return _rows(data, photos, captions, strings, (lambda rows: matrix.T[rows], lambda rows: matrix[rows]))
    embedded = vectors(model, data.photos, strings, data.source, how, log)
    photos, captions = _usable(data, log)
    images = embedded.images[[embedded.image[data.photos[place]] for place in photos]]
    texts = embedded.texts[[embedded.text[string] for string in strings]]
    return _rows(data, photos, captions, strings, by_cosines(images, texts))


def _usable(data: CaptionSet, log: Scoring) -> tuple[list[int], list[Caption]]:
    """The places of the photos that were read, and their captions."""
    photos = [place for place, photo in enumerate(data.photos) if photo.path not in log.skipped]
    if len(photos) < 2:
        raise UserError(f"{data.name}: {len(photos)} of {len(data.photos):,} photos could be used")
    kept = set(photos)
    return photos, [caption for caption in data.captions if caption.photo in kept]


def _rows(
    data: CaptionSet, photos: list[int], captions: list[Caption], strings: list[str], scores: tuple[RowsOf, RowsOf]
) -> list[RetrievalRow]:
    row_of = {place: row for row, place in enumerate(photos)}
    column_of = {string: column for column, string in enumerate(strings)}
    owns = [(row_of[caption.photo], column_of[caption.text]) for caption in captions]
    weight = np.bincount([column for _, column in owns], minlength=len(strings))  # 0: only skipped photos have it
    to_image, to_text = ranked(scores, owns, len(photos), weight)
    rows = [
        RetrievalRow(find="image", id=caption.id, image=_photo(data, caption.photo), rank=to_image[column][0],
                     tie=to_image[column][1])
        for caption, (_, column) in zip(captions, owns, strict=True)
    ]  # fmt: skip
    return rows + [
        RetrievalRow(find="text", id=_photo(data, place), image=_photo(data, place), rank=rank, tie=tie)
        for place, (rank, tie) in zip(photos, to_text, strict=True)
    ]


def _photo(data: CaptionSet, place: int) -> str:
    """A photo by its path; a region of it also by its box, so that two of one photo are two."""
    photo = data.photos[place]
    return photo.path if photo.box is None else f"{photo.path} {list(photo.box)}"


def distinct(rows: NDArray[np.generic]) -> tuple[Floats, NDArray[np.int64]]:
    """(the different rows in float64, which of them each row is).

    A matrix multiplication may round two equal columns differently at its edges; a tie must stay one.
    """
    known: dict[bytes, int] = {}
    place = np.array([known.setdefault(row.tobytes(), len(known)) for row in rows], dtype=np.int64)
    first = np.zeros(len(known), np.int64)
    first[place[::-1]] = np.arange(len(rows))[::-1]
    return rows[first].astype(np.float64), place


RowsOf = Callable[[slice], Floats]  # some rows of scores, made when they are asked for


def by_cosines(images: NDArray[np.float32], texts: NDArray[np.float32]) -> tuple[RowsOf, RowsOf]:
    """The scores of some texts with all images, and of some images with all texts."""
    (photos, photo), (strings, string) = distinct(images), distinct(texts)

    def spread(scores: Floats, place: NDArray[np.int64], count: int) -> Floats:
        return scores if count == len(place) else scores[:, place]  # mostly all are different: no copy

    return (
        lambda rows: spread(strings[string[rows]] @ photos.T, photo, len(photos)),
        lambda rows: spread(photos[photo[rows]] @ strings.T, string, len(strings)),
    )


Ranked = list[tuple[int, bool]]


def ranked(
    scores: tuple[RowsOf, RowsOf],
    owns: Sequence[tuple[int, int]],
    photos: int,
    weight: NDArray[np.int64],
    step: int | None = None,
) -> tuple[Ranked, Ranked]:
    """(rank, tie) of each text among the photos, and of each photo among the captions, `step` rows at a time.

    `owns` are the (photo, text) that belong together; a text counts as often as photos have it (`weight`).
    """
    of_texts, of_images = scores
    own = np.array(owns, dtype=np.int64)
    to_image = _ranked(of_texts, own[:, ::-1], len(weight), np.ones(photos, np.int64), step)
    return to_image, _ranked(of_images, own, photos, weight, step)


def _ranked(rows_of: RowsOf, own: NDArray[np.int64], count: int, weight: NDArray[np.int64], step: int | None) -> Ranked:
    own = own[np.argsort(own[:, 0], kind="stable")]
    starts = np.searchsorted(own[:, 0], np.arange(count + 1))
    step = step or max(1, _BYTES // (8 * len(weight)))
    ranked: Ranked = []
    for start in range(0, count, step):
        stop = min(start + step, count)
        scores = np.array(rows_of(slice(start, stop)))
        right = own[starts[start] : starts[stop]]
        row, column = right[:, 0] - start, right[:, 1]
        best = np.full(stop - start, np.inf)  # a text that only skipped photos have looks for nothing
        held = np.unique(row)
        best[held] = -np.inf
        np.maximum.at(best, row, scores[row, column])
        scores[row, column] = -np.inf
        ahead = (scores >= best[:, None]) @ weight
        equal = (scores == best[:, None]) @ weight > 0
        ranked += list(zip(ahead.tolist(), equal.tolist(), strict=True))
    return ranked


def measure(
    rows: Sequence[RetrievalRow], counts: Mapping[str, int], seed: int, resamples: int
) -> tuple[dict[str, Estimate], NDArray[np.int64], int]:
    """Recall@1, 5 and 10 of text to image and of image to text; a caption is resampled with its photo."""
    cluster = stats.numbered(row.image for row in rows)
    rank = np.array([row.rank for row in rows])
    columns = {
        f"{way}_recall@{top}": ((rank < top).astype(float), np.array([row.find == find for row in rows]))
        for way, find in (("text_to_image", "image"), ("image_to_text", "text"))
        for top in TOPS
    }
    return means(columns, cluster, seed, resamples), cluster, Counter(row.tie for row in rows)[True]
