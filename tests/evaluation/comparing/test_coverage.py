"""How often intervals hold the truth and tests are wrong, by simulation, inside stated bounds.

`python -m pytest -s tests/evaluation/comparing/test_coverage.py` prints what
docs/appendix/statistics.md and docs/tasks/compare.md quote.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist

import numpy as np
import pytest
from numpy.typing import NDArray

from equipoise.core import stats
from equipoise.core.stats import Floats
from equipoise.evaluation.comparing import inference
from equipoise.study.score import Unit, krippendorff_alpha

pytestmark = pytest.mark.slow
RESAMPLES = 400
NORMAL = NormalDist()
Draw = Callable[[float], Floats]


def said(words: str, found: float, low: float, high: float) -> None:
    print(f"{words}: {100 * found:.1f}")
    assert low <= found <= high, f"{words}: {100 * found:.1f}, expected {100 * low:.0f} to {100 * high:.0f}"


# ---------------------------------------------------------------------------- one run


@pytest.mark.parametrize(
    ("sizes", "rates"),
    [
        ((500, 500), (0.9, 0.9)),
        ((25,) * 8, (0.97,) * 8),
        ((500, 20), (0.9, 0.9)),
        ((500, 20), (0.99, 0.9)),
        ((400, 100, 25), (0.95,) * 3),
        ((500, 10), (0.97, 0.9)),
        ((1000, 30), (0.999, 0.97)),
        ((500, 20), (0.97, 0.97)),
    ],
)
def test_an_average_over_splits_holds_the_truth(sizes: tuple[int, ...], rates: tuple[float, ...]) -> None:
    """Before each split had its own doubt: 49 to 88 where one of them was small."""
    rng, count = np.random.default_rng(0), len(sizes)
    split = np.repeat(np.arange(count), sizes)
    masks, cluster = [split == number for number in range(count)], np.arange(len(split))
    held = 0
    for _ in range(300):
        right = (rng.random(len(split)) < np.array(rates)[split]).astype(float)[:, None]
        weights = np.full(count, 1 / count)
        found = stats.averaged(right, np.ones_like(right), cluster, masks, weights, 0, RESAMPLES)
        low, high = found.interval(0)
        held += low <= np.mean(rates) <= high
    said(f"mean of splits {sizes}, rates {rates}", held / 300, 0.9, 1.0)


def unequal(rng: np.random.Generator, images: int) -> NDArray[np.int64]:
    return np.minimum(rng.geometric(0.2, images), 26)


def heavy(rng: np.random.Generator, images: int) -> NDArray[np.int64]:
    """A tenth of the images has 26 items, the others have 1 to 3."""
    return np.where(np.arange(images) < images // 10, 26, rng.integers(1, 4, images))


SIZES = {
    "one item": lambda _, images: np.ones(images, np.int64),
    "20 items": lambda _, images: np.full(images, 20),
    "1 to 26 items": unequal,
    "few images with 26 items": heavy,
}


@pytest.mark.parametrize("rate", [0.5, 0.9, 0.98])
@pytest.mark.parametrize("images", [20, *(pytest.param(n, marks=pytest.mark.long) for n in (50, 100)), 300])
@pytest.mark.parametrize("sizes", SIZES)
def test_a_share_holds_the_truth(sizes: str, images: int, rate: float) -> None:
    """Items of an image are alike (correlation 0.3), as a beta distribution of the images' rates makes them.

    Percentiles of the resamples held it in 76 to 100 of 100.
    """
    rng, held = np.random.default_rng(1), 0
    both = (1 - 0.3) / 0.3
    for _ in range(400):
        items = SIZES[sizes](rng, images)
        sums = rng.binomial(items, rng.beta(rate * both, (1 - rate) * both, images)).astype(float)[:, None]
        every = [np.ones(images, dtype=bool)]
        found = stats.averaged(sums, items[:, None].astype(float), np.arange(images), every, None, 0, 200)
        low, high = found.interval(0)
        held += low <= rate <= high
    said(f"{images} images, {sizes}, rate {rate}", held / 400, 0.89, 1.0)


@pytest.mark.parametrize(("n", "agreed"), [(20, 0.94), (50, 0.94), (50, 0.82)])
def test_alpha_holds_the_truth(n: int, agreed: float) -> None:
    """Two people, two answers of equal share: alpha is 2 x agreement - 1. With 20 questions it was 69."""
    rng, held = np.random.default_rng(2), 0
    for _ in range(150):
        first = rng.integers(0, 2, n)
        second = np.where(rng.random(n) < agreed, first, 1 - first)
        found = krippendorff_alpha(
            [Unit(place, pair) for place, pair in enumerate(zip(first, second, strict=True))], "nominal"
        )
        if found.low is None or found.high is None:
            continue
        held += found.low <= 2 * agreed - 1 <= found.high
    said(f"alpha {2 * agreed - 1:.2f}, {n} questions", held / 150, 0.88, 1.0)


# ---------------------------------------------------------------------------- two runs


def models(rng: np.random.Generator, images: int, items: int, rate: float) -> tuple[Draw, Callable[[float], float]]:
    """Each image's part of the difference of two models with a given true difference, and how to give it."""
    image, item, own = 0.5, 0.7, 0.6
    whole = math.sqrt(image**2 + item**2 + own**2)
    middle = NORMAL.inv_cdf(rate) * whole

    def draw(shift: float) -> Floats:
        both = middle + rng.normal(0, image, (images, 1)) + rng.normal(0, item, (images, items))
        first, second = (both + add + rng.normal(0, own, both.shape) > 0 for add in (0.0, shift))
        return np.asarray((second.astype(float) - first).sum(1) / (images * items))

    return draw, lambda difference: NORMAL.inv_cdf(rate + difference) * whole - middle


