"""Details that other captions name: true where they do, false where they name another."""

from __future__ import annotations

import pytest

from equipoise.perturb import Caption
from equipoise.perturb.english.vocabulary import Section
from equipoise.perturb.sources.details import Details


def said(text: str, others: tuple[str, ...], target: Section, true: bool) -> set[str]:
    caption = Caption(text, others)
    found = Details().synonyms(caption, target) if true else Details().contrasts(caption, target)
    return {proposal.to for proposal in found}


@pytest.mark.parametrize(
    ("text", "other", "target", "right", "wrong"),
    [
        (
            "A man rides a bike",
            "A man in a red shirt cycles",
            "attribute",
            "man in a red shirt",
            "man in a green shirt",
        ),
        (
            "A boy climbs a tree",
            "The boy in blue shorts climbs",
            "attribute",
            "boy in blue shorts",
            "boy in red shorts",
        ),
        ("Dogs play on a lawn", "Two dogs play", "attribute", "two dogs", "three dogs"),
        ("A group of people at a table", "Four people eat", "attribute", "four people", "five people"),
        ("A bench in a park", "A wooden bench", "attribute", "wooden bench", "metal bench"),
        ("A white dog on a lawn", "A large white dog", "attribute", "large white dog", "small white dog"),
        ("A cat on a couch", "A cat sitting on a sofa", "action", "sitting on", "standing on"),
    ],
)
def test_what_another_caption_says_is_right_and_what_it_excludes_wrong(
    text: str, other: str, target: Section, right: str, wrong: str
) -> None:
    assert right in said(text, (other,), target, True) and right not in said(text, (other,), target, False)
    assert wrong in said(text, (other,), target, False) and wrong not in said(text, (other,), target, True)


@pytest.mark.parametrize(
    ("text", "others"),
    [
        ("A man rides a bike", ()),
        ("A man rides a bike", ("A man in a red shirt and another man",)),  # whose shirt?
        ("A man rides a bike", ("A man in a red shirt", "A man in a blue shirt")),
        ("A man in a hat rides a bike", ("A man in a red shirt",)),  # his clothes are told
        ("Dogs play on a lawn", ("Two dogs play", "Three dogs play")),
        ("Dogs play on a lawn", ("One of two dogs plays",)),
        ("Three elephants in a field", ("A small elephant walks",)),  # one of them is
        ("A bed beside a window", ("A big bed", "A small made bed")),
        ("A white dog on a lawn", ("A large white dog", "A dog beside a smaller one")),
        ("A cat on a couch", ("A man sitting on a couch",)),  # he sits, not the cat
        ("A cat on a couch", ("A cat sitting on a sofa", "A cat lying on a sofa")),
    ],
)
def test_nothing_where_it_is_not_settled(text: str, others: tuple[str, ...]) -> None:
    for target in ("attribute", "action"):
        assert said(text, others, target, True) == said(text, others, target, False) == set()  # type: ignore[arg-type]
