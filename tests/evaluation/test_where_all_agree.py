"""Where all images agree, the interval is Wilson's of the images that the metric is of, whoever asks for it.

Eight items, each with its own image; one has a positive and one a negative image. An item without a positive says
nothing about Augmented accuracy, Brittleness or the drop: their intervals are those of n = 1.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from equipoise.core import stats
from equipoise.evaluation.averages import Averages, summarise
from equipoise.evaluation.baselines import _numbers
from equipoise.evaluation.comparing.differences import average, difference
from equipoise.evaluation.comparing.models import compare_models
from equipoise.evaluation.metrics import METRICS, SHARES
from equipoise.evaluation.outcomes import outcomes_of
from equipoise.evaluation.paper_metrics import truth
from equipoise.evaluation.record import Numbers, RunRecord
from equipoise.evaluation.results import LoadedRun
from equipoise.evaluation.scores import ImageScores, ItemScores
from equipoise.evaluation.sets.scoring import means

EIGHT = stats.wilson(0, 8)[1]
ONE = stats.wilson(0, 1)[1]  # 79.3 points


def rows(images: bool = False) -> list[ItemScores]:
    """All right, but for the first's positive: it is brittle."""
    other = ImageScores(image="other", caption=0.1, positives=[0.1], negatives=[0.5])
    return [
        ItemScores(
            id=str(place),
            image=f"{place}.jpg",
            caption=1.0,
            positives=[0.0] if place == 0 else [],
            negatives=[0.5],
            negative_images=(other,) if images and place == 0 else (),
            tags={"split": "a"},
        )
        for place in range(8)
    ]


def expect(numbers: Numbers) -> None:
    assert numbers.interval("original") == pytest.approx((1 - EIGHT, 1))
    assert numbers.interval("augmented") == pytest.approx((0, ONE))
    assert numbers.interval("brittleness") == pytest.approx((1 - ONE, 1))
    assert numbers.interval("drop") == pytest.approx((1 - ONE, 1))


def test_in_the_table_and_in_an_average() -> None:
    outcomes = outcomes_of(rows())
    expect(summarise(outcomes).overall)
    found = Averages(outcomes).macro(("split",))
    assert found is not None
    expect(found)


def test_in_the_groups_of_a_comparison(make_record: Callable[..., RunRecord]) -> None:
    listed = rows()
    run = LoadedRun(Path("run"), (make_record(),), outcomes_of(listed))
    expect(average([run]))
    same = difference([run], [run], resamples=100)
    assert same["original"].interval == pytest.approx((-EIGHT, EIGHT))
    assert same["augmented"].interval == pytest.approx((-ONE, ONE))
    tested = compare_models([run], [run], resamples=100)
    assert tested["original"].detectable == 8 / 8
    assert tested["augmented"].detectable == 8  # of one image nothing can be shown


def test_beside_blind_judges() -> None:
    mask = np.ones(8, dtype=bool)
    every = Averages(outcomes_of(rows()), metrics=[METRICS[name] for name in SHARES])
    found = _numbers(every, dict.fromkeys(("", "blind:length"), every.averaged([mask])), mask)
    assert found.baselines["blind:length"]["original"].interval == pytest.approx((1 - EIGHT, 1))
    assert found.baselines["blind:length"]["augmented"].interval == pytest.approx((0, ONE))
    assert found.gain["original"].interval == pytest.approx((-EIGHT, EIGHT))
    assert found.gain["augmented"].interval == pytest.approx((-ONE, ONE))


def test_of_images_and_of_negatives() -> None:
    other = ImageScores(image="third", caption=0.5, positives=[], negatives=[])
    ninth = ItemScores(id="8", caption=0.6, positives=[], negatives=[], negative_images=(other,))
    overall = summarise(outcomes_of([*rows(), ninth])).overall
    assert overall.count("image_original") == 1
    assert overall.interval("image_original") == pytest.approx((1 - ONE, 1))
    assert overall["positive_rate"] == 1
    assert overall.interval("positive_rate") == pytest.approx((1 - EIGHT, 1))  # the ninth has no negative


def test_of_second_right_pairs_alone() -> None:
    second = ImageScores(image="second", caption=0.1, positives=[], negatives=[0.5])
    listed = [
        row.model_copy(update={"negative_images": (second,)} if row.id == "1" else {}) for row in rows(images=True)
    ]
    found = summarise(outcomes_of(listed)).overall
    assert (found.count("image_original"), found.count("image_augmented")) == (2, 1)
    assert found.interval("image_original") == pytest.approx((1 - stats.wilson(0, 2)[1], 1))
    assert found.interval("image_brittleness") == pytest.approx((1 - ONE, 1))


def test_of_sets() -> None:
    asked = np.arange(8) == 0
    found = means({"all": (np.ones(8), ~asked | asked), "one": (np.ones(8), asked)}, np.arange(8), 0, 100)
    assert found["all"].interval() == pytest.approx((1 - EIGHT, 1))
    assert found["one"].interval() == pytest.approx((1 - ONE, 1))


def test_of_sentences_of_one_relation() -> None:
    """Two sentences share a relation and differ in their label; the six of another relation are in no pair."""
    listed = [
        ItemScores(
            id=str(place),
            image=f"{place}.jpg",
            caption=1.0 if place != 1 else 0.5,
            positives=[],
            negatives=[0.0],
            tags={"label": "false" if place == 1 else "true", "relation": "on" if place < 2 else "under"},
        )
        for place in range(8)
    ]
    found = truth(listed)
    assert found["auc_within_relation"].value == 1.0
    assert found["auc_within_relation"].interval == pytest.approx((1 - stats.wilson(0, 2)[1], 1))
