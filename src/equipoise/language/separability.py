"""Whether edits differ from originals in their words alone: a text-only baseline, which finds annotation artefacts.

The judge is logistic regression on words and pairs of neighbouring words, cross-validated with an image's captions and
edits in one fold. Two questions: *unpaired*, is this text an original or an edit; and *paired*, which of these two is
the original. The paired one is more sensitive, because the words of both texts cancel out. Chance is 50 %. An interval
below 50 means that the weights point the wrong way on other images.
"""

from __future__ import annotations

import random
import re
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.core.stats import averaged_all
from equipoise.data.items import Item, Text

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FOLDS = 5
_L2 = 1.0  # as in common toolkits: half the squared norm against the summed loss
_STEPS = 60
_FITS = 1.35  # the spread over new captions by simulation, as a multiple of the resamples' (1.2 to 1.4)
_LEAST = 20  # pairs below which an accuracy says nothing
# A mark keeps the blank before it: texts joined from tokens ("a yak .") give themselves away by it.
_TOKEN = re.compile(r"\w+(?:['’-]\w+)*|\s?[^\w\s]")

PAIRS = (("originals", "negatives"), ("originals", "positives"), ("positives", "negatives"))


def separability(items: Sequence[Item], seed: int = 0) -> dict[str, Any]:
    """For each two kinds: n, and accuracy with its interval, unpaired and paired; None if there are too few pairs."""
    return {f"{first} / {second}": _separate(items, first, second, seed) for first, second in PAIRS}


def _separate(items: Sequence[Item], first: str, second: str, seed: int) -> dict[str, object] | None:
    rng = random.Random(seed)
    pairs, groups = [], []  # groups by number
    places: dict[str, int] = {}  # name of a group -> its number, in the order of the items
    for item in items:
        first_text, second_text = _one_of(item, first, rng), _one_of(item, second, rng)
        if first_text is not None and second_text is not None and first_text != second_text:
            pairs.append((first_text, second_text))
            groups.append(places.setdefault(group_of(item), len(places)))
    if len(pairs) < _LEAST:
        return None
    # Folds by the order of the groups: their names must change no number. Not by the captions either: a judge would see
    # a text that is one item's caption and another's negative only ever on the wrong side.
    folds = np.array([fold_of(str(group), FOLDS) for group in groups])
    clusters = np.array(groups)
    rows = words_of([text for pair in pairs for text in pair])
    scores = np.empty(len(rows))
    wins = np.empty(len(pairs))
    row_folds = np.repeat(folds, 2)
    labels = np.tile([1.0, 0.0], len(pairs))
    matrix = Rows.of(rows)
    differences = Rows.of([difference(rows[place], rows[place + 1]) for place in range(0, len(rows), 2)])
    for fold in range(FOLDS):
        test, test_pairs = row_folds == fold, folds == fold
        if not test.any() or test.all():
            return None
        scores[test] = matrix.pick(test) @ fit(matrix.pick(~test), labels[~test])
        learned = fit(differences.pick(~test_pairs), np.ones(int((~test_pairs).sum())), bias=False)
        wins[test_pairs] = _half(differences.pick(test_pairs) @ learned)
    right = _half(scores * (2 * labels - 1)).reshape(-1, 2).mean(axis=1)
    return {
        "n": len(pairs),
        "unpaired": _with_interval(right, clusters, seed),
        "paired": _with_interval(wins, clusters, seed),
    }


def group_of(item: Item) -> str:
    """The group that stays in one fold: an image with all its captions and their edits."""
    return item.image.path if item.image else item.id


def fold_of(group: str, folds: int) -> int:
    return zlib.crc32(group.encode()) % folds


def _one_of(item: Item, kind: str, rng: random.Random) -> str | None:
    if kind == "originals":
        return item.caption
    texts: tuple[Text, ...] = getattr(item, kind)
    return rng.choice(texts).text if texts else None


def _half(values: Floats) -> Floats:
    """1 where positive, 0 where negative, one half for a tie."""
    return (np.sign(values) + 1) / 2


