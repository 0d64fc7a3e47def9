"""Negatives that the net lets pass: all sources are asked, nothing below the least is written, and why is told."""

from __future__ import annotations

import random
from types import SimpleNamespace

import numpy as np
import pytest

from equipoise.perturb import Candidate, Caption, get_recipe, perturb_caption
from equipoise.perturb.judge import Reading
from equipoise.perturb.operations import replace
from equipoise.perturb.operations.replace import LENIENT, STRICT, replace_judged
from equipoise.perturb.operations.swap_candidates import swap_judged
from equipoise.perturb.recipe import Proposal, Refused
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
                assert Reading(caption).chances([edit])[0, 0] >= STRICT[each.edit.target][0] - 1e-4
    assert read >= 5


def test_left_and_right_need_no_judge() -> None:
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


def swaps(text: str, *others: str) -> list[Candidate | Refused]:
    return list(swap_judged(Caption(text, others), (), random.Random(0)))


@pytest.mark.parametrize(
    ("text", "swapped"),
    [
        ("A man in a red shirt and black pants walks", "A man in a black shirt and red pants walks"),
        ("A brown dog bites a white dog", "A white dog bites a brown dog"),
        ("Two women and a man pose for a portrait", "Two men and a woman pose for a portrait"),
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


def test_the_more_speaks_against_an_edit_the_more_is_asked() -> None:
    for least in (STRICT, LENIENT):
        assert all(list(asked) == sorted(asked) for asked in least.values())


@pytest.mark.parametrize(
    ("mark", "doubt", "chance", "passes"),
    [
        ("", 0, 0.96, True),
        ("", 0, 0.959, False),
        ("", 1, 0.974, False),
        ("", 1, 0.975, True),
        ("wide", 0, 0.974, False),
        ("wide", 0, 0.975, True),
        ("wide", 1, 0.984, False),
        ("wide", 1, 0.985, True),
    ],
)
def test_an_unknown_neighbour_and_a_wide_line_each_ask_for_more(
    monkeypatch: pytest.MonkeyPatch, mark: str, doubt: int, chance: float, passes: bool
) -> None:
    class Sure:
        def chances(self, listed: list[Proposal]) -> np.ndarray:
            return np.array([[chance, 0, 0, 0]])

    proposal = Proposal(2, 5, "cat", "object", "lexicon", 1.0, mark)
    source = SimpleNamespace(contrasts=lambda caption, target: [proposal])
    monkeypatch.setattr(replace, "reading_of", lambda caption: Sure())
    monkeypatch.setattr(replace, "doubt_of", lambda caption, proposal: doubt)
    found, _ = replace.passing(Caption("a dog"), source, "object")  # type: ignore[arg-type]
    assert bool(found) == passes


def test_what_stands_too_far_into_a_caption_is_told_so() -> None:
    told = swaps(" ".join(["it is so"] * 11) + " a man in a red shirt and black pants")
    assert next(each.reason for each in told if isinstance(each, Refused)).endswith("too far into a long caption")
