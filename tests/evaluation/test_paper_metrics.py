"""The papers' own metrics on cases small enough to work out by hand."""

from __future__ import annotations

import pytest

from equipoise.evaluation.paper_metrics import FUNCTIONS, ranks, tot
from equipoise.evaluation.scores import ItemScores, TextScores


def row(name: str, caption: float, negatives: list[float], positives: list[float] = [], **rest: object) -> ItemScores:  # noqa: B006
    return ItemScores.model_validate(
        {"id": name, "caption": caption, "negatives": negatives, "positives": positives, **rest}
    )


def test_ranks_count_ties_against_the_caption() -> None:
    found = ranks([row("1", 0.9, [0.1, 0.2]), row("2", 0.5, [0.5, 0.1]), row("3", 0.1, [0.2, 0.3, 0.4, 0.5])])
    assert found["recall_at_1"].value == pytest.approx(1 / 3) and found["recall_at_3"].value == pytest.approx(2 / 3)
    assert found["recall_at_5"].value == 1 and (found["mean_rank"].value, found["median_rank"].value) == (
        pytest.approx(8 / 3),
        2,
    )


def text_scores(cp: float, cn: float, pn: float) -> TextScores:
    return TextScores(caption_positives=[cp], caption_negatives=[cn], positives_negatives=[[pn]])


def test_tot_asks_the_texts_alone() -> None:
    rows = [
        row("1", 0.9, [0.1], [0.8], text=text_scores(0.9, 0.5, 0.6)),
        row("2", 0.9, [0.1], [0.0], text=text_scores(0.9, 0.95, 0.6)),  # the negative is nearer to the caption
        row("3", 0.0, [0.1], [0.2], text=text_scores(0.9, 0.5, 0.95)),  # the negative is nearer to the positive
        row("4", 0.9, [0.1], [0.2], text=text_scores(0.9, 0.9, 0.1)),  # level: no win
    ]
    found = tot(rows)
    assert found["itt"].value == 0.5 and found["tot"].value == 0.25 and found["tot"].n == 4


def test_tot_with_several_positives_asks_every_pair_that_holds_the_caption_or_a_negative() -> None:
    def both(second_positive: float, second_negative: float) -> ItemScores:
        near, far = [0.9, second_positive], [[0.5], [second_negative]]
        text = TextScores(caption_positives=near, caption_negatives=[0.6], positives_negatives=far)
        return row("1", 0.9, [0.1], [0.8, 0.8], text=text)

    assert tot([both(0.8, 0.7)])["tot"].value == 1
    assert tot([both(0.6, 0.5)])["tot"].value == 0, "the second positive is no nearer to the caption than the negative"
    assert tot([both(0.8, 0.85)])["tot"].value == 0, "a negative is nearer to the second positive than the caption is"


def test_every_metric_that_a_benchmark_names_exists() -> None:
    from equipoise.benchmarks import registry

    for name in registry.names():
        assert set(registry.get(name).metrics) <= set(FUNCTIONS)
