"""Negatives that the net lets pass: all sources are asked, nothing below the least is written, and why is told."""

from __future__ import annotations

import random

import pytest

from equipoise.perturb import Candidate, Caption, get_recipe, perturb_caption
from equipoise.perturb.dial import Dial
from equipoise.perturb.operations.replace import replace_judged
from equipoise.perturb.operations.swap_candidates import swap_judged
from equipoise.perturb.recipe import Refused
from equipoise.perturb.sources.lexicon import Lexicon


def test_left_and_right_need_no_judge() -> None:
    made = perturb_caption(get_recipe("balanced"), Caption("The bicycle is to the right of the tree")).negatives
    assert "The bicycle is to the left of the tree" in [each.text for each in made]


@pytest.mark.parametrize(
    ("text", "target", "why"),
    [("A pattern of squares", "action", "none is known"), ("A birthday cake on a table", "relation", "unlikely")],
)
def test_why_nothing_is_written(text: str, target: str, why: str) -> None:
    found = list(replace_judged(Caption(text), (Lexicon(),), random.Random(0), target, Dial()))  # type: ignore[arg-type]
    assert not [each for each in found if isinstance(each, Candidate)]
    told = [each.reason for each in found if isinstance(each, Refused)]
    assert len(told) == 1 and told[0].startswith(f"no word is sure enough in place of any {target}") and why in told[0]


@pytest.mark.parametrize("text", ["Fewer than ten cars in the lot", "At least three people were standing outside"])
def test_what_is_counted_with_a_bound_is_left_alone(text: str) -> None:
    assert not [
        each for each in perturb_caption(get_recipe("balanced"), Caption(text)).negatives if each.edit.op == "replace"
    ]


def swaps(text: str, *others: str) -> list[Candidate | Refused]:
    return list(swap_judged(Caption(text, others), (), random.Random(0), Dial()))


@pytest.mark.parametrize(
    ("text", "swapped"),
    [
        ("A man in a red shirt and black pants walks", "A man in a black shirt and red pants walks"),
        ("A brown dog bites a white dog", "A white dog bites a brown dog"),
        ("Two women and a man pose for a portrait", "A woman and two men pose for a portrait"),
    ],
)
def test_swaps_that_readers_pass(text: str, swapped: str) -> None:
    assert swapped in [each.text for each in swaps(text) if isinstance(each, Candidate)]


@pytest.mark.parametrize(
    "text",
    [
        "A cup next to a plate",  # the same both ways
        "A man sits on a bench in a park",  # a bench in a park
        "A cat and a dog on a bed",
        "A white plate on a wooden table",
    ],
)
def test_swaps_that_say_the_same_or_are_absurd_are_refused_with_a_reason(text: str) -> None:
    found = swaps(text)
    assert [each for each in found if isinstance(each, Candidate)] == []
    assert [each.reason for each in found if isinstance(each, Refused)]


def test_a_caption_with_one_thing_has_nothing_to_swap() -> None:
    (told,) = swaps("A dog runs")
    assert isinstance(told, Refused) and "two things" in told.reason


def test_what_stands_too_far_into_a_caption_is_told_so() -> None:
    told = swaps(" ".join(["it is so"] * 11) + " a man in a red shirt and black pants")
    assert next(each.reason for each in told if isinstance(each, Refused)).endswith("too far into a long caption")
