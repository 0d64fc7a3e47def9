"""Metrics that single papers define next to Original accuracy.

A benchmark names the ones it wants (`Benchmark.metrics`); each takes the scores of its items and returns plain
numbers. Comparisons are strict here as everywhere; where a paper's code lets a tie win, its numbers on ties differ.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.core import stats
from equipoise.evaluation.record import Interval, Number
from equipoise.evaluation.scores import ItemScores

Numbers = dict[str, Number]  # by metric


def ranks(scores: Sequence[ItemScores]) -> Numbers:
    """CREPE: the caption's rank among itself and its negatives.

    A negative with the caption's score counts as above it; CREPE's argsort leaves that order undefined.
    """
    rank = np.array([1 + sum(value >= s.caption for value in s.negatives) for s in scores if s.negatives])
    if not len(rank):
        return {}
    numbers: Numbers = {}
    for k in (1, 3, 5, 10):
        numbers |= _share(f"recall_at_{k}", (rank <= k).tolist())
    n = len(rank)
    return numbers | {"mean_rank": _number(rank.mean(), n), "median_rank": _number(np.median(rank), n)}


def groups(scores: Sequence[ItemScores]) -> Numbers:
    """ColorSwap: Winoground's text, image and group score of a generative model's answers, which come one by one (tags
    `pair` and `ask`, which is text or image). Both questions of a side must be right, of the sides that were asked. Of
    scores these are metrics like any other (metrics.py)."""
    right: dict[str, dict[str, list[bool]]] = {}
    for score in scores:
        if score.answers:
            won = right.setdefault(score.tags["pair"], {}).setdefault(score.tags["ask"], [])
            won.append(score.caption > score.negatives[0])
    numbers: Numbers = {}
    for name, asked in {"text": ("text",), "image": ("image",), "group": ("text", "image")}.items():
        whole = [sides for sides in right.values() if all(len(sides.get(side, ())) == 2 for side in asked)]
        numbers |= _share(f"{name}_score", [all(all(sides[side]) for side in asked) for sides in whole])
    return numbers


def _number(value: float | np.floating[Any], n: int, interval: tuple[float, float] | None = None) -> Number:
    return Number(value=float(value), interval=None if interval is None else Interval(*interval), n=n)


def _share(name: str, wins: Sequence[bool]) -> Numbers:
    n = len(wins)
    return {name: _number(sum(wins) / n, n, stats.wilson(sum(wins), n))} if n else {}


def tot(scores: Sequence[ItemScores]) -> Numbers:
    """SugarCrepe++: ITT (our Augmented accuracy) and TOT, which asks the text tower alone.

    TOT holds when the caption is closer to every positive than it or any positive is to any negative. SugarCrepe++
    has one positive per item. Where there are several, the cosines between two positives are not asked:
    `TextScores` does not hold them.
    """
    itt = [min([s.caption, *s.positives]) > max(s.negatives) for s in scores if s.positives and s.negatives]
    numbers = {"itt": _number(sum(itt) / len(itt), len(itt))} if itt else {}
    asked = [score.text for score in scores if score.text is not None and score.positives and score.negatives]
    if asked:
        wins = []
        for text in asked:
            with_negatives = [*text.caption_negatives, *chain.from_iterable(text.positives_negatives)]
            wins.append(min(text.caption_positives) > max(with_negatives))
        numbers |= _share("tot", wins)
    return numbers


def mirrored(scores: Sequence[ItemScores]) -> Numbers:
    """Predicate-noun dependencies: both items of a mirrored pair right, by wording and part; and wordings compared.

    `pair_SPLIT` is the paper's accuracy, `noun_SPLIT` and `predicate_SPLIT` its parts. `both_wordings` is the share of
    rows whose right sentence beats the wrong one in both wordings, `one_wording` in exactly one of them: Brittleness
    for scores that cannot be compared across wordings. A tie counts for neither.
    """
    numbers: Numbers = {}
    pairs: dict[tuple[str, str], list[ItemScores]] = {}
    scores = list(scores)  # read twice, and a column makes its rows anew each time
    for score in scores:
        pairs.setdefault((score.tags.get("split", ""), score.tags.get("pair", score.id)), []).append(score)
    whole = {key: pair for key, pair in pairs.items() if len(pair) == 2}
    wins: dict[str, list[bool]] = {}
    for (split, _), pair in whole.items():
        for name in dict.fromkeys(("pair", pair[0].tags.get("part", ""))):
            if name:
                wins.setdefault(f"{name}_{split}", []).append(all(item.caption > max(item.negatives) for item in pair))
    for name, won in wins.items():
        numbers |= _share(name, won)
    return numbers | {"incomplete": _number(len(pairs) - len(whole), len(pairs))} | _wordings(scores)


def _wordings(scores: Sequence[ItemScores]) -> Numbers:
    """Rows by how many of their two wordings are right; images are resampled."""
    rows: dict[str, list[ItemScores]] = {}
    for score in scores:
        rows.setdefault(score.id.rpartition("/")[2], []).append(score)
    asked = [row for row in rows.values() if len({item.tags.get("split") for item in row}) == len(row) == 2]
    if not asked:
        return {}
    margins = np.array([[item.caption - max(item.negatives) for item in row] for row in asked])
    right, wrong = (margins > 0).sum(axis=1), (margins < 0).sum(axis=1)
    counts = np.ones((len(asked), 2))
    wins = np.stack([right == 2, (right == 1) & (wrong == 1)], axis=1).astype(np.float64)
    cluster = stats.numbered([row[0].image or row[0].id for row in asked])
    measured = stats.averaged(wins, counts, cluster, [np.ones(len(asked), dtype=bool)])
    return {
        name: _number(measured.values[column], len(asked), measured.interval(column))
        for column, name in enumerate(("both_wordings", "one_wording"))
    }


def truth(scores: Sequence[ItemScores]) -> Numbers:
    """VSR: how well a score tells true sentences from false ones, without a threshold.

    An item holds a sentence and its negation; the tag `label` says which of the two was published. `auc`: chance that a
    true sentence (with its photo) scores above a false one, a tie counting half. `auc_within_relation`: of sentences
    with one relation only, for relations are not equally often true. `same_statement`: where one sentence is true of
    one photo and false of another, the share of such pairs that are in order, strictly; each sentence counts once.
    `majority` and `majority_by_relation` are what naming the more frequent label would give.
    """
    value = np.array([s.caption if s.tags["label"] == "true" else s.negatives[0] for s in scores])
    true = np.array([s.tags["label"] == "true" for s in scores])
    numbers = {"true": _number(int(true.sum()), len(scores))}
    clusters = stats.numbered([s.image if s.image is not None else s.id for s in scores])
    numbers |= _with_interval("auc", _auc, value, true, clusters)
    relation = stats.numbered([s.tags.get("relation", "") for s in scores])
    within = functools.partial(_auc, within=relation)
    numbers |= _with_interval("auc_within_relation", within, value, true, clusters, _both_kinds(relation, true))
    statement = stats.numbered([s.tags.get("statement", s.id) for s in scores])
    mixed = [(value[at], true[at]) for at in _members(statement) if 0 < true[at].sum() < len(at)]
    shares = [float(np.mean(score[right][:, None] > score[~right][None, :])) for score, right in mixed]
    if n := len(shares):
        drawn = stats.cluster_bootstrap(np.array(shares)[:, None], np.ones((n, 1)))
        numbers["same_statement"] = _number(sum(shares) / n, n, stats.share_interval(sum(shares) / n, drawn[:, 0], n))
    numbers["majority"] = _number(max(int(true.sum()), int((~true).sum())) / len(true), len(true))
    right = sum(max(int(true[at].sum()), int((~true[at]).sum())) for at in _members(relation))
    return numbers | {"majority_by_relation": _number(right / len(true), len(true))}


def _auc(
    value: stats.Floats, true: NDArray[np.bool_], weight: stats.Floats, within: NDArray[np.int64] | None = None
) -> float:
    """The area under the ROC curve of weighted items; NaN without both kinds. `within`: pairs of one group only."""
    order = np.argsort(value, kind="stable") if within is None else np.lexsort((value, within))
    value, true, weight = value[order], true[order], weight[order]
    group = np.zeros(len(value), np.int64) if within is None else within[order]
    new_group = np.r_[True, group[1:] != group[:-1]]
    steps = np.flatnonzero(new_group | np.r_[True, value[1:] != value[:-1]])  # where a run of equal scores begins
    positive, negative = np.add.reduceat(weight * true, steps), np.add.reduceat(weight * ~true, steps)
    below = np.cumsum(negative) - negative
    first = new_group[steps]
    below -= below[np.flatnonzero(first)][np.cumsum(first) - 1]  # false sentences of this group alone
    groups = np.flatnonzero(first)
    pairs = float(np.sum(np.add.reduceat(positive, groups) * np.add.reduceat(negative, groups)))
    return float(np.sum(positive * (below + negative / 2))) / pairs if pairs else math.nan


def _with_interval(
    name: str,
    measure: Callable[[stats.Floats, NDArray[np.bool_], stats.Floats], float],
    value: stats.Floats,
    true: NDArray[np.bool_],
    clusters: NDArray[np.int64],
    there: NDArray[np.bool_] | None = None,
) -> Numbers:
    """A number of all items, or of those that are `there`, and the middle 95% of it over resampled images."""
    measured = measure(value, true, np.ones(len(value)))
    if math.isnan(measured):
        return {}
    rng, count = np.random.default_rng(0), int(clusters.max()) + 1
    draws = (np.bincount(rng.integers(count, size=count), minlength=count)[clusters] for _ in range(_AUC_RESAMPLES))
    drawn = np.array([measure(value, true, weight.astype(np.float64)) for weight in draws])
    images = count if there is None else stats.distinct(clusters[there])
    return {name: _number(measured, len(value), stats.share_interval(measured, drawn, images))}


def _both_kinds(group: NDArray[np.int64], true: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The items of groups that hold a true and a false sentence: those of others are in no pair."""
    held, trues = np.bincount(group), np.bincount(group, true)
    return ((trues > 0) & (trues < held))[group]


