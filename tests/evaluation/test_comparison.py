"""Paired differences: right on worked cases, narrower than unpaired ones, refused for other items."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from equipoise.core.errors import UserError
from equipoise.core.stats import wilson
from equipoise.evaluation.averages import Averages, measure, summarise
from equipoise.evaluation.comparing.differences import average, difference
from equipoise.evaluation.comparing.folders import compare_folders
from equipoise.evaluation.outcomes import outcomes_of
from equipoise.evaluation.record import AverageId, Metrics, RunRecord
from equipoise.evaluation.results import LoadedRun, joined, load_run, write_run
from equipoise.evaluation.scores import ItemScores

_make: Callable[..., RunRecord]


@pytest.fixture(autouse=True)
def _records(make_record: Callable[..., RunRecord]) -> None:
    global _make
    _make = make_record


def run(original: list[int], positive: list[int] | None = None, splits: str = "", name: str = "items") -> LoadedRun:
    """A run whose items have the given outcomes: caption and positive above (1) or below (0) the negative."""
    rows = [
        ItemScores(
            id=str(index),
            caption=float(value),
            positives=[] if positive is None else [float(positive[index])],
            negatives=[0.5],
            tags={"split": splits[index]} if splits else {},
        )
        for index, value in enumerate(original)
    ]
    return LoadedRun(Path(name), (_make(name),), outcomes_of(rows))


def test_worked_case() -> None:
    found = difference([run([1, 0, 0, 1], [1, 0, 0, 0])], [run([1, 1, 0, 1], [1, 0, 0, 1])], resamples=200)
    assert found["original"].difference == 0.25
    assert found["augmented"].difference == 0.25  # item 3
    assert found["brittleness"].difference == 0.0  # item 1 becomes brittle, item 3 stops being so
    assert found["drop"].difference == 0.0
    assert not found["original"].clear


def test_models_that_agree_everywhere_are_not_equal_beyond_doubt() -> None:
    right, unseen = run([1, 1, 1], [1, 1, 1]), wilson(0, 3)[1]
    assert average([right]).interval("original") == pytest.approx((1 - unseen, 1))
    assert average([right]).interval("drop") == pytest.approx((0, unseen))
    same = difference([right], [right])["original"]
    assert same.difference == 0 and same.interval == pytest.approx((-unseen, unseen)) and not same.clear


def test_groups_weigh_the_same() -> None:
    before, after = run([0] * 10, splits="a" * 9 + "b"), run([1] * 9 + [0], splits="a" * 9 + "b")
    assert difference([before], [after], resamples=50)["original"].difference == 0.9
    assert difference([before], [after], resamples=50, path=("split",))["original"].difference == 0.5


def test_pairing_narrows_the_interval() -> None:
    rng = np.random.default_rng(0)
    base = rng.integers(0, 2, 400)
    better = base.copy()
    better[:20] = 1
    found = difference([run(base.tolist())], [run(better.tolist())], resamples=500)["original"]
    shuffled = difference([run(base.tolist())], [run(rng.permutation(better).tolist())], resamples=500)["original"]
    assert found.clear and not shuffled.clear
    assert found.interval.high - found.interval.low < 0.5 * (shuffled.interval.high - shuffled.interval.low)


def test_seeds_are_averaged() -> None:
    found = difference([run([0, 0]), run([0, 1])], [run([1, 0]), run([1, 1])], resamples=50)["original"]
    assert found.difference == 0.5


def test_other_items_are_refused() -> None:
    other = run([1, 0, 1], name="other")
    with pytest.raises(UserError, match="were not scored on the same items"):
        difference([run([1, 0])], [other])


def test_a_run_comes_back_from_disk(tmp_path: Path) -> None:
    written = run([1, 0], [0, 1])
    metrics = measure(written.outcomes, None, resamples=20)
    record = write_run(tmp_path, _make("items", metrics=metrics), written.outcomes, {})
    read = load_run(tmp_path)
    assert read.rows == written.rows and read.records == (record,)
    assert read.outcomes.brittle.tolist() == [True, True]


def test_joined_benchmarks_weigh_the_same() -> None:
    def both(first: list[int], second: list[int]) -> LoadedRun:
        return joined([run(first, name="one"), run(second, name="two")])

    before, after = both([0] * 9, [0]), both([1] * 9, [0])
    assert len({row.id for row in before.rows}) == 10
    assert difference([before], [after], resamples=50, path=("benchmark",))["original"].difference == 0.5


@pytest.mark.parametrize(
    ("path", "least", "expected"),
    [(("test", "source"), 1, 0.1), (("source",), 25, -0.8), (("source",), 1, 0.55), ((), 1, (15 - 32) / 55)],
)
def test_compare_says_the_difference_of_the_headlines(
    tmp_path: Path, path: tuple[str, ...], least: int, expected: float
) -> None:
    """A large group gets worse and three small ones better, so each way to average gives another number."""
    sizes = {("color", "vg"): 40, ("size", "vaw"): 5, ("size", "hake"): 5, ("size", "swig"): 5}
    headlines = []
    for name, color, size in (("before", 36, 0), ("after", 4, 5)):  # how many are right
        rows = [
            ItemScores(
                id=f"{test}/{source}/{index}",
                caption=float(index < (color if test == "color" else size)),
                positives=[float(index % 2)],
                negatives=[0.5],
                tags={"test": test, "source": source},
            )
            for (test, source), count in sizes.items()
            for index in range(count)
        ]
        outcomes = outcomes_of(rows)
        summary = summarise(outcomes, resamples=20)
        average = Averages(outcomes, resamples=20).macro(path, least) if path else None
        averages = {"paper": average.model_copy(update={"rule": "paper"})} if average else {}
        metrics = Metrics(overall=summary.overall, by=summary.by, averages=averages, rule="paper" if averages else None)
        headlines.append(metrics.headline)
        record = _make("x", metrics=metrics)
        rules = {"paper": AverageId(over=list(path), least=least, cite="")} if path else {}
        about = record.benchmark.model_copy(update={"averages": rules})
        write_run(tmp_path / name / "x", record.model_copy(update={"benchmark": about}), outcomes, {})
    (found,) = compare_folders([tmp_path / "before", tmp_path / "after"]).differences
    assert found["original"].difference == pytest.approx(expected)
    for metric, change in found.changes.items():
        assert change.difference == pytest.approx(headlines[1][metric] - headlines[0][metric])
    assert found.n == headlines[0].n


def test_a_group_that_a_resample_misses_gives_its_weight_to_the_others() -> None:
    one = run([1] * 9 + [0], [1, 0] * 5, splits="a" * 9 + "b")
    numbers = average([one], path=("split",), resamples=200)
    expected = Averages(one.outcomes, resamples=200).macro(("split",))
    assert expected is not None and expected.interval("original").high == 1.0  # a third of the resamples have no b
    assert numbers["original"] == 0.5
    for metric, number in expected.metrics.items():
        assert numbers.interval(metric) == pytest.approx(number.interval)


def test_groups_that_are_all_too_small() -> None:
    with pytest.raises(UserError, match="no group of split has 25 items or more"):
        difference([run([1], splits="a")], [run([0], splits="a")], path=("split",), least=25)