def _with_interval(right: Floats, clusters: Ints, seed: int) -> dict[str, object]:
    """Accuracy and interval. Resamples keep the five fits; other captions would give other fits, which vary more
    (`_FITS`)."""
    value = float(right.mean())
    ends = averaged_all(right, clusters, seed, resamples=500).interval(0)
    low, high = (round(min(1.0, max(0.0, value + _FITS * (end - value))), 4) for end in ends)
    return {"accuracy": round(value, 4), "interval": [low, high]}


def _sums(places: Ints, values: Floats, count: int) -> Floats:
    return np.bincount(places, values, count).astype(np.float64, copy=False)


Bag = dict[str, float]


def words_of(texts: Sequence[str]) -> list[Bag]:
    """The words, and pairs of neighbours, of each text; case and marks count, since they can give an edit away."""
    bags = []
    for text in texts:
        tokens = ["<", *_TOKEN.findall(text), ">"]
        bags.append(dict.fromkeys((*tokens[1:-1], *map("\t".join, pairwise(tokens))), 1.0))
    return bags


def difference(first: Bag, second: Bag) -> Bag:
    """The names that only one of two texts has: 1 for the first's, -1 for the second's."""
    weights = {name: value - second.get(name, 0.0) for name, value in first.items() if name not in second}
    return weights | {name: -value for name, value in second.items() if name not in first}


@dataclass(frozen=True)
class Rows:
    """A sparse matrix, row after row, with the operations that logistic regression needs."""

    columns: Ints
    values: Floats
    rows: Ints
    count: int
    width: int

    @staticmethod
    def names(bags: Sequence[Bag]) -> dict[str, int]:
        """Name -> column, as they appear; names of only one text cannot generalise and are left out."""
        seen = Counter(name for bag in bags for name in bag)
        return {name: column for column, name in enumerate(name for name, count in seen.items() if count > 1)}

    @classmethod
    def of(cls, bags: Sequence[Bag]) -> Rows:
        index = cls.names(bags)
        columns = [[index[name] for name in bag if name in index] for bag in bags]
        values = [value for bag in bags for name, value in bag.items() if name in index]
        counts = np.array([len(row) for row in columns], np.int64)
        rows = np.repeat(np.arange(len(bags)), counts)
        return cls(np.array(list(chain(*columns)), np.int64), np.array(values, float), rows, len(bags), len(index))

    def pick(self, mask: NDArray[np.bool_]) -> Rows:
        kept = mask[self.rows]
        places = np.cumsum(mask) - 1
        return Rows(self.columns[kept], self.values[kept], places[self.rows[kept]], int(mask.sum()), self.width)

    def __matmul__(self, weights: Floats) -> Floats:
        """Scores; a last weight beyond the columns is the bias."""
        bias = weights[self.width] if len(weights) > self.width else 0.0
        return _sums(self.rows, self.values * weights[self.columns], self.count) + bias

    def back(self, residual: Floats) -> Floats:
        return _sums(self.columns, self.values * residual[self.rows], self.width)


def fit(matrix: Rows, labels: Floats, bias: bool = True) -> Floats:
    """Weights of logistic regression: Nesterov's gradient steps, each column scaled by how often it occurs."""
    weights = np.zeros(matrix.width + bias)
    ahead = weights.copy()
    per_row = _sums(matrix.rows, np.abs(matrix.values), matrix.count) + bias
    # The diagonal of |X|'|X| bounds the curvature, so these steps cannot overshoot and need no search.
    curve = _sums(matrix.columns, np.abs(matrix.values) * per_row[matrix.rows], matrix.width) / 4 + _L2
    if bias:
        curve = np.append(curve, per_row.sum() / 4 + _L2)
    for step in range(_STEPS):
        residual = 1 / (1 + np.exp(-np.clip(matrix @ ahead, -35, 35))) - labels
        slope = matrix.back(residual)
        if bias:
            slope = np.append(slope, residual.sum())
        slope[: matrix.width] += _L2 * ahead[: matrix.width]
        new = ahead - slope / curve
        ahead = new + step / (step + 3) * (new - weights)
        weights = new
    return weights
