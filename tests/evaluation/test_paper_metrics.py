"""The papers' own metrics on cases small enough to work out by hand."""

from __future__ import annotations

import itertools

import pytest

from equipoise.evaluation.paper_metrics import PAPER_METRICS, groups, ranks, tot
from equipoise.evaluation.scores import ItemScores, TextScores


def row(name: str, caption: float, negatives: list[float], positives: list[float] = [], **rest: object) -> ItemScores:  # noqa: B006
    return ItemScores.model_validate(
        {"id": name, "caption": caption, "negatives": negatives, "positives": positives, **rest}
    )


def test_ranks_count_ties_against_the_caption() -> None:
    found = ranks([row("1", 0.9, [0.1, 0.2]), row("2", 0.5, [0.5, 0.1]), row("3", 0.1, [0.2, 0.3, 0.4, 0.5])])
    assert found["recall_at_1"] == pytest.approx(1 / 3) and found["recall_at_3"] == pytest.approx(2 / 3)
    assert found["recall_at_5"] == 1 and (found["mean_rank"], found["median_rank"]) == (pytest.approx(8 / 3), 2)


def pair(c0i0: float, c1i0: float, c0i1: float, c1i1: float, name: str = "1") -> list[ItemScores]:
    tags = {"pair": name}
    return [row(f"{name}a", c0i0, [c1i0], tags=tags), row(f"{name}b", c1i1, [c0i1], tags=tags)]


def test_winoground_against_its_definition() -> None:
    """All orders of four scores: text compares captions for an image, image compares images for a caption."""
    for scores in itertools.permutations([1.0, 2.0, 3.0, 4.0]):
        c0i0, c1i0, c0i1, c1i1 = scores
        found = groups(pair(*scores))
        text, image = c0i0 > c1i0 and c1i1 > c0i1, c0i0 > c0i1 and c1i1 > c1i0
        assert (found["text"], found["image"], found["group"]) == (text, image, text and image)


def test_a_tie_wins_nothing_at_winoground() -> None:
    text_tie, image_tie = groups(pair(2, 2, 1, 3)), groups(pair(2, 1, 2, 3))
    assert (text_tie["text"], text_tie["image"], text_tie["group"]) == (0, 1, 0)
    assert (image_tie["text"], image_tie["image"], image_tie["group"]) == (1, 0, 0)


def test_winoground_chance_is_what_the_paper_says() -> None:
    rows = []
    for number, scores in enumerate(itertools.permutations([1.0, 2.0, 3.0, 4.0])):
        rows += pair(*scores, name=str(number))
    found = groups(rows)
    assert found["n"] == 24
    assert (found["text"], found["image"], found["group"]) == pytest.approx((1 / 4, 1 / 4, 1 / 6))


def test_half_a_pair_is_counted_not_judged() -> None:
    found = groups([*pair(4, 1, 2, 3), *pair(4, 1, 2, 3, name="2")[:1]])
    assert found["n"] == 1 and found["incomplete"] == 1


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
    assert found["itt"] == 0.5 and found["tot"] == 0.25 and found["n"] == 4


def test_tot_with_several_positives_asks_every_pair_that_holds_the_caption_or_a_negative() -> None:
    def both(second_positive: float, second_negative: float) -> ItemScores:
        near, far = [0.9, second_positive], [[0.5], [second_negative]]
        text = TextScores(caption_positives=near, caption_negatives=[0.6], positives_negatives=far)
        return row("1", 0.9, [0.1], [0.8, 0.8], text=text)

    assert tot([both(0.8, 0.7)])["tot"] == 1
    assert tot([both(0.6, 0.5)])["tot"] == 0, "the second positive is no nearer to the caption than the negative"
    assert tot([both(0.8, 0.85)])["tot"] == 0, "a negative is nearer to the second positive than the caption is"


def test_every_metric_that_a_benchmark_names_exists() -> None:
    from equipoise.benchmarks import registry

    for name in registry.names():
        assert set(registry.get(name).metrics) <= set(PAPER_METRICS)
