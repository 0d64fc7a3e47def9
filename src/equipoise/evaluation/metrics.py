"""Scores -> outcomes -> numbers.

For one item, with right captions R (the caption c and its hard positives p) and the highest hard negative n:

    Original     c > n
    Augmented    every right caption > n
    Brittleness  some right caption > n and some right caption < n
    tie          some right caption == n: never a win, never brittle, always counted

All comparisons are strict. With one positive and one negative these are the ECCV paper's definitions
(c > n > p or p > n > c). The published code prints raw counts and counts a tie as wrong too, so the numbers agree.
Items without a hard positive count for Original only, items without a hard negative for none of these; what is asked
of alternative images is in image_side.py.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise import stats
from equipoise.collector import without_collection
from equipoise.evaluation import graded
from equipoise.evaluation.image_side import ImageOutcomes, image_numbers, judge_images, named
from equipoise.evaluation.record import (
    METRICS,
    SHARES,
    ImageNumbers,
    Interval,
    ItemNumbers,
    MacroNumbers,
    MeanScores,
    Metric,
    Summary,
)
from equipoise.evaluation.scores import ItemScores, Lists, Scores, kinds_of

MOST_GROUPS = 100  # a tag with more values (an image id) is no breakdown
_SCALE = 2.0**40  # scores are summed this much smaller, which is exact: some people's are near 1e308

Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Outcomes:
    """One entry an item, in the order of the scores."""

    original: Bools
    augmented: Bools  # False where the item has no positive; see has_positive
    brittle: Bools
    tie: Bools
    has_positive: Bools
    caption: stats.Floats  # scores; the positives' and negatives' are means within the item
    positive: stats.Floats
    negative: stats.Floats
    pairs: graded.Pairs  # the caption with each of the others, for the graded numbers
    cluster: NDArray[np.int64]
    tags: Sequence[Mapping[str, str]]
    has_negative: Bools  # False where an item has negative images alone
    images: ImageOutcomes | None = None  # None: no item has a negative image

    def __len__(self) -> int:
        return len(self.original)

    def of(self, index: int) -> dict[str, Any]:
        """The outcome of one item, as written beside its scores."""
        shown: dict[str, Any] = {"original": bool(self.original[index])} if self.has_negative[index] else {}
        if self.has_positive[index]:
            shown |= {"augmented": bool(self.augmented[index]), "brittle": bool(self.brittle[index])}
        shown |= {"tie": bool(self.tie[index])} if shown else {}
        on_images = self.images.of(index) if self.images is not None else {}
        return shown | ({"images": on_images} if on_images else {})

    def each(self) -> Iterator[dict[str, Any]]:
        """`of` every item in turn, quickly where nothing is asked of images."""
        if self.images is not None:
            yield from map(self.of, range(len(self)))
            return
        columns = (self.has_negative, self.has_positive, self.original, self.augmented, self.brittle, self.tie)
        for compared, reworded, original, augmented, brittle, tie in zip(*(c.tolist() for c in columns), strict=True):
            shown = {"original": original} if compared else {}
            if reworded:
                shown |= {"augmented": augmented, "brittle": brittle}
            yield shown | {"tie": tie} if shown else shown


@without_collection
def judge(scores: Sequence[ItemScores]) -> Outcomes:
    """The outcome of every item."""
    columns = Scores.of(scores)
    right, negatives = columns.right, columns.negatives
    caption = right.values[right.starts]
    has_negative = negatives.counts > 0
    highest_negative = negatives.reduced(np.maximum, math.inf)
    has_positive = (right.counts > 1) & has_negative
    lowest_right, highest_right = right.reduced(np.minimum, math.inf), right.reduced(np.maximum, -math.inf)
    tie = right.reduced(np.logical_or, False, right.values == np.repeat(highest_negative, right.counts))
    return Outcomes(
        original=caption > highest_negative,
        augmented=has_positive & (lowest_right > highest_negative),
        brittle=(lowest_right < highest_negative) & (highest_right > highest_negative) & ~tie,
        tie=tie,
        has_positive=has_positive,
        caption=caption,
        positive=_means(right, skip=1),
        negative=_means(negatives),
        cluster=np.array(_clusters(columns), dtype=np.int64),
        pairs=graded.pairs(right, negatives),
        tags=columns.tags,
        has_negative=has_negative,
        images=judge_images(columns) if any(columns.having("negative_images")) else None,
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
    for field in ("positive_images", "negative_images"):
        for index, others in scores.having(field):
            for other in others:
                if other.image is not None:
                    first[root(other.image)] = root(own[index])
    clusters: dict[str, int] = {}
    return [clusters.setdefault(root(photo) if first else photo, len(clusters)) for photo in own]


def _means(lists: Lists, skip: int = 0) -> stats.Floats:
    """The mean of each list, without its first so many values; NaN where nothing is left.

    One and two values are most of them, and their sums are exact or correctly rounded as `fsum`'s are.
    """
    values, first, counts = lists.values, lists.starts + skip, lists.counts - skip
    found = np.full(len(counts), math.nan)
    one, two = first[counts == 1], first[counts == 2]
    found[counts == 1] = values[one]
    found[counts == 2] = (values[two] / _SCALE + values[two + 1] / _SCALE) / 2 * _SCALE
    for index in np.flatnonzero(counts > 2).tolist():
        found[index] = _mean(lists[index][skip:])
    return found


def _mean(values: Sequence[float]) -> float:
    return math.fsum(value / _SCALE for value in values) / len(values) * _SCALE


# ---------------------------------------------------------------------------- numbers


def summarise(outcomes: Outcomes, seed: int = 0, resamples: int = stats.RESAMPLES) -> Summary:
    """The numbers of all items and of each value of each tag: fractions between 0 and 1, with intervals."""
    groups: dict[tuple[str, str], Bools] = {("", ""): np.ones(len(outcomes), dtype=bool)}
    kinds, kind = kinds_of(outcomes.tags)
    for tag in _breakdowns(kinds):
        # Numbers in place of the words: an array of strings gives every row the width of the longest.
        number = {value: index for index, value in enumerate(sorted({tags.get(tag, "") for tags in kinds}))}
        values = np.array([number[tags.get(tag, "")] for tags in kinds])[kind]
        groups |= {(tag, value): values == index for value, index in number.items() if value != ""}
    numbers = _numbers(outcomes, list(groups.values()), seed, resamples)
    by: dict[str, dict[str, ItemNumbers]] = {}
    for (tag, value), group in zip(list(groups)[1:], numbers[1:], strict=True):
        by.setdefault(tag, {})[value] = group
    return Summary(overall=numbers[0], by=by)


def _breakdowns(tags: Sequence[Mapping[str, str]]) -> list[str]:
    """The tags worth a table: not one value for nearly every item."""
    values: dict[str, set[str]] = {}
    for item in tags:
        for tag, value in item.items():
            values.setdefault(tag, set()).add(value)
    return [tag for tag, found in values.items() if len(found) <= MOST_GROUPS]


def _columns(outcomes: Outcomes) -> tuple[stats.Floats, stats.Floats]:
    """Per item: wins and counts of original, augmented, brittleness, and original where there is a positive."""
    positive = outcomes.has_positive
    wins = [outcomes.original, outcomes.augmented, outcomes.brittle, outcomes.original & positive]
    counts = [outcomes.has_negative, positive, positive, positive]
    return np.stack(wins, axis=1).astype(np.float64), np.stack(counts, axis=1).astype(np.float64)


def _numbers(outcomes: Outcomes, groups: Sequence[Bools], seed: int, resamples: int) -> list[ItemNumbers]:
    columns = stats.averaged(*_columns(outcomes), outcomes.cluster, groups, seed=seed, resamples=resamples)
    chance = _chance(outcomes, groups)
    on_images = _image_side(outcomes, groups, seed, resamples)
    found = []
    spread = graded.spread(outcomes.caption)
    for index, mask in enumerate(groups):
        n, n_positive = int(mask.sum()), int((mask & outcomes.has_positive).sum())
        compared = mask & outcomes.has_negative
        right = int((mask & outcomes.original).sum())
        values, intervals = _named(columns.only(index))
        found.append(
            ItemNumbers(
                n=n,
                n_positives=n_positive,
                images=stats.distinct(outcomes.cluster[mask]),
                ties=int((mask & outcomes.tie).sum()),
                **values,
                intervals=intervals,
                chance=_shares(chance[index]),
                wilson={"original": Interval(*stats.wilson(right, int(compared.sum())))},
                mean_scores=MeanScores(
                    caption=_mean_score(outcomes.caption[mask]),
                    positive=_mean_score(outcomes.positive[mask & outcomes.has_positive]),
                    negative=_mean_score(outcomes.negative[compared]),
                ),
                image_side=on_images[index],
                graded=graded.graded(outcomes, mask, spread),
            )
        )
    return found


def _chance(outcomes: Outcomes, groups: Sequence[Bools]) -> stats.Floats:
    """(groups, 3): the shares of a model that orders the texts of an item at random, over the items that have them."""
    right, wrong = outcomes.pairs.positives + 1, outcomes.pairs.negatives
    counts = np.stack([outcomes.has_negative, outcomes.has_positive, outcomes.has_positive], axis=1).astype(np.float64)
    each = stats.chance_of_orders(right, wrong) * counts
    return np.stack([each[mask].sum(0) / np.where(n := counts[mask].sum(0), n, np.nan) for mask in groups])


def _shares(values: stats.Floats) -> dict[Metric, float]:
    return {name: float(value) for name, value in zip(SHARES, values, strict=True) if math.isfinite(value)}


def _image_side(outcomes: Outcomes, groups: Sequence[Bools], seed: int, resamples: int) -> list[ImageNumbers | None]:
    images = outcomes.images
    if images is None:
        return [None] * len(groups)
    found = stats.averaged(*images.columns(), outcomes.cluster, groups, seed=seed, resamples=resamples)
    return [image_numbers(images, mask, found.only(index)) for index, mask in enumerate(groups)]


def _named(found: stats.Average) -> tuple[dict[Metric, float | None], dict[Metric, Interval]]:
    """Four columns (see _columns) as the metrics people read, and their intervals where there is a value."""
    found = found._replace(parts=named(found.parts), drawn=named(found.drawn))
    values = {name: _finite(value) for name, value in zip(METRICS, found.values, strict=True)}
    known = {name: column for column, name in enumerate(METRICS) if values[name] is not None}
    return values, {name: Interval(*found.interval(column)) for name, column in known.items()}


def _mean_score(values: stats.Floats) -> float | None:
    return _finite(float(np.mean(values / _SCALE)) * _SCALE) if len(values) else None


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


# ---------------------------------------------------------------------------- macro averages


def macro(
    outcomes: Outcomes,
    path: Sequence[str],
    least: int = 1,
    seed: int = 0,
    resamples: int = stats.RESAMPLES,
) -> MacroNumbers | None:
    """Unweighted means over groups, nested along the tags of `path`, outermost first.

    REPLACE is the mean of attributes and relations; VL-CheckList a mean over tests of means over sources of means
    over files. Innermost groups with fewer than `least` items are left out, as ARO does below 25; None where that
    leaves nothing (a first look at a few items).
    """
    found = leaves(outcomes.tags, path, least)
    if found is None:
        return None
    columns = stats.averaged(*_columns(outcomes), outcomes.cluster, found.masks, found.weights, seed, resamples)
    values, intervals = _named(columns)
    return MacroNumbers(
        rule=None,
        over=list(path),
        least=least,
        groups=len(found.masks),
        left_out=found.left_out,
        n=int(found.kept.sum()),
        n_positives=int((found.kept & outcomes.has_positive).sum()),
        ties=int((outcomes.tie & found.kept).sum()),
        **values,
        intervals=intervals,
        chance=_shares(stats.weighted_mean(_chance(outcomes, found.masks)[None], found.weights)[0]),
        mean_scores=_macro_scores(outcomes, found),
        image_side=_macro_images(outcomes, found, seed, resamples),
    )


def _macro_images(outcomes: Outcomes, found: Leaves, seed: int, resamples: int) -> ImageNumbers | None:
    images = outcomes.images
    if images is None:
        return None
    columns = stats.averaged(*images.columns(), outcomes.cluster, found.masks, found.weights, seed, resamples)
    return image_numbers(images, found.kept, columns)


def _macro_scores(outcomes: Outcomes, found: Leaves) -> MeanScores:
    """Mean scores by the weights of the groups, so that they belong to the accuracies beside them."""
    columns = [outcomes.caption, outcomes.positive, outcomes.negative]
    there = [np.ones(len(outcomes), dtype=bool), outcomes.has_positive, outcomes.has_negative]
    means = np.array(
        [
            [
                value / _SCALE if (value := _mean_score(column[mask & kept])) is not None else np.nan
                for column, kept in zip(columns, there, strict=True)
            ]
            for mask in found.masks
        ]
    )
    caption, positive, negative = (
        _finite(value * _SCALE) for value in stats.weighted_mean(means[None], found.weights)[0]
    )
    return MeanScores(caption=caption, positive=positive, negative=negative)


@dataclass(frozen=True)
class Leaves:
    """The innermost groups of a macro average, and how much each counts."""

    masks: list[Bools]  # over items
    weights: stats.Floats
    kept: Bools  # the items that are in one of them
    left_out: int  # groups that are too small


def leaves(tags: Sequence[Mapping[str, str]], path: Sequence[str], least: int = 1) -> Leaves | None:
    """The groups of `macro`, None where none has `least` items; without a path all items are one group."""
    kinds, kind = kinds_of(tags)
    keys = [tuple(item.get(tag, "") for tag in path) for item in kinds]
    sizes: Counter[tuple[str, ...]] = Counter()
    for key, size in zip(keys, np.bincount(kind, minlength=len(keys)).tolist(), strict=True):
        sizes[key] += size
    chosen = sorted(key for key, size in sizes.items() if size >= least)
    if not chosen:
        return None
    number = {leaf: index for index, leaf in enumerate(chosen)}
    leaf_of = np.array([number.get(key, -1) for key in keys])[kind]
    return Leaves(
        masks=[leaf_of == index for index in range(len(chosen))],
        weights=np.array([_leaf_weight(leaf, chosen) for leaf in chosen]),
        kept=leaf_of >= 0,
        left_out=len(sizes) - len(chosen),
    )


def _leaf_weight(leaf: tuple[str, ...], leaves: Sequence[tuple[str, ...]]) -> float:
    """1 / (children at every level above the leaf)."""
    weight = 1.0
    for depth in range(len(leaf)):
        siblings = {other[: depth + 1] for other in leaves if other[:depth] == leaf[:depth]}
        weight /= len(siblings)
    return weight
