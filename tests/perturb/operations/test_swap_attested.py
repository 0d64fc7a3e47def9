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
    ],
)
def test_qualities_and_numbers_change_places(caption: str, swapped: str) -> None:
    assert swapped in made(swap_attested, caption)


@pytest.mark.parametrize(
    ("caption", "reason"),
    [
        ("A pen, a watch and a phone", "members of one list"),
        ("A cat next to a dog", "a relation that holds both ways"),
        ("A boy talking to a girl", "a relation that holds both ways"),
        ("A boy facing a girl", "a relation that holds both ways"),
        ("A man riding a horse", "a person and an animal"),
        ("A woman holding a baby", "only the stronger does it"),
        ("A car in front of its garage", "a pronoun would point elsewhere"),
    ],
)
def test_what_stays_true_or_absurd_is_refused_with_its_reason(caption: str, reason: str) -> None:
    assert made(swap_attested, caption) == []
    assert reason in reasons(swap_attested, caption)


def test_nothing_that_captions_never_say() -> None:
    assert made(swap_attested, "A toilet next to a sink in a bathroom") == []
    assert any("no caption has" in reason for reason in reasons(swap_attested, "A lamp on a desk in a room"))


def test_a_number_stays_where_more_of_them_cannot_be() -> None:
    assert made(swap_counts, "Two cats on a bed") == []
    assert "more of them cannot be there" in reasons(swap_counts, "Two cats on a bed")
    assert made(swap_counts, "A man and his two dogs") == []
