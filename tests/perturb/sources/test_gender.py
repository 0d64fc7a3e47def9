"""Another person, and the pronouns with it; and people who would be called children if they were."""

from __future__ import annotations

import pytest

from equipoise.perturb import Caption
from equipoise.perturb.sources.captions import Gender


def made(text: str, *others: str) -> list[str]:
    return [
        text[: each.start] + each.to + text[each.end :] for each in Gender().contrasts(Caption(text, others), "object")
    ]


@pytest.mark.parametrize(
    ("caption", "other"),
    [
        ("A girl smiles as she climbs a wall", "A boy smiles as he climbs a wall"),
        ("A man walking his dog", "A woman walking her dog"),
        ("A woman with her eyes closed", "A man with his eyes closed"),
        ("A boy with a dog behind him", "A girl with a dog behind her"),
        ("A woman with a dog behind her", "A man with a dog behind him"),
    ],
)
def test_noun_and_pronouns_change_together(caption: str, other: str) -> None:
    assert made(caption) == [other]


@pytest.mark.parametrize(
    "caption",
    [
        "A girl smiles at a wall",  # no pronoun: the lexicon's matter
        "A man and a woman with her dog",  # which of them
        "A boy looks at her dog",  # not his
        "A woman in a dress with her dog",  # worn by one of them
        "A man's dog in his house",
    ],
)
def test_what_does_not_surely_belong_together_stays(caption: str) -> None:
    assert made(caption) == []


def test_a_caption_of_the_photo_that_names_the_other_is_believed() -> None:
    assert made("A man walking his dog", "A woman and a dog") == []


def test_people_are_children_only_where_nobody_says_so() -> None:
    others = ("Two people by the sea", "They sit on a wall", "Two women by the sea")
    assert made("Two people sitting on a wall", *others) == ["Two children sitting on a wall"]
    assert made("Two people sitting on a wall", *others[:2], "A view of the sea") == []  # they may be children
    assert made("Two people sitting on a wall", *others[:2]) == []
    assert made("Two people sitting on a wall", *others, "Two kids by the sea") == []
    assert made("Two people drinking wine", *others) == []
