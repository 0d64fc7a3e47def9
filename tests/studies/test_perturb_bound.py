"""studies/perturb_bound.py: what it lists for a caption, and what it chooses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from equipoise.perturb import Candidate, Caption, get_recipe, perturb_caption
from equipoise.perturb.recipe import edited

from .conftest import modules_of


@pytest.fixture
def script() -> Iterator[Any]:
    found = modules_of("")
    imported: Callable[[str], Any] = next(found)
    yield imported("perturb_bound")
    next(found, None)


def _cat(to: str, price: float = 0.9) -> Candidate:
    return edited("a cat", "negative", "replace", "object", (2, 5), to, "lexicon", f"a {to}")._replace(expected=price)


def test_what_the_draw_wrote_is_among_the_candidates(script: Any) -> None:
    recipe, caption = get_recipe("balanced"), Caption("Two dogs and a cat are sleeping on a blue couch.")
    made = perturb_caption(recipe, caption)
    listed = {one.text for slot in script.slots_of(recipe, caption, []) for one in slot}
    drawn = {one.text for one in (*made.positives, *made.negatives) if one.edit.op == "replace"}
    assert drawn and drawn < listed


def test_rare_substitutions_are_chosen_unless_they_are_less_sure(script: Any) -> None:
    choices = [[[_cat("dog")]]] * 3 + [[[_cat("dog"), _cat("rabbit", 0.8)]]]
    assert [one.edit.to for (one,) in script.rarest(choices, 0)] == ["dog", "dog", "dog", "rabbit"]
    assert {one.edit.to for (one,) in script.rarest(choices, 100)} == {"dog"}
