"""Graded numbers: LGIP's over pairs, ours over items and in units of the spread."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from equipoise.evaluation.averages import summarise
from equipoise.evaluation.outcomes import outcomes_of
from equipoise.evaluation.record import Numbers
from equipoise.evaluation.scores import ItemScores
from equipoise.report.footnotes import graded_line


def of(rows: list[ItemScores]) -> Numbers:
    return summarise(outcomes_of(rows), resamples=10).overall


def row(name: str, caption: float, positives: list[float], negatives: list[float], **tags: str) -> ItemScores:
    return ItemScores(id=name, caption=caption, positives=positives, negatives=negatives, tags=tags)


ROWS = [
    row("a", 0.6, [0.5, 0.9], [0.2], type="x"),
    row("b", 0.2, [], [0.1, 0.3, 0.2], type="y"),
]


def test_lgip_weighs_pairs() -> None:
    """By hand; the code of the paper collects the pairs of all captions in one list."""
    found = of(ROWS)
    assert found["invariance_error"] == pytest.approx((0.1 + 0.3) / 2)
    assert found["sensitivity_gap"] == pytest.approx((0.4 + 0.1 - 0.1 + 0.0) / 4)
    assert found["positive_rate"] == pytest.approx(2 / 4)  # the tie is no win


def test_ours_weigh_items_and_have_the_spread_as_their_unit() -> None:
    found = of(ROWS)
    assert found["spread"] == pytest.approx(0.2)
    assert found["margin"] == pytest.approx((0.4 + 0.0) / 2 / 0.2)
    assert found["margin_positive"] == pytest.approx((0.7 - 0.2) / 0.2)  # of the one item that has positives
    assert found["change"] == pytest.approx(0.2 / 0.2)


def test_groups_share_the_unit() -> None:
    by = summarise(outcomes_of(ROWS), resamples=10).by["type"]
    assert by["x"]["spread"] == by["y"]["spread"] == pytest.approx(0.2)
    assert by["y"]["change"] is None and by["y"]["invariance_error"] is None
    assert by["x"]["margin"] == pytest.approx(2.0)


def test_a_scale_and_a_shift_change_lgip_and_not_ours() -> None:
    other = of(
        [
            row(r.id, 10 * r.caption + 3, [10 * p + 3 for p in r.positives], [10 * n + 3 for n in r.negatives])
            for r in ROWS
        ]
    )
    mine = of(ROWS)
    assert other["margin"] == pytest.approx(mine["margin"]) and other["change"] == pytest.approx(mine["change"])
    assert other["sensitivity_gap"] == pytest.approx(10 * (mine["sensitivity_gap"] or 0))


def test_constant_scores_have_no_unit() -> None:
    found = of([row(str(n), 0.5, [0.5], [0.5]) for n in range(3)])
    assert found["spread"] is None and found["margin"] is None and found["change"] is None
    assert (found["sensitivity_gap"], found["positive_rate"]) == (0.0, 0.0)
    low, high = found.interval("positive_rate") or (0, 0)
    assert low == 0.0 and high > 0.3  # Wilson's: three images are no certainty


def test_huge_scores_are_measured_or_left_out() -> None:
    found = of([row("a", 1e308, [-1e308], [-1e308]), row("b", 5e307, [5e307], [1e307])])
    assert found["spread"] == pytest.approx(2.5e307)
    assert found["positive_rate"] == 1.0
    assert all(math.isfinite(value) for one in found.metrics.values() for value in one.interval or ())


def test_intervals_hold_the_true_mean_about_as_often_as_they_say() -> None:
    """Clusters of four alike items: an interval that took items for independent would hold it in 67% of the draws."""
    rng = np.random.default_rng(0)
    held = 0
    for _ in range(200):
        gaps = np.repeat(rng.normal(0.3, 1.0, 30), 4)
        rows = [
            ItemScores(id=str(n), image=str(n // 4), caption=float(gap), negatives=[0.0]) for n, gap in enumerate(gaps)
        ]
        low, high = of(rows).interval("sensitivity_gap") or (0, 0)
        held += low <= 0.3 <= high
    assert 180 <= held <= 199


def test_the_line() -> None:
    line = graded_line(summarise(outcomes_of(ROWS), resamples=10).overall)
    assert line == (
        "mean over items, in units of the spread of s(c), 0.2: s(c)-s(n) 1.00, s(p)-s(n) 2.50, |s(c)-s(p)| 1.00\n"
        "LGIP's, over pairs of texts: invariance error, mean |s(c)-s(p)|, 0.2; sensitivity gap, mean s(c)-s(n), 0.1; "
        "positive rate, pairs with s(c) > s(n), 50.0"
    )


def test_a_mean_over_items_and_one_over_pairs_may_have_opposite_signs() -> None:
    """An item with one negative far below, and one with three a little above: docs/metrics.md has it by hand."""
    found = of([row("1", 0.5, [], [0.3]), row("2", 0.2, [], [0.3, 0.3, 0.3])])
    assert found["spread"] == pytest.approx(0.15)
    assert found["margin"] == pytest.approx(1 / 3) and found["sensitivity_gap"] == pytest.approx(-0.025)
    said = (Path(__file__).parents[2] / "docs" / "metrics.md").read_text()
    assert "over items the gap is (0.2 - 0.1) / 2 = +0.05, over pairs (0.2 - 3 x 0.1) / 4 = -0.025" in said
