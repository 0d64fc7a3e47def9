"""Scores -> outcomes: what happened to each item. metrics.py says how an outcome counts.

Texts: s(c) or s(p) against the highest s(n) of the item. Images: a right pair (a right text, a right image) is above
where it scores higher than its text does with every negative image. A pair is compared with pairs of its own text only,
because how much a text scores with images at large says nothing of images. Winoground's scores are defined where
negatives[k] describes negative_images[k] (a `paired` item). docs/metrics.md has every definition.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields

import numpy as np
from numpy.typing import NDArray

from equipoise.core import stats
from equipoise.evaluation.answers import Answer, Verdict, verdict
from equipoise.evaluation.scores import ImageScores, ItemScores, Lists, Scores

_SCALE = 2.0**40  # scores are summed this much smaller, which is exact: some people's are near 1e308

Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class ImageOutcomes:
    """One entry an item, in the order of the scores; False where the question is not asked of it."""

    asked: Bools  # it has a negative image
    more: Bools  # and a second right pair
    square: Bools  # and every negative image has its own text
    two_by_two: Bools  # of those with one negative image
    original: Bools
    augmented: Bools
    brittle: Bools
    tie: Bools
    text: Bools
    image: Bools
    group: Bools


@dataclass(frozen=True)
class Outcomes:
    """One entry an item, in the order of the scores. Metrics are functions of this."""

    rows: Scores
    original: Bools
    augmented: Bools  # False where the item has no positive; see has_positive
    brittle: Bools
    tie: Bools
    has_positive: Bools  # and a negative
    has_negative: Bools  # False where an item has negative images alone
    caption: stats.Floats  # scores; the positives' and negatives' are means within the item
    positive: stats.Floats
    negative: stats.Floats
    lowest_right: stats.Floats  # of the caption and its positives
    highest_right: stats.Floats
    highest_negative: stats.Floats  # infinite where there is none
    positives: NDArray[np.int64]  # how many
    negatives: NDArray[np.int64]
    change: stats.Floats  # the mean of |s(c) - s(p)|; NaN without a positive
    above: stats.Floats  # the share of negatives that the caption is above; NaN without a negative
    cluster: NDArray[np.int64]
    tags: Sequence[Mapping[str, str]]
    images: ImageOutcomes  # of the image side
    own: Mapping[str, stats.Floats] = field(default_factory=dict)  # of a run read back: the user's own metrics
    answered: Mapping[int, Verdict] = field(default_factory=dict)  # items without scores, by place

    def __len__(self) -> int:
        return len(self.original)

    @functools.cached_property
    def chance(self) -> stats.Floats:
        """(items, 3): Original, Augmented and Brittleness of a random order of the texts, or of random answers."""
        chance = stats.chance_of_orders(self.positives + 1, self.negatives)
        for index, answers in self.answered.items():
            chance[index] = answers.chance
        return chance

    def asked(self, where: Bools, ask: Callable[[ItemScores], bool]) -> Bools:
        """The value of `ask` for the scores of each item of `where`; False for the others."""
        values = np.zeros(len(self), dtype=bool)
        for index in np.flatnonzero(where).tolist():
            values[index] = ask(self.rows[index])
        return values

    def of_answers(self, ask: Callable[[Sequence[Answer]], float | None]) -> stats.Floats:
        """The value of `ask` for each item's answers; NaN if it has none or the value is None. Metrics ask the same of
        one outcome several times (who counts, who wins): it is computed once."""
        if ask not in self._said:
            column = np.full(len(self), np.nan)
            for index, answers in self.rows.having("answers"):
                if (value := ask(answers)) is not None:
                    column[index] = value
            column.flags.writeable = False
            self._said[ask] = column
        return self._said[ask]

    @functools.cached_property
    def _said(self) -> dict[Callable[[Sequence[Answer]], float | None], stats.Floats]:
        return {}


def outcomes_of(scores: Sequence[ItemScores]) -> Outcomes:
    columns = Scores.of(scores)
    right, negatives = columns.right, columns.negatives
    caption = right.values[right.starts]
    has_negative = negatives.counts > 0
    highest_negative = negatives.reduced(np.maximum, math.inf)
    has_positive = (right.counts > 1) & has_negative
    lowest_right, highest_right = right.reduced(np.minimum, math.inf), right.reduced(np.maximum, -math.inf)
    tie = right.reduced(np.logical_or, False, right.values == np.repeat(highest_negative, right.counts))
    with np.errstate(over="ignore"):
        change = np.abs(np.repeat(caption, right.counts) - right.values)
    above = (np.repeat(caption, negatives.counts) > negatives.values).astype(np.float64)
    original, augmented = caption > highest_negative, has_positive & (lowest_right > highest_negative)
    brittle = (lowest_right < highest_negative) & (highest_right > highest_negative) & ~tie
    alone = ((index, given) for index, given in columns.having("answers") if math.isnan(caption[index]))
    answered = {index: verdict(given) for index, given in alone if all(answer.right is not None for answer in given)}
    for index, said in answered.items():
        original[index], augmented[index], brittle[index] = said.original, said.augmented, said.brittle
        has_negative[index], has_positive[index] = True, said.reworded
    return Outcomes(
        rows=columns,
        original=original,
        augmented=augmented,
        brittle=brittle,
        answered=answered,
        tie=tie,
        has_positive=has_positive,
        caption=caption,
        positive=_means(right, right.values, skip=1),
        negative=_means(negatives, negatives.values),
        lowest_right=lowest_right,
        highest_right=highest_right,
        highest_negative=highest_negative,
        cluster=np.array(_clusters(columns), dtype=np.int64),
        positives=right.counts - 1,
        negatives=negatives.counts,
        change=_means(right, change, skip=1),
        above=_means(negatives, above),
        tags=columns.tags,
        has_negative=has_negative,
        images=image_outcomes(columns),
    )


def _clusters(scores: Scores) -> list[int]:
    """The number of each item's cluster: items that share a photo are resampled together.

    With alternative images a photo may be one item's own and another's negative (COLA: 218 photos in 210 items), so
    all photos of an item are in one cluster.
    """
    first: dict[str, str] = {}  # photo -> another of its cluster, or itself

    def root(photo: str) -> str:
        while (other := first.setdefault(photo, photo)) != photo:
            first[photo] = photo = first[other]
        return photo

    own = [id_ if image is None else image for id_, image in zip(scores.ids, scores.images, strict=True)]
    for kind in ("positive_images", "negative_images"):
        for index, others in scores.having(kind):
            for other in others:
                if other.image is not None:
                    first[root(other.image)] = root(own[index])
    clusters: dict[str, int] = {}
    return [clusters.setdefault(root(photo) if first else photo, len(clusters)) for photo in own]


def _means(lists: Lists, values: stats.Floats, skip: int = 0) -> stats.Floats:
    """The mean of the `values` of each list, without its first so many; NaN where nothing is left.

    One and two values are most of them, and their sums are exact or correctly rounded as `fsum`'s are.
    """
    first, counts = lists.starts + skip, lists.counts - skip
    means = np.full(len(counts), math.nan)
    single, double = first[counts == 1], first[counts == 2]
    means[counts == 1] = values[single]
    means[counts == 2] = (values[double] / _SCALE + values[double + 1] / _SCALE) / 2 * _SCALE
    for index in np.flatnonzero(counts > 2).tolist():
        some = values[first[index] : first[index] + counts[index]].tolist()
        means[index] = math.fsum(value / _SCALE for value in some) / len(some) * _SCALE
    return means


def _square(item: ItemScores) -> dict[str, bool]:
    """Winoground's verdict on an item whose negative images each have their own text: every image puts its own text
    first, and every text its own image; `tie` where one is level with the highest other. Texts of no image come after
    those that have one, and are not asked."""
    shown: list[ItemScores | ImageScores] = [item, *item.negative_images]
    scores = [[scored.caption, *scored.negatives] for scored in shown]
    size = range(len(scores))
    texts = [max(scores[k][other] for other in size if other != k) for k in size]  # the highest wrong text of an image
    images = [max(scores[other][k] for other in size if other != k) for k in size]
    own = [scores[k][k] for k in size]
    text = all(own[k] > texts[k] for k in size)
    image = all(own[k] > images[k] for k in size)
    tie = any(own[k] in (texts[k], images[k]) for k in size)
    verdict = {"square": True, "two_by_two": len(size) == 2, "text": text, "image": image, "group": text and image}
    return verdict | {"tie": tie}


def _right(scored: ItemScores | ImageScores) -> list[float]:
    return [scored.caption, *scored.positives]


def image_outcomes(scores: Scores) -> ImageOutcomes:
    columns = {field.name: np.zeros(len(scores), dtype=bool) for field in fields(ImageOutcomes)}
    for index, _ in scores.having("negative_images"):
        item = scores[index]
        more = bool(item.positives or item.positive_images)
        bars = [max(values) for values in zip(*map(_right, item.negative_images), strict=True)]  # of each right text
        shown: list[ItemScores | ImageScores] = [item, *item.positive_images]
        pairs = [pair for scored in shown for pair in zip(_right(scored), bars, strict=True)]  # all right pairs
        above = any(score > bar for score, bar in pairs)
        level = any(score == bar for score, bar in pairs)
        below = any(score < bar for score, bar in pairs)
        verdict = _square(item) if item.paired else {"tie": False}
        verdict |= {
            "asked": True,
            "more": more,
            "original": item.caption > bars[0],
            "augmented": more and not (level or below),
            "brittle": more and above and below and not level,
            "tie": level or verdict["tie"],
        }
        for name, value in verdict.items():
            columns[name][index] = value
    return ImageOutcomes(**columns)
