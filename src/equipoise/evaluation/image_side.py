"""The same questions about images: does a text prefer its own image to one that it does not describe?

For one item, with right texts T (the caption c and its hard positives), right images I (the item's own i and its
positive images) and negative images N, a right pair (t, r) of T x I is above where s(t, r) > s(t, n) for every n:

    Image-Original     (c, i) is above
    Image-Augmented    every right pair is above; of the items that have a hard positive or a positive image
    Image-Brittleness  some right pair is above, and some strictly below: s(t, r) < s(t, n) for some n
    tie                a right pair scores exactly as much as the highest negative image of its text:
                       never a win, never brittle, always counted

A pair is compared with pairs of its own text only: how much a text scores with images at large says nothing of images.

Where every negative image has a text of its own (a `paired` item: negatives[k] describes negative_images[k]),
Winoground's scores are defined, over the caption and these negatives, the own image and the negative images:

    text score   every image prefers its own text to every other   (image-to-text)
    image score  every text prefers its own image to every other   (text-to-image)
    group score  both

All comparisons are strict. With one negative of each, chance is 1/4, 1/4 and 1/6.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from equipoise import stats
from equipoise.evaluation.record import IMAGE_METRICS, ImageNumbers, Interval
from equipoise.evaluation.scores import ImageScores, ItemScores

Bools = NDArray[np.bool_]


class Square(NamedTuple):
    """Winoground's verdict on one item."""

    text: bool
    image: bool
    text_tie: bool  # an image puts its own text level with the highest other
    image_tie: bool  # a text puts its own image level with the highest other

    @property
    def group(self) -> bool:
        return self.text and self.image

    @property
    def tie(self) -> bool:
        return self.text_tie or self.image_tie


def square(item: ItemScores) -> Square | None:
    """Text and image score of an item whose negative images each have their own text; None for others."""
    if not item.paired:
        return None
    shown: list[ItemScores | ImageScores] = [item, *item.negative_images]
    return judge_square([[one.caption, *one.negatives] for one in shown])


def judge_square(scores: Sequence[Sequence[float]]) -> Square:
    """`scores[image][text]`; the text of an image has its number, and texts of no image come after them, not asked."""
    size = range(len(scores))
    texts = [max(scores[k][other] for other in size if other != k) for k in size]  # the highest wrong text of an image
    images = [max(scores[other][k] for other in size if other != k) for k in size]
    own = [scores[k][k] for k in size]
    return Square(
        text=all(own[k] > texts[k] for k in size),
        image=all(own[k] > images[k] for k in size),
        text_tie=any(own[k] == texts[k] for k in size),
        image_tie=any(own[k] == images[k] for k in size),
    )


class _Pairs(NamedTuple):
    """Of all right pairs of an item: the caption with the own image above; any above, level, below."""

    original: bool
    above: bool
    level: bool
    below: bool


def _pairs(item: ItemScores) -> _Pairs:
    bars = [max(values) for values in zip(*map(_right, item.negative_images), strict=True)]  # of each right text
    shown: list[ItemScores | ImageScores] = [item, *item.positive_images]
    pairs = [pair for one in shown for pair in zip(_right(one), bars, strict=True)]
    return _Pairs(
        original=item.caption > bars[0],
        above=any(score > bar for score, bar in pairs),
        level=any(score == bar for score, bar in pairs),
        below=any(score < bar for score, bar in pairs),
    )


def _right(one: ItemScores | ImageScores) -> list[float]:
    return [one.caption, *one.positives]


@dataclass(frozen=True)
class ImageOutcomes:
    """One entry an item, in the order of the scores; False where the question is not asked of it."""

    asked: Bools  # it has a negative image
    more: Bools  # and a second right pair
    square: Bools  # and every negative image has its own text
    original: Bools
    augmented: Bools
    brittle: Bools
    tie: Bools
    text: Bools
    image: Bools
    group: Bools

    def of(self, index: int) -> dict[str, bool]:
        """The outcome of one item, as written beside its scores."""
        shown = ["original"] if self.asked[index] else []
        shown += ["augmented", "brittle"] if self.more[index] else []
        shown += ["text", "image", "group"] if self.square[index] else []
        return {name: bool(getattr(self, name)[index]) for name in (*shown, *(["tie"] if shown else []))}

    def columns(self) -> tuple[stats.Floats, stats.Floats]:
        """Wins and counts of each item, for `stats.grouped_ratios`: as IMAGE_METRICS, but for the fourth, which is
        Original where there is a second right pair; `named` makes the drop of it."""
        wins = [self.original, self.augmented, self.brittle, self.original & self.more]
        wins += [self.text, self.image, self.group]
        counts = [self.asked, self.more, self.more, self.more, self.square, self.square, self.square]
        return np.stack(wins, axis=1).astype(np.float64), np.stack(counts, axis=1).astype(np.float64)


def judge_images(scores: Sequence[ItemScores]) -> ImageOutcomes | None:
    """The outcome of every item on the image side; None where no item has a negative image."""
    if not any(item.negative_images for item in scores):
        return None
    found = np.zeros((10, len(scores)), dtype=bool)
    for index, item in enumerate(scores):
        if not item.negative_images:
            continue
        pairs, box = _pairs(item), square(item)
        more = bool(item.positives or item.positive_images)
        tie = pairs.level or (box is not None and box.tie)
        augmented = more and not (pairs.level or pairs.below)
        brittle = more and pairs.above and pairs.below and not pairs.level
        found[:, index] = (True, more, box is not None, pairs.original, augmented, brittle, tie, False, False, False)
        if box is not None:
            found[7:, index] = box.text, box.image, box.group
    return ImageOutcomes(*found)


def named(columns: stats.Floats) -> stats.Floats:
    """Measured or resampled columns as IMAGE_METRICS has them."""
    found = columns.copy()
    found[..., 3] = columns[..., 3] - columns[..., 1]
    return found


def image_numbers(outcomes: ImageOutcomes, mask: Bools, found: stats.Average) -> ImageNumbers | None:
    """The numbers of the items of `mask`, whose columns were averaged; None where none was asked."""
    asked = mask & outcomes.asked
    if not asked.any():
        return None
    found = found._replace(parts=named(found.parts), drawn=named(found.drawn))
    values = found.values
    known = {name: column for column, name in enumerate(IMAGE_METRICS) if np.isfinite(values[column])}
    return ImageNumbers(
        n=int(asked.sum()),
        n_positives=int((mask & outcomes.more).sum()),
        n_groups=int((mask & outcomes.square).sum()),
        ties=int((mask & outcomes.tie).sum()),
        **{name: float(values[known[name]]) if name in known else None for name in IMAGE_METRICS},
        intervals={name: Interval(*found.interval(column)) for name, column in known.items()},
    )
