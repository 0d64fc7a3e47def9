"""Krippendorff's alpha against the worked examples that were published for it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from equipoise.study.score import Unit, krippendorff_alpha

_ = None
# Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability", section C to E: four observers, twelve units.
FOUR = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, _, _, _],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, _, 3],
    [_, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, _],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, _],
]
# The same, sections A (two observers, binary) and B (two observers, nominal).
BINARY = [[0, 1, 0, 0, 0, 0, 0, 0, 1, 0], [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]]
NOMINAL = [list("aabbdcccedda"), list("babbbccceddd")]


def units(observers: list[list[Any]]) -> list[Unit]:
    return [Unit(place, values) for place, values in enumerate(zip(*observers, strict=True))]


@pytest.mark.parametrize(("level", "published"), [("nominal", 0.743), ("ordinal", 0.815)])
def test_krippendorffs_four_observers(level: Any, published: float) -> None:
    found = krippendorff_alpha(units(FOUR), level)
    assert found.value == pytest.approx(published, abs=5e-4) and found.n == 11  # one unit has one judgement
    assert found.low is not None and found.high is not None and found.low < found.value < found.high


@pytest.mark.parametrize(("observers", "published"), [(BINARY, 0.095), (NOMINAL, 0.692)])
def test_krippendorffs_two_observers(observers: list[list[Any]], published: float) -> None:
    assert krippendorff_alpha(units(observers), "nominal").value == pytest.approx(published, abs=5e-4)


def test_ordinal_by_hand() -> None:
    """The definition, slowly: the squared number of judgements from one rank to the other, half of both ends."""
    observers = [[1, 2, 3, 4, 2, 1], [2, 2, 4, 4, 1, 1]]
    judged = sorted(value for one in observers for value in one)
    count = {value: judged.count(value) for value in judged}

    def apart(a: int, b: int) -> float:
        low, high = min(a, b), max(a, b)
        return float((sum(count[g] for g in count if low <= g <= high) - (count[a] + count[b]) / 2) ** 2)

    n = len(judged)
    observed = sum(2 * apart(a, b) for a, b in zip(*observers, strict=True)) / n
    expected = sum(apart(a, b) for i, a in enumerate(judged) for j, b in enumerate(judged) if i != j) / (n * (n - 1))
    assert krippendorff_alpha(units(observers), "ordinal").value == pytest.approx(1 - observed / expected)


def test_limits() -> None:
    same = [[1, 2, 3, 1], [1, 2, 3, 1]]
    assert krippendorff_alpha(units(same), "nominal").value == 1
    flat = [[1, 1, 1], [1, 1, 1]]  # nobody can tell agreement from habit
    assert krippendorff_alpha(units(flat), "ordinal")[:3] == (None, None, None)
    alone = [[1, 2, 3]]
    assert krippendorff_alpha(units(alone), "nominal") == (None, None, None, 0)


def test_intervals_resample_clusters() -> None:
    """The same answers in few clusters say less than in many."""
    rng = np.random.default_rng(0)
    first = rng.integers(0, 2, 200)
    second = np.where(rng.random(200) < 0.8, first, 1 - first)
    many = [Unit(place, pair) for place, pair in enumerate(zip(first.tolist(), second.tolist(), strict=True))]
    few = [Unit(unit.cluster // 50, unit.values) for unit in many]  # type: ignore[operator]
    wide, narrow = (krippendorff_alpha(one, "nominal") for one in (few, many))
    assert wide.value == narrow.value
    # of two balanced values alpha is about 1 - 2 x (share of disagreement), whose spread is a binomial's
    assert narrow.high - narrow.low == pytest.approx(2 * 1.96 * 2 * np.sqrt(0.2 * 0.8 / 200), rel=0.2)  # type: ignore[operator]
    assert krippendorff_alpha(many, "nominal", seed=0) == narrow != krippendorff_alpha(many, "nominal", seed=1)


def test_three_questions_without_disagreement_are_not_certainty() -> None:
    """Wilson leaves 56 in 100 to a disagreement that three questions did not show; by chance 44 in 100 disagree."""
    unseen = 3.8415 / (3 + 3.8415)
    for level in ("nominal", "ordinal"):
        found = krippendorff_alpha(units([[1, 1, 2]] * 2), level)  # type: ignore[arg-type]
        assert found.value == 1 and found.high == 1
        assert found.low == pytest.approx(1 - unseen / (1 - (2 / 3) ** 2 - (1 / 3) ** 2), abs=1e-3)
    many = krippendorff_alpha(units([list("ab") * 200] * 2), "nominal")
    assert many.low is not None and 0.97 < many.low < 1