def _members(group: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """The places of each group's items."""
    order = np.argsort(group, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(group[order])) + 1)


_OPPOSITE = {"left": "right", "on": "under", "in-front": "behind"}


def sets(scores: Sequence[ItemScores]) -> Numbers:
    """What's Up: of the photos of the same two objects, both of two opposite places right, and all four.

    Of each split with the tag `set`: `SPLIT_pair` and `SPLIT_set`. The paper divides by half
    and a quarter of the photos; here only whole pairs and sets count, and `incomplete` says how many sets are not.
    """
    places: dict[tuple[str, str], dict[str, bool]] = {}
    for score in scores:
        if "set" in score.tags:
            key = (score.tags.get("split", "all"), score.tags["set"])
            places.setdefault(key, {})[score.tags.get("relation", "")] = score.caption > max(score.negatives)
    numbers = {"incomplete": _number(sum(len(place) != 4 for place in places.values()), len(places))} if places else {}
    for split in sorted({split for split, _ in places}):
        photo_sets = [won for (of_split, _), won in places.items() if of_split == split]
        pairs = [won[a] and won[b] for won in photo_sets for a, b in _OPPOSITE.items() if a in won and b in won]
        whole = [all(won.values()) for won in photo_sets if len(won) == 4]
        for name, wins in {f"{split}_pair": pairs, f"{split}_set": whole}.items():
            numbers |= _share(name, wins)
    return numbers


FUNCTIONS: dict[str, Callable[[Sequence[ItemScores]], Numbers]] = {
    "ranks": ranks,
    "groups": groups,
    "mirrored": mirrored,
    "tot": tot,
    "truth": truth,
    "sets": sets,
}
_AUC_RESAMPLES = 1000
