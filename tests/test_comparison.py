"""Paired differences: right on worked cases, narrower than unpaired ones, refused for other items."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from equipoise.comparison import Run, difference, joined, load_run
from equipoise.errors import UserError
from equipoise.metrics import judge
from equipoise.results import write_run
from equipoise.scores import ItemScores


def run(original: list[int], positive: list[int] | None = None, splits: str = "", name: str = "items") -> Run:
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
    return Run(Path(name), {"benchmark": {"name": name, "items_sha256": "x"}}, rows, judge(rows))


def test_worked_case() -> None:
    found = difference([run([1, 0, 0, 1], [1, 0, 0, 0])], [run([1, 1, 0, 1], [1, 0, 0, 1])], resamples=200)
    assert found["original"]["difference"] == 0.25
    assert found["augmented"]["difference"] == 0.25  # item 3
    assert found["brittleness"]["difference"] == 0.0  # item 1 becomes brittle, item 3 stops being so
    assert found["drop"]["difference"] == 0.0
    assert found["original"]["mcnemar"] == 1.0 and not found["original"]["clear"]


def test_groups_weigh_the_same() -> None:
    before, after = run([0] * 10, splits="a" * 9 + "b"), run([1] * 9 + [0], splits="a" * 9 + "b")
    assert difference([before], [after], resamples=50)["original"]["difference"] == 0.9
    assert difference([before], [after], resamples=50, group="split")["original"]["difference"] == 0.5


def test_pairing_narrows_the_interval() -> None:
    rng = np.random.default_rng(0)
    base = rng.integers(0, 2, 400)
    better = base.copy()
    better[:20] = 1
    found = difference([run(base.tolist())], [run(better.tolist())], resamples=500)["original"]
    shuffled = difference([run(base.tolist())], [run(rng.permutation(better).tolist())], resamples=500)["original"]
    assert found["clear"] and not shuffled["clear"]
    assert (found["interval"][1] - found["interval"][0]) < 0.5 * (shuffled["interval"][1] - shuffled["interval"][0])


def test_seeds_are_averaged_and_shown() -> None:
    found = difference([run([0, 0]), run([0, 1])], [run([1, 0]), run([1, 1])], resamples=50)["original"]
    assert found["difference"] == 0.5 and found["by_run"] == [0.5, 0.5]


def test_other_items_are_refused() -> None:
    other = run([1, 0, 1], name="other")
    with pytest.raises(UserError, match="were not scored on the same items"):
        difference([run([1, 0])], [other])


def test_a_run_comes_back_from_disk(tmp_path: Path) -> None:
    written = run([1, 0], [0, 1])
    record = {"benchmark": {"name": "items", "items_sha256": "x"}, "model": {}, "metrics": {}}
    write_run(tmp_path, record, written.rows, written.outcomes, {})
    read = load_run(tmp_path)
    assert read.rows == written.rows and read.record["schema"] == 1
    assert read.outcomes.brittle.tolist() == [True, True]


def test_joined_benchmarks_weigh_the_same() -> None:
    def both(first: list[int], second: list[int]) -> Run:
        runs = [run(first, name="one"), run(second, name="two")]
        return joined([Run(r.folder, {**r.record, "model": {}}, r.rows, r.outcomes) for r in runs])

    before, after = both([0] * 9, [0]), both([1] * 9, [0])
    assert len({row.id for row in before.rows}) == 10
    assert difference([before], [after], resamples=50, group="benchmark")["original"]["difference"] == 0.5
