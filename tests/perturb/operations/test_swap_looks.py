"""Colours and other qualities change places: all of a colour, on what may have it, where it changes what is said."""

from __future__ import annotations

import random

import pytest

from equipoise.perturb import Candidate, Caption
from equipoise.perturb.candidate import Refused
from equipoise.perturb.operations.swap_looks import swap_looks
from equipoise.perturb.operations.swap_qualities import swap_qualities
from equipoise.perturb.recipe import Op


def made(op: Op, text: str, *others: str) -> list[str]:
    return [each.text for each in op(Caption(text, others), (), random.Random(0)) if isinstance(each, Candidate)]


def reasons(op: Op, text: str) -> list[str]:
    return [each.reason for each in op(Caption(text), (), random.Random(0)) if isinstance(each, Refused)]


@pytest.mark.parametrize(
    ("caption", "swapped"),
    [
        ("A boy in a red shirt on a blue bike", "A boy in a blue shirt on a red bike"),
        ("A man in a dark blue shirt and a red hat", "A man in a red shirt and a dark blue hat"),
        ("A black and white cat on a brown couch", "A brown cat on a black and white couch"),
        ("A boy in red is kicking a boy in blue", "A boy in blue is kicking a boy in red"),
        ("A girl in a striped dress and black shoes", "A girl in a black dress and striped shoes"),
        ("A black dog chasing a white dog", "A white dog chasing a black dog"),
    ],
)
def test_a_whole_colour_changes_places(caption: str, swapped: str) -> None:
    assert made(swap_looks, caption) == [swapped]


@pytest.mark.parametrize(
    ("caption", "reason"),
    [
        ("A black dog with a green ball", "captions never use these words together: 'green' 'dog'"),
        ("A black dog and a white dog", "the two things have one name, so nobody could say which has which colour"),
        (
            "A black dog playing with a white dog",
            "the two things have one name, so nobody could say which has which colour",
        ),
        ("A man in a red shirt and a red hat", "the two colours are the same, or nearly"),
        ("A woman with brown hair and a green shirt", "captions never use these words together: 'green' 'hair'"),
        ("A red stop sign next to a blue car", "captions never use these words together: 'blue' 'stop sign'"),
        ("A man in a red shirt", "no two things with a colour or pattern each"),
    ],
)
def test_what_says_the_same_or_cannot_be_is_refused(caption: str, reason: str) -> None:
    assert made(swap_looks, caption) == []
    assert reason in reasons(swap_looks, caption)


@pytest.mark.parametrize(
    ("caption", "others"),
    [
        ("A man in a black shirt and a pale green tie", ()),  # a pale black tie
        ("A boy in a green shirt throwing orange fall leaves", ()),
        ("A pair of red tissues and a pink ribbon", ()),  # what one calls pink is red to the next
        ("A brown dog on a black couch", ("A black dog on a couch",)),
        ("A yellow cup on a blue table", ("An orange table with a cup",)),
        ("A man in an orange kayak and a man in a blue kayak", ()),
        ("A man rows a blue kayak through white water rapids", ()),
    ],
)
def test_colours_that_may_be_true_the_other_way_round_stay(caption: str, others: tuple[str, ...]) -> None:
    assert made(swap_looks, caption, *others) == []


def test_qualities_of_two_sorts_change_places_on_made_things() -> None:
    assert made(swap_qualities, "A red chair and a wooden table") == ["A wooden chair and a red table"]
    assert made(swap_qualities, "A red chair and a wooden table", "A red table in a room") == []
    assert made(swap_qualities, "A large dog with a red ball") == []
    assert "no two unlike qualities that could change places (a red car and a wooden house)" in reasons(
        swap_qualities, "A red chair and a green table"
    )
