"""Swap negatives by evidence: what captions have in the other's place, and what stays true is refused with a reason."""

from __future__ import annotations

import random

import pytest

from equipoise.perturb import Candidate, Caption
from equipoise.perturb.candidate import Refused
from equipoise.perturb.operations.swap_attested import swap_attested
from equipoise.perturb.operations.swap_counts import swap_counts
from equipoise.perturb.recipe import Op


def made(op: Op, text: str) -> list[str]:
    return [each.text for each in op(Caption(text), (), random.Random(0)) if isinstance(each, Candidate)]


def reasons(op: Op, text: str) -> set[str]:
    return {each.reason for each in op(Caption(text), (), random.Random(0)) if isinstance(each, Refused)}


@pytest.mark.parametrize(
    ("caption", "swapped"),
    [
        ("A man in a black hat and a white shirt", "A man in a white hat and a black shirt"),
        ("A black dog chases a white dog", "A white dog chases a black dog"),
        ("A man feeding two horses", "Two men feeding a horse"),
        ("Two dogs next to a cat", "A dog next to two cats"),
        ("A woman is standing by three cows", "Three women are standing by a cow"),
        ("Two women and a man pose for the camera", "A woman and two men pose for the camera"),
        ("Three people pose in front of a bus", "A person poses in front of three buses"),
        ("A playground with two children and an adult", "A playground with a child and two adults"),
    ],
)
def test_qualities_and_numbers_change_places(caption: str, swapped: str) -> None:
    assert swapped in made(swap_attested, caption)


@pytest.mark.parametrize(
    ("caption", "reason"),
    [
        ("A pen, a watch and a phone", "the swap would stay true, as both are in one list"),
        ("A cat next to a dog", "the swap would stay true, as the relation holds both ways"),
        ("A boy talking to a girl", "the swap would stay true, as the relation holds both ways"),
        ("A boy facing a girl", "the swap would stay true, as the relation holds both ways"),
        ("A man riding a horse", "a person and an animal cannot change places here"),
        ("A woman holding a baby", "a child and a grown-up cannot change places in this action"),
        ("A car in front of its garage", "a pronoun (he, it, their) would then mean something else"),
    ],
)
def test_what_stays_true_or_absurd_is_refused_with_its_reason(caption: str, reason: str) -> None:
    assert made(swap_attested, caption) == []
    assert reason in reasons(swap_attested, caption)


def test_nothing_that_captions_never_say() -> None:
    assert made(swap_attested, "A toilet next to a sink in a bathroom") == []
    assert any("captions never" in reason for reason in reasons(swap_attested, "A lamp on a desk in a room"))


def test_a_number_stays_where_more_of_them_cannot_be() -> None:
    assert made(swap_counts, "Two cats on a bed") == []
    assert "the other thing hardly comes in that number" in reasons(swap_counts, "Two cats on a bed")
    assert made(swap_counts, "A man and his two dogs") == []


@pytest.mark.parametrize(
    "caption",
    [
        "Three dogs pulling a man",  # a dog pulling three men
        "Four dogs playing with a frisbee",
        "A man and two women wearing a uniform",
        "Two puppies have a romp",
        "Three animals are standing near a body of water",
        "Several different parking meters beside a brick building",
        "Two twin girls playing with a toy",
        "A man on a horse and four cows in a field",
        "A woman stands with two girls in dresses",
        "Two elephants standing next to a man wearing a blue uniform",
        "A woman sitting on a bench outside holding two donuts",
    ],
)
def test_a_number_stays_where_it_belongs_to_one_of_them_alone(caption: str) -> None:
    assert made(swap_counts, caption) == []


def test_a_number_stays_where_another_caption_sees_another() -> None:
    text = "Two giraffes standing near a large rock"
    assert made(swap_counts, text)
    others = Caption(text, ("A giraffe in a zoo", "Two giraffes and a rock"))
    told = list(swap_counts(others, (), random.Random(0)))
    assert told == [Refused("another caption of the image gives another number")]


@pytest.mark.parametrize(
    "caption",
    [
        "A player in blue is challenging a player in white",
        "Two girls pass two boys",
        "A toddler is covering a baby",
        "A man wearing a helmet looks at a woman wearing a helmet",
        "A man in a blue shirt stands next to a man in a red robe",  # who wears which cannot be told by the nouns
        "A man carries a youngster through the water",
        "A large clock sitting on a table in a small room",
        "A white sink in a small bathroom",
        "A metal microwave near wooden cabinets",
        "An old woman and a young girl",  # an older girl and a young woman may be the same two
        "A book is open in front of a keyboard",
        "A large dog is as large as a small car",
        "Six children sitting at two tables",
    ],
)
def test_swaps_that_may_be_true_or_absurd_are_not_made(caption: str) -> None:
    assert made(swap_attested, caption) == []
