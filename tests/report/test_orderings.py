"""The classes of items agree with the metrics, item by item."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from equipoise.evaluation.outcomes import outcomes_of
from equipoise.evaluation.scores import ItemScores
from equipoise.report.orderings import CLASSES, NOT_COMPARED, OUTCOMES, classify_all, shares


def row(caption: float, positives: list[float], negatives: list[float]) -> ItemScores:
    return ItemScores(id="x", caption=caption, positives=positives, negatives=negatives)


def classify(one: ItemScores) -> int:
    return int(classify_all([one])[0])


@pytest.mark.parametrize(
    ("scores", "name"),
    [
        ((3, 2, 1), "c > p > n"),
        ((2, 3, 1), "p > c > n"),
        ((3, 1, 2), "c > n > p"),
        ((1, 3, 2), "p > n > c"),
        ((2, 1, 3), "n > c > p"),
        ((1, 2, 3), "n > p > c"),
        ((2, 2, 1), "c = p > n"),
        ((1, 1, 2), "n > c = p"),
        ((2, 1, 1), "c > n = p"),
        ((1, 2, 1), "a tie with n"),
    ],
)
def test_one_positive_and_one_negative(scores: tuple[float, float, float], name: str) -> None:
    caption, positive, negative = scores
    assert CLASSES[classify(row(caption, [positive], [negative]))].name == name


def test_every_outcome_is_the_metrics_own() -> None:
    """All scores of 0 to 3 for a caption, none to two positives and one or two negatives."""
    values = [0.0, 1.0, 2.0, 3.0]
    rows = [
        row(caption, list(positives), list(negatives))
        for caption in values
        for n_positives in range(3)
        for positives in itertools.product(values, repeat=n_positives)
        for n_negatives in (1, 2)
        for negatives in itertools.product(values, repeat=n_negatives)
    ]
    codes, outcomes = classify_all(rows), outcomes_of(rows)
    for name, mask in {
        "original": outcomes.original,
        "missed": ~outcomes.original,
        "right": outcomes.augmented,
        "brittle": outcomes.brittle,
        "tie": outcomes.tie,
        "drop": outcomes.original & ~outcomes.augmented & outcomes.has_positive,
    }.items():
        found = np.isin(codes, OUTCOMES[name][1])
        # without a positive a tie is a tie of the caption, and counted with the others
        assert (found == mask).all(), (name, rows[int(np.argmax(found != mask))])


def test_without_a_positive_an_item_has_no_order_of_three() -> None:
    """Beside others it is left out, so that what is brittle is Brittleness; where all are so, they are shown."""
    some = [row(3, [1], [2]), row(3, [2], [1]), row(1, [], [2]), row(2, [], [1]), row(1, [], [1])]
    outcomes = outcomes_of(some)
    found = shares(classify_all(some))
    assert {CLASSES[code].name: share for code, share in found.items()} == {"c > p > n": 0.5, "c > n > p": 0.5}
    assert found[classify(some[0])] == outcomes.brittle.sum() / outcomes.has_positive.sum()
    alone = shares(classify_all(some[2:]))
    assert {CLASSES[code].name for code in alone} == {"n > c, no p", "c > n, no p", "c = n, no p"}
    assert CLASSES[classify(some[4])].group == "tie"


def test_shares_leave_out_what_was_not_compared() -> None:
    assert shares(np.array([0, 0, 3, NOT_COMPARED], dtype=np.uint8)) == {0: 2 / 3, 3: 1 / 3}
