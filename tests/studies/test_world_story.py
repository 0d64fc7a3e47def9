from __future__ import annotations

import pytest

from studies import world_story


def test_ranks_are_compared_over_recipes_and_columns() -> None:
    photos = {"a": {"x": 3.0, "y": -1.0}, "b": {"x": 5.0}}
    same = {"a": {"x": 0.3, "y": -9.0, "z": 1.0}, "b": {"x": 0.4}, "c": {"x": 7.0}}
    assert world_story.agreement(same, photos) == (pytest.approx(1.0), 3)
    turned = {"a": {"x": -0.3, "y": 9.0}, "b": {"x": -0.4}}
    assert world_story.agreement(turned, photos)[0] == pytest.approx(-1.0)


def test_points_on_photographs_are_those_of_the_docs() -> None:
    """docs/coco.md: NegCLIP's negatives, Original on NegCLIP's pairs +27.6; our swaps, Augmented +40.8."""
    found = world_story.on_photos("m")
    assert found["usual negatives"]["usual score"] == pytest.approx(27.6, abs=0.05)
    assert found["usual negatives"]["swapped attributes"] == pytest.approx(40.8, abs=0.05)
    assert len(found) == 5 and all(len(row) == 5 for row in found.values())
