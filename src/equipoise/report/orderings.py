"""In which order a model puts a caption c, a hard positive p and a hard negative n: classes of items to look at.

With several negatives n is the highest. With several positives p is the one that decides: the lowest where c is above
n, the highest where it is below. So the classes agree with the metrics: `right` is Augmented, `brittle` is Brittleness.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from equipoise.evaluation.scores import ItemScores, Scores

ClassGroup = Literal["right", "brittle", "wrong", "tie", "none"]


class Class(NamedTuple):
    """One class of items. `above`: s(c) > s(n), which is Original's win."""

    name: str
    group: ClassGroup
    above: bool


CLASSES: tuple[Class, ...] = (
    Class("c > p > n", "right", True),
    Class("p > c > n", "right", True),
    Class("c = p > n", "right", True),
    Class("c > n > p", "brittle", True),
    Class("p > n > c", "brittle", False),
    Class("n > c > p", "wrong", False),
    Class("n > p > c", "wrong", False),
    Class("n > c = p", "wrong", False),
    Class("c > n = p", "tie", True),
    Class("a tie with n", "tie", False),
    Class("c > n, no p", "right", True),
    Class("n > c, no p", "wrong", False),
    Class("c = n, no p", "tie", False),
    Class("not compared", "none", False),  # no negative text, or not scored by this run
)
_NUMBER = {one.name: number for number, one in enumerate(CLASSES)}
NOT_COMPARED = _NUMBER["not compared"]
NO_POSITIVE = {number for name, number in _NUMBER.items() if name.endswith("no p")}


def _codes(groups: Iterable[ClassGroup]) -> list[int]:
    chosen = set(groups)
    return [number for number, kind in enumerate(CLASSES) if kind.group in chosen and number not in NO_POSITIVE]


OUTCOMES: dict[str, tuple[str, list[int]]] = {  # key: what people read, and its classes; the filters of the gallery
    "any": ("any outcome", list(range(len(CLASSES)))),
    "cnp": ("c > n > p: only the reworded caption falls below the wrong one", [_NUMBER["c > n > p"]]),
    "pnc": ("p > n > c: only the original caption falls below the wrong one", [_NUMBER["p > n > c"]]),
    "brittle": ("brittle: c > n > p or p > n > c", _codes(["brittle"])),
    "right": ("all right: c and p above n", _codes(["right"])),
    "wrong": ("all wrong: n above c and p", _codes(["wrong"])),
    "tie": ("a tie with n", [*_codes(["tie"]), _NUMBER["c = n, no p"]]),
    "original": ("c above n", [number for number, one in enumerate(CLASSES) if one.above]),
    "missed": (
        "c not above n",
        [number for number, one in enumerate(CLASSES) if not one.above and one.group != "none"],
    ),
    "drop": (
        "c above n, but not p",
        [number for number, one in enumerate(CLASSES) if one.above and one.group in ("brittle", "tie")],
    ),
}


def classify_all(rows: Sequence[ItemScores]) -> NDArray[np.uint8]:
    """The class of each item: its place in CLASSES. Every comparison is strict, as in the metrics."""
    scores = Scores.of(rows)
    values, first = scores.right.values, scores.right.starts
    c, n = values[first], scores.negatives.reduced(np.maximum, np.nan)
    is_caption = np.zeros(len(values), bool)
    is_caption[first] = True
    highest = scores.right.reduced(np.maximum, -np.inf, np.where(is_caption, -np.inf, values))  # of the positives
    lowest = scores.right.reduced(np.minimum, np.inf, np.where(is_caption, np.inf, values))
    level = ~is_caption & (values == np.repeat(n, scores.right.counts))
    tie = (n == c) | scores.right.reduced(np.logical_or, False, level)
    alone, above = scores.right.counts == 1, c > n
    p = np.where(above, lowest, highest)
    chosen = {  # the first that holds
        "not compared": scores.negatives.counts == 0,
        "c > n, no p": alone & above,
        "n > c, no p": alone & (n > c),
        "c = n, no p": alone,
        "c > n = p": tie & above,
        "a tie with n": tie,
        "c > n > p": above & (p < n),
        "p > n > c": ~above & (p > n),
        "c > p > n": above & (c > p),
        "p > c > n": above & (p > c),
        "c = p > n": above,
        "n > c > p": c > p,
        "n > p > c": p > c,
    }
    return np.select(list(chosen.values()), [_NUMBER[name] for name in chosen], _NUMBER["n > c = p"]).astype(np.uint8)


def shares(codes: NDArray[np.uint8]) -> dict[int, float]:
    """Class -> its share of the items that were compared; classes without an item are left out.

    Items without a positive are left out next to others that have one, so that the brittle ones are Brittleness.
    """
    counts = np.bincount(codes, minlength=len(CLASSES))
    counts[NOT_COMPARED] = 0
    alone = counts[list(NO_POSITIVE)].sum()
    counts[list(NO_POSITIVE)] *= alone == counts.sum()
    total = counts.sum()
    return {number: float(count / total) for number, count in enumerate(counts) if count}
