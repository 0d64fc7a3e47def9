"""Negatives that the net lets pass: all sources are asked, nothing below the least is written, and why is told."""

from __future__ import annotations

import random

import pytest

from equipoise.perturb import Candidate, Caption, get_recipe, perturb_caption
from equipoise.perturb.candidate import Refused
from equipoise.perturb.operations.judged import LEAST, replace_judged
from equipoise.perturb.proposer.reading import Reading
from equipoise.perturb.sources.base import Proposal
from equipoise.perturb.sources.lexicon import Lexicon


def test_balanced_keeps_nothing_below_the_least() -> None:
    read = 0
    for text in ("A man in a red shirt rides a horse", "Two dogs play with a ball on the grass", "A cat on a bed"):
        caption = Caption(text)
        for each in perturb_caption(get_recipe("balanced"), caption).negatives:
            if each.edit.op == "replace":
                assert each.edit.span and each.edit.to and each.edit.target
                edit = Proposal(*each.edit.span, each.edit.to, each.edit.target, each.edit.by or "", 1.0)  # type: ignore[arg-type]
                read += 1
                assert Reading(caption).chances([edit])[0, 0] >= LEAST[each.edit.target] - 1e-4
    assert read >= 5


def test_left_and_right_need_no_reader() -> None:
    made = perturb_caption(get_recipe("balanced"), Caption("The bicycle is to the right of the tree")).negatives
    assert "The bicycle is to the left of the tree" in [each.text for each in made]


@pytest.mark.parametrize(
    ("text", "target", "why"),
    [("A pattern of squares", "action", "none is known"), ("A birthday cake on a table", "relation", "unlikely")],
)
def test_why_nothing_is_written(text: str, target: str, why: str) -> None:
    found = list(replace_judged(Caption(text), (Lexicon(),), random.Random(0), target))  # type: ignore[arg-type]
    assert not [each for each in found if isinstance(each, Candidate)]
    told = [each.reason for each in found if isinstance(each, Refused)]
    assert len(told) == 1 and told[0].startswith(f"no word is sure enough in place of any {target}") and why in told[0]


@pytest.mark.parametrize("text", ["Fewer than ten cars in the lot", "At least three people were standing outside"])
def test_what_is_counted_with_a_bound_is_left_alone(text: str) -> None:
    assert not [
        each for each in perturb_caption(get_recipe("balanced"), Caption(text)).negatives if each.edit.op == "replace"
    ]
