"""Each test statistic against a slow computation or the tables that everybody has, and by simulation."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from tests.evaluation.comparing.exact import mcnemar

from equipoise.core.stats import t_quantile, within
from equipoise.evaluation.comparing.inference import (
    flip_p_value,
    groups,
    holm,
    letter,
    sign_flip_sums,
    smallest_detectable,
)


@pytest.mark.parametrize("changes", [[1, 1, -1, 1, 1, 1, 0], [2, -1, 1, 3], [0.5, 0.25, -0.125, 1, 1, 1, 1]])
def test_sign_flips_against_all_of_them(changes: list[float]) -> None:
    """Every one of the 2^n orders of signs, counted."""
    observed = abs(sum(changes))
    signs = itertools.product((1, -1), repeat=len(changes))
    exact = np.mean([abs(np.dot(one, changes)) >= observed - 1e-12 for one in signs])
    array = np.array(changes, dtype=float)
    sums = sign_flip_sums(array[:, None], flips=20_000)
    assert flip_p_value(array, sums[:, 0]) == pytest.approx(exact, abs=0.015)


@pytest.mark.parametrize(("lost", "gained"), [(0, 6), (3, 9), (20, 25), (40, 80)])
def test_one_item_an_image_is_mcnemar(lost: int, gained: int) -> None:
    changes = np.array([1.0] * gained + [-1.0] * lost + [0.0] * 50)[:, None] / (gained + lost + 50)
    found = flip_p_value(changes[:, 0], sign_flip_sums(changes)[:, 0])
    assert found == pytest.approx(mcnemar(lost, gained), abs=0.012)


@pytest.mark.parametrize("clusters", [1, 3, 2_051, 70_001])
def test_signs_are_those_that_were_always_drawn(clusters: int) -> None:
    """In one stream, however many are drawn at a time: a p-value must not move with the size of a chunk."""
    changes = np.random.default_rng(1).integers(1, 5, (clusters, 2)).astype(float)
    signs = np.random.default_rng(7).integers(0, 2, (43, clusters), dtype=np.int8) * 2.0 - 1.0
    assert (sign_flip_sums(changes, 7, 43) == signs @ changes).all()


def test_no_change_and_no_p_value_of_zero() -> None:
    assert flip_p_value(np.zeros(5), sign_flip_sums(np.zeros((5, 1)))[:, 0]) == 1.0
    changes = np.full((400, 1), 1 / 400)
    assert 2 / 2**400 < flip_p_value(changes[:, 0], sign_flip_sums(changes, flips=99)[:, 0]) < 1e-80


@pytest.mark.parametrize("seed", range(6))
def test_far_out_p_is_small_and_never_below_the_exact_one(seed: int) -> None:
    """With no flips drawn, only the tail speaks: compared with all 2^16 orders, of equal and of very unequal images."""
    rng = np.random.default_rng(seed)
    changes = rng.choice([1.0, 1.0, 2.0, 10.0], 16) if seed % 2 else np.ones(16)
    changes *= np.where(rng.random(16) < 0.1, -1, 1)
    every = np.array(list(itertools.product((1, -1), repeat=16))) @ changes
    exact = float((np.abs(every) >= abs(changes.sum()) - 1e-12).mean())
    found = flip_p_value(changes, np.empty(0))
    assert found >= exact >= 2 / 2**16
    assert found <= 40 * exact


def test_models_that_do_not_differ_are_called_different_once_in_twenty() -> None:
    """Ten items an image, all flipped together or not at all: items as units would find far too much."""
    rng = np.random.default_rng(0)
    found = items = 0
    for repetition in range(300):
        images = rng.choice([-1, 0, 1], size=40, p=[0.2, 0.6, 0.2]) * 10.0
        found += flip_p_value(images, sign_flip_sums(images[:, None], repetition, 499)[:, 0]) < 0.05
        items += mcnemar(int(images[images < 0].sum() * -1), int(images[images > 0].sum())) < 0.05
    assert 0.02 <= found / 300 <= 0.08
    assert items / 300 > 0.3


# scipy 1.17.1: scipy.stats.t.ppf(0.5 + level / 2, df)
@pytest.mark.parametrize(
    ("level", "df", "expected"),
    [
        (0.95, 1, 12.706204736432095),
        (0.95, 3.7, 2.8675207071911966),
        (0.95, 4, 2.7764451051977987),
        (0.95, 30, 2.0422724563012373),
        (0.6, 4, 0.9409646),
        (0.95, math.inf, 1.959963984540054),
    ],
)
def test_student(level: float, df: float, expected: float) -> None:
    assert t_quantile(level, df) == pytest.approx(expected, rel=1e-7)
    assert within(expected, df) == pytest.approx(level, abs=1e-7)


def test_student_against_its_density_summed() -> None:
    df, t = 3.7, 2.5
    x = np.linspace(0, t, 2_000_001)
    density = np.exp(math.lgamma((df + 1) / 2) - math.lgamma(df / 2)) / math.sqrt(df * math.pi)
    density = density * (1 + x**2 / df) ** (-(df + 1) / 2)
    assert within(t, df) == pytest.approx((density[1:] + density[:-1]).sum() * (x[1] - x[0]), abs=1e-9)
    assert 1 - within(t, df) == pytest.approx(0.07182202291182715, abs=1e-9)  # scipy 1.17.1: 2 * t.sf


def _slow_holm(p_values: list[float]) -> list[float]:
    """By its definition: the largest of what every smaller p-value asks for."""
    count = len(p_values)
    ranked = sorted(range(count), key=lambda index: p_values[index])
    found = [0.0] * count
    for rank, index in enumerate(ranked):
        found[index] = min(1.0, max((count - k) * p_values[ranked[k]] for k in range(rank + 1)))
    return found


def test_corrections() -> None:
    given = [0.01, 0.04, 0.03, 0.005]
    assert holm(given) == pytest.approx([0.03, 0.06, 0.06, 0.02])  # statsmodels 0.14: multipletests(given, "holm")
    rng = np.random.default_rng(1)
    for count in (1, 2, 7, 20):
        many = (rng.random(count) ** 3).tolist()
        assert holm(many) == pytest.approx(_slow_holm(many))
    assert holm([]) == []


def test_holm_keeps_the_family() -> None:
    rng = np.random.default_rng(2)
    any_false, plain = [], []
    for _ in range(1000):
        p_values = np.concatenate([rng.random(15), rng.random(5) * 0.002])  # fifteen true nulls, five real
        any_false.append(min(holm(p_values.tolist())[:15]) < 0.05)
        plain.append(p_values[:15].min() < 0.05)
    assert np.mean(any_false) <= 0.065 < np.mean(plain)


# ---------------------------------------------------------------------------- groups


def _slow_groups(count: int, different: set[tuple[int, int]]) -> list[tuple[int, ...]]:
    sets = [
        one
        for size in range(1, count + 1)
        for one in itertools.combinations(range(count), size)
        if not any(pair in different for pair in itertools.combinations(one, 2))
    ]
    return sorted(one for one in sets if not any(set(one) < set(other) for other in sets))


def test_groups_against_all_subsets() -> None:
    rng = np.random.default_rng(3)
    for count in (1, 2, 3, 6, 8):
        pairs = list(itertools.combinations(range(count), 2))
        for share in (0.0, 0.3, 0.7, 1.0):
            different = {pair for pair in pairs if rng.random() < share}
            assert groups(count, different) == _slow_groups(count, different)


def test_a_chain_has_overlapping_groups() -> None:
    assert groups(3, [(0, 2)]) == [(0, 1), (1, 2)]


def test_two_hundred_models_are_quick() -> None:
    values = np.sort(np.random.default_rng(4).random(202))[::-1]
    different = [(a, b) for a, b in itertools.combinations(range(202), 2) if values[a] - values[b] > 0.1]
    found = groups(202, different)
    assert len(found) < 202 and all(values[one[0]] - values[one[-1]] <= 0.1 for one in found)


def test_letters() -> None:
    assert [letter(index) for index in (0, 25, 26, 27, 51, 52)] == ["a", "z", "aa", "ab", "az", "ba"]


# ---------------------------------------------------------------------------- power


def test_smallest_detectable_by_hand() -> None:
    many = np.full(10, 1e-9)  # so many images that one of them is nothing: quantiles times the error
    assert smallest_detectable(0.01, many, 1e-9, math.inf) == pytest.approx(0.01 * (1.959964 + 0.841621), rel=1e-5)
    assert smallest_detectable(0.01, many, 1e-9, 4) == pytest.approx(0.01 * (2.776445 + 0.940965), rel=1e-5)
    assert smallest_detectable(0.0, np.zeros(600), 1 / 600, math.inf) == pytest.approx(8.75 / 600, rel=1e-2)
    assert smallest_detectable(0.0, np.zeros(20), 1 / 20, math.inf) == 8 / 20  # eight items
    assert smallest_detectable(0.0, np.zeros(20), 1 / 400, math.inf) < 10 / 400  # twenty an image: eight of 400


@pytest.mark.parametrize(("images", "discordant"), [(1000, 0.2), (500, 0.02), (100, 0.06)])
def test_a_difference_of_that_size_is_found_four_times_in_five(images: int, discordant: float) -> None:
    """The size from the formula, then 400 repetitions: gains as much more likely as losses are less."""
    rng = np.random.default_rng(5)
    changes = np.full(int(images * discordant), 1 / images)
    size = smallest_detectable(math.sqrt(discordant / images), changes, 1 / images, images - 1)
    both = math.hypot(discordant, size)
    up = (both + size) / 2
    found = 0
    for _ in range(400):
        gained, lost = rng.multinomial(images, [up, both - up, 1 - both])[:2]
        found += mcnemar(int(lost), int(gained)) < 0.05
    assert 0.72 <= found / 400 <= 0.88
