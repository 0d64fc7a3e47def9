"""Intervals and resamples: what they claim, and that no shortcut changes a bit."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest
from tests.evaluation.test_metrics import row

from equipoise.core import stats
from equipoise.evaluation.averages import Averages, summarise
from equipoise.evaluation.outcomes import outcomes_of


def test_wilson_against_a_published_example() -> None:
    # Newcombe 1998, table I: 81 of 263 -> 0.2553 to 0.3662
    low, high = stats.wilson(81, 263)
    assert (round(low, 4), round(high, 4)) == (0.2553, 0.3662)
    assert stats.wilson(0, 10)[0] == 0 and stats.wilson(10, 10)[1] == 1


def test_no_interval_claims_certainty() -> None:
    """Three of three is 100 [43.9, 100]; a width have a constant half and a difference of nothing."""
    same, none = np.full(50, 1.0), np.full(50, np.nan)
    assert stats.share_interval(1.0, same, 3) == pytest.approx(stats.wilson(3, 3))
    assert stats.share_interval(0.0, 0 * same, 3) == pytest.approx(stats.wilson(0, 3))
    assert stats.share_interval(1.0, none, 3) == pytest.approx(stats.wilson(3, 3))
    unseen = stats.wilson(0, 100)[1]
    assert stats.share_interval(0.5, same / 2, 100) == pytest.approx((0.5 - unseen, 0.5 + unseen))
    assert stats.difference_interval(0.0, 0 * same, 100) == pytest.approx((-unseen, unseen))
    assert stats.difference_interval(-1.0, -same, 100) == pytest.approx((-1, -1 + unseen))
    varied = np.linspace(0, 1, 101)  # else Wilson's, with Student's t of two degrees
    assert stats.share_interval(0.5, varied, 3) == pytest.approx((0.035536, 0.964464), abs=1e-6)


def of_images(*values: float) -> stats.Average:
    return stats.averaged_all(np.array(values), np.arange(len(values)))


def test_one_image_more_that_deviates_makes_no_interval_shorter() -> None:
    """19 of 20 was [85.0, 100], and one gain in twenty could not be a loss."""
    lows = [of_images(*[1.0] * (20 - wrong), *[0.0] * wrong).interval(0)[0] for wrong in range(4)]
    assert lows == sorted(lows, reverse=True) and lows[0] == pytest.approx(0.8389, abs=1e-4)
    assert lows[1] == pytest.approx(0.749, abs=0.005)  # Wilson's with Student's t of 19 degrees
    unseen = stats.wilson(0, 20)[1]
    low, high = of_images(1, *[0.0] * 19).change(0)
    assert low == pytest.approx(0.05 - math.hypot(0.05, unseen)) and high == pytest.approx(0.15)
    assert of_images(-1, *[0.0] * 19).change(0) == pytest.approx((-0.15, -low))
    assert of_images(1, -1, *[0.0] * 18).change(0) == pytest.approx((-0.15, 0.15))  # both sides were seen
    assert of_images(*[1.0] * 6, *[0.0] * 14).change(0)[0] > 0  # six gains, no loss: p is 0.03


def test_one_wrong_item_of_many_says_little_of_how_alike_an_image_is() -> None:
    """20 images of 26 items, one item wrong: 519 independent items would be [98.9, 100]; the images are twenty."""
    values = np.ones(520)
    values[0] = 0
    low, high = stats.averaged_all(values, np.repeat(np.arange(20), 26)).interval(0)
    assert stats.wilson(20, 20)[0] < low < 0.98 and high < 1


def test_three_items_that_agree_have_honest_intervals() -> None:
    whole = summarise(outcomes_of([row(str(i), 1, [1], [0.5]) for i in range(3)])).overall
    unseen = stats.wilson(0, 3)[1]
    assert whole.interval("original") == pytest.approx((1 - unseen, 1))
    assert whole.interval("brittleness") == pytest.approx((0, unseen))
    assert whole.interval("drop") == pytest.approx((0, unseen))  # a run's own drop is never below zero


def test_a_small_split_that_is_all_right_keeps_its_doubt() -> None:
    """1,000 of 1,000 and 3 of 3: the mean of the splits knows no more of the second than three items say."""
    rows = [
        row(f"{split}{i}", 1, [1], [0.5], tags={"split": split})
        for split, n in (("a", 1000), ("b", 3))
        for i in range(n)
    ]
    found = Averages(outcomes_of(rows), resamples=50).macro(["split"])
    assert found is not None
    low, high = found.interval("original")
    assert high == 1 and low == pytest.approx(1 - math.hypot(stats.wilson(0, 1000)[1], stats.wilson(0, 3)[1]) / 2)
    rows[:100] = [row(f"a{i}", 0, [1], [0.5], tags={"split": "a"}) for i in range(100)]  # 90% of the large split
    found = Averages(outcomes_of(rows), resamples=200).macro(["split"])
    assert found is not None and found["original"] == pytest.approx(0.95)
    assert found.interval("original")[0] < 0.95 - stats.wilson(0, 3)[1] / 2 < 0.7
    assert found.interval("original")[1] < 0.975  # three right answers cannot be more than right


def test_groups_are_resampled_as_dense_columns_would_be() -> None:
    rng = np.random.default_rng(0)
    values, cluster = rng.integers(0, 2, (60, 2)).astype(float), np.arange(60) // 3
    group = rng.integers(0, 4, 60)
    masks = [group == index for index in range(4)]
    measured, spread = stats.grouped_ratios(values, np.ones((60, 2)), cluster, masks, seed=5, resamples=70)
    for index, mask in enumerate(masks):
        sums = np.stack([np.bincount(cluster, column * mask, 20) for column in values.T], axis=1)
        counts = np.stack([np.bincount(cluster, mask, 20)] * 2, axis=1)
        assert measured[index].tolist() == values[mask].mean(0).tolist()
        np.testing.assert_array_equal(spread[:, index], stats.cluster_bootstrap(sums, counts, seed=5, resamples=70))


@pytest.mark.slow
def test_many_groups_do_not_cost_a_column_of_all_images_each() -> None:
    scores = [row(str(i), i % 3, [1], [0.5], tags={"a": str(i % 100), "b": str(i % 97)}) for i in range(10_000)]
    outcomes = outcomes_of(scores)
    tracemalloc.start()
    summarise(outcomes, resamples=64)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40e6  # 197 groups x 4 columns x 10,000 images x 8 bytes, twice, would be 126e6


def test_large_groups_are_kept_as_small_numbers() -> None:
    rng = np.random.default_rng(0)
    wins, cluster = (rng.random((20_000, 4)) < 0.5).astype(float), np.arange(20_000)
    groups = [rng.random(20_000) < 0.5 for _ in range(60)]
    tracemalloc.start()
    stats.averaged(wins, np.ones_like(wins), cluster, groups, resamples=2)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 45e6  # 64-bit floats of the groups alone would be 38e6, and a dense column each 77e6


def test_no_metric_is_no_error() -> None:
    """Answers without a truth have numbers, but no shares."""
    none = np.zeros((3, 0))
    found = stats.averaged(none, none, np.arange(3), [np.ones(3, dtype=bool)], resamples=2)
    assert found.parts.shape == (1, 0) and found.drawn.shape == (2, 1, 0)


def test_one_multiplication_for_all_groups_changes_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Against the plain way: each resample drawn by itself, each group and column summed by itself."""
    rng = np.random.default_rng(1)
    cluster = rng.integers(90, size=400)
    cluster[:90] = np.arange(90)
    values = (rng.random((400, 3)) < 0.4).astype(float)
    counts = (rng.random((400, 3)) < 0.9).astype(float)
    values[:, 2], counts[:, 1] = values[:, 0], counts[:, 0]  # equal columns are multiplied once
    groups = [np.ones(400, bool), rng.random(400) < 0.5, cluster < 4, np.arange(400) == 7]
    for kept in (stats._KEPT, 0):
        monkeypatch.setattr(stats, "_KEPT", kept)
        measured, spread = stats.grouped_ratios(values, counts, cluster, groups, seed=3, resamples=130)
        draws = np.random.default_rng(3)
        for resample in range(130):
            weight = np.bincount(draws.integers(90, size=90), minlength=90)[cluster][:, None].astype(float)
            for index, mask in enumerate(groups):
                with np.errstate(invalid="ignore", divide="ignore"):
                    plain = (weight * values)[mask].sum(0) / (weight * counts)[mask].sum(0)
                np.testing.assert_array_equal(spread[resample, index], plain)
    np.testing.assert_array_equal(measured[1], values[groups[1]].sum(0) / counts[groups[1]].sum(0))


def test_smaller_pieces_change_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    values, cluster = rng.integers(-1, 2, (3000, 4)).astype(float), np.arange(3000)
    counts = (rng.random((3000, 4)) < 0.9).astype(float)
    values[:, 2:], counts[:, 1:] = values[:, :2], counts[:, :1]
    groups = [np.ones(3000, bool), cluster % 3 == 0, cluster < 5]
    plain = stats.grouped_ratios(values, counts, cluster, groups, seed=3, resamples=70)
    monkeypatch.setattr(stats, "_KEPT", 0)
    monkeypatch.setattr(stats, "_AT_ONCE", 20_000)
    monkeypatch.setattr(stats, "_COLUMNS", 1)
    together = stats.grouped_ratios(values, counts, cluster, groups, seed=3, resamples=70)
    for one, other in zip(plain, together, strict=True):
        np.testing.assert_array_equal(one, other)
