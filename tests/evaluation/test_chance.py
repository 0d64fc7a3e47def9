"""Chance of items with different numbers of texts: every order counted, averaged as the shares are, said once."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

from equipoise.benchmarks.registry import of_file
from equipoise.core import stats
from equipoise.data.items import Item, texts
from equipoise.evaluation.averages import Averages, summarise
from equipoise.evaluation.outcomes import outcomes_of
from equipoise.evaluation.scores import ItemScores
from equipoise.report.footnotes import chance_line


def row(name: str, positives: int, negatives: int, split: str = "a") -> ItemScores:
    return ItemScores(
        id=name, caption=1, positives=[1.0] * positives, negatives=[0.0] * negatives, tags={"split": split}
    )


@pytest.mark.parametrize("positives", [0, 1, 2])
@pytest.mark.parametrize("negatives", [1, 2, 3])
def test_every_order_counted(positives: int, negatives: int) -> None:
    right = 1 + positives
    orders = [
        ItemScores(id=str(number), caption=order[0], positives=list(order[1:right]), negatives=list(order[right:]))
        for number, order in enumerate(itertools.permutations(map(float, range(right + negatives))))
    ]
    outcomes = outcomes_of(orders)
    shares = [outcomes.original.mean(), outcomes.augmented.mean(), outcomes.brittle.mean()]
    found = stats.chance_of_orders(np.array([right]), np.array([negatives]))[0]
    assert found[0] == pytest.approx(shares[0])
    if positives:
        assert found[1:] == pytest.approx(shares[1:])


def test_it_is_averaged_as_the_shares_are() -> None:
    rows = [row("1", 1, 1), row("2", 0, 3), row("3", 1, 2, "b"), row("4", 0, 1, "b")]
    outcomes = outcomes_of(rows)
    summary, mean = summarise(outcomes, resamples=10), Averages(outcomes, resamples=10).macro(("split",))
    assert summary.overall.chance["original"] == pytest.approx((1 / 2 + 1 / 4 + 1 / 3 + 1 / 2) / 4)
    assert summary.overall.chance["augmented"] == pytest.approx((1 / 3 + 1 / 6) / 2)  # of those with a positive
    split = summary.by["split"]["a"].chance
    assert [split[name] for name in ("original", "augmented", "brittleness")] == pytest.approx([3 / 8, 1 / 3, 1 / 3])
    assert mean is not None and mean.chance["original"] == pytest.approx((3 / 8 + 5 / 12) / 2)
    only = summarise(outcomes_of([row("1", 0, 3)]), resamples=10).overall
    assert only.chance["original"] == 0.25 and "augmented" not in only.chance
    one = only.metrics["original"].model_copy(update={"chance": None})
    unknown = only.model_copy(update={"metrics": {"original": one}})
    assert chance_line(only, {}).startswith("by chance (an item's texts in random order): Orig. 25.0")
    assert chance_line(unknown, {"original": 0.5}).endswith("Orig. 50.0")


def test_a_file_of_ones_own_has_it_too(tmp_path: Path) -> None:
    items = [
        Item(id="1", caption="c", positives=texts("p"), negatives=texts("n")),
        Item(id="2", caption="c", negatives=texts("n", "m", "o")),
    ]
    found = of_file(tmp_path / "mine.jsonl", items).chance
    assert found == pytest.approx({"original": 3 / 8, "augmented": 1 / 3, "brittleness": 1 / 3})
    assert of_file(tmp_path / "mine.jsonl", [Item(id="1", caption="c")]).chance == {}