def p_value(changes: Floats) -> float:
    return inference.flip_p_value(changes, inference.sign_flip_sums(changes[:, None], flips=499)[:, 0])


SETTINGS = [(30, 1, 0.5), (30, 20, 0.5), (100, 1, 0.97), (100, 5, 0.9), (500, 1, 0.99), (500, 5, 0.9)]


@pytest.mark.parametrize(("images", "items", "rate"), SETTINGS)
def test_two_equal_models_differ_once_in_twenty_and_the_detectable_is_found_four_times_in_five(
    images: int, items: int, rate: float
) -> None:
    draw, shift = models(np.random.default_rng(3), images, items, rate)
    wrong, sizes = 0, []
    for _ in range(200):
        changes = draw(0.0)
        wrong += p_value(changes) < 0.05
        error = math.sqrt(((changes - changes.mean()) ** 2).sum() * images / (images - 1))
        sizes.append(inference.smallest_detectable(error, changes, 1 / (images * items), images - 1))
    size = float(np.mean(sizes))
    found = sum(p_value(draw(shift(-size if rate > 0.5 else size))) < 0.05 for _ in range(200))
    name = f"{images} images x {items} items, rate {rate}"
    said(f"{name}: equal models called different", wrong / 200, 0.0, 0.09)
    said(f"{name}: the smallest detectable difference, {100 * size:.1f} points, is found", found / 200, 0.68, 0.93)


def test_a_board_of_forty() -> None:
    """780 pairs, 400 images: equal models are parted in few boards, models 30 points apart in nearly all."""
    rng, wrong, parted = np.random.default_rng(4), 0, 0
    for _ in range(20):
        rights = (rng.random((400, 40)) < np.where(np.arange(40) < 20, 0.75, 0.45)).astype(float) / 400
        sums = inference.sign_flip_sums(rights - rights[:, :1], flips=999)
        pairs = [(a, b) for a in range(40) for b in range(a)]
        values = [inference.flip_p_value(rights[:, a] - rights[:, b], sums[:, a] - sums[:, b]) for a, b in pairs]
        differ = [p < 0.05 for p in inference.holm(values)]
        equal = [(a < 20) == (b < 20) for a, b in pairs]
        wrong += any(d and e for d, e in zip(differ, equal, strict=True))
        parted += sum(d and not e for d, e in zip(differ, equal, strict=True)) / (20 * 20)
    said("boards of 40 with a false finding", wrong / 20, 0.0, 0.2)
    said("pairs that are 30 points apart are parted", parted / 20, 0.9, 1.0)


def test_the_two_gates() -> None:
    """100 images of 5 items, Brittleness about 20 in 100, a limit of 2 points."""
    draw, shift = models(np.random.default_rng(5), 100, 5, 0.2)
    found: dict[tuple[str, float], int] = {}
    for loss in (0.0, 0.02, 0.05):
        for _ in range(200):
            changes = draw(shift(loss))
            drawn = stats.cluster_bootstrap(changes[:, None] * 500, np.full((100, 1), 5.0), 0, RESAMPLES)[:, 0]
            low, high = stats.difference_interval(float(changes.sum()), drawn, 100)
            found["if-worse", loss] = found.get(("if-worse", loss), 0) + (low > 0.02)
            found["unless-shown", loss] = found.get(("unless-shown", loss), 0) + (high >= 0.02)
    said("--fail-if-worse fails an unchanged model", found["if-worse", 0.0] / 200, 0.0, 0.03)
    said("--fail-if-worse fails a loss of the limit", found["if-worse", 0.02] / 200, 0.0, 0.07)
    said("--fail-if-worse fails a loss of the limit + 3", found["if-worse", 0.05] / 200, 0.05, 0.6)
    said("--fail-unless-shown passes a loss of the limit", 1 - found["unless-shown", 0.02] / 200, 0.0, 0.07)
    said("--fail-unless-shown passes a loss of the limit + 3", 1 - found["unless-shown", 0.05] / 200, 0.0, 0.01)
    said("--fail-unless-shown passes an unchanged model", 1 - found["unless-shown", 0.0] / 200, 0.1, 0.9)
