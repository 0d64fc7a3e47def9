"""Two runs of what should be one model."""

from __future__ import annotations

import random

import pytest

from equipoise.core.errors import UserError
from equipoise.evaluation.comparing.same_model import same_model, verdict
from equipoise.evaluation.scores import Answer, ItemScores


def run(right: list[bool], prompt: str = "", refused: int = 0) -> list[ItemScores]:
    rows = []
    for number, won in enumerate(right):
        choice = None if number < refused else "cat" if won else "dog"
        one = Answer(
            right=won and choice is not None, choice=choice, place=0 if won else 1, said="x" * number, prompt=prompt
        )
        rows.append(ItemScores(id=str(number), tags={"split": "ab"[number % 2]}, answers=(one,)))
    return rows


def test_the_same_answers_under_another_name_of_the_prompt() -> None:
    right = [number % 3 > 0 for number in range(300)]
    found = same_model(run(right), run(right, prompt="v2"))
    assert (found.n, found.pairs, found.changed, found.difference, found.suspects) == (300, 300, 0, 0, [])
    assert found.verdict == "the same within 1 point"


def test_a_change_is_found_and_placed() -> None:
    right = [True] * 300
    worse = [number % 2 == 0 or number % 10 > 5 for number in range(300)]
    found = same_model(run(right), run(worse))
    assert found.verdict == "differs" and round(found.difference, 3) == -0.3
    assert found.where["split"] == {"b": (150, 0.6), "a": (150, 0.0)}


def test_answers_that_name_no_option_are_a_suspect() -> None:
    found = same_model(run([True] * 100), run([True] * 100, refused=20))
    assert found.suspects[0].startswith("the parser") and found.where["named no option"]["the second"] == (20, 1.0)


def test_too_few_items_to_tell() -> None:
    assert verdict(0.0, 0.02, 1000) == "cannot tell: about 9,823 more items are needed"
    assert verdict(0.0, 0.002, 1000) == "the same within 1 point" and verdict(0.05, 0.02, 1000) == "differs"


def test_runs_without_a_shared_item() -> None:
    with pytest.raises(UserError, match="no item is in both"):
        same_model(run([True]), [one.model_copy(update={"id": "other"}) for one in run([True])])


def test_a_difference_above_the_margin_is_called_the_same_in_at_most_one_of_twenty() -> None:
    """Two one-sided tests at 5%: with a true difference of exactly 1 point the verdict is seldom "the same"."""
    draw, called = random.Random(0), 0
    for _ in range(400):
        mean = sum(draw.choices((1, 0, -1), (0.03, 0.95, 0.02), k=2000)) / 2000
        called += verdict(mean, (0.05 - 0.01**2) ** 0.5 / 2000**0.5, 2000) == "the same within 1 point"
    assert called <= 0.05 * 400 + 2 * (0.05 * 0.95 * 400) ** 0.5


def test_answers_of_other_variants_are_refused_not_called_different() -> None:
    """One log of a run and two logs of the other: nothing pairs, and scores that answers lack are no difference."""
    right = [True] * 20
    twice = [
        one.model_copy(update={"answers": one.answers + other.answers})
        for one, other in zip(run(right, prompt="a"), run(right, prompt="b"), strict=True)
    ]
    with pytest.raises(
        UserError, match=r"no two answers .*prompt '' in the first, prompt 'a', prompt 'b' in the second"
    ):
        same_model(run(right), twice)
