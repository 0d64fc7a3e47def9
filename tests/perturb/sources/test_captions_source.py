"""Words of the photo's other captions are true of it and exclude the rest; verb forms that mean the same."""

from __future__ import annotations

import pytest

from equipoise.language.vocabulary import Section
from equipoise.perturb import Caption
from equipoise.perturb.sources.captions import OtherCaptions, kinds
from equipoise.perturb.trivial import Alternations


def said(caption: Caption, target: Section, true: bool) -> set[str]:
    source = OtherCaptions()
    found = source.synonyms(caption, target) if true else source.contrasts(caption, target)
    return {proposal.to for proposal in found}


def test_the_same_kind_is_right_of_one_photo_and_wrong_of_another() -> None:
    owl = Caption("A bird on a branch", ("An owl sits in a tree",))
    parrot = Caption("A bird on a branch", ("A green parrot sits in a tree",))
    assert said(owl, "object", True) == {"owl"}
    assert "parrot" in said(owl, "object", False) and "owl" not in said(owl, "object", False)
    assert said(parrot, "object", True) == {"parrot"} and "owl" in said(parrot, "object", False)


def test_colours() -> None:
    caption = Caption("A car on a road", ("A red car drives by",))
    assert said(caption, "attribute", True) == {"red car"}
    assert "red car" not in said(caption, "attribute", False) and "green car" in said(caption, "attribute", False)


@pytest.mark.parametrize(
    ("text", "others"),
    [
        ("A person on a bike", ()),  # nothing is known
        ("A person on a bike", ("A man beside a woman",)),  # which of them?
        ("A person on his bike", ("A man rides",)),  # a pronoun tells already
        ("A car on a road", ("A red and white car",)),
        ("A car on a road", ("A red car", "A blue car")),
        ("A boy blows bubbles", ("A yellow bubble wand",)),
    ],
)
def test_nothing_where_the_others_do_not_settle_it(text: str, others: tuple[str, ...]) -> None:
    for target in ("object", "attribute"):
        assert said(Caption(text, others), target, True) == said(Caption(text, others), target, False) == set()  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("A person on a bike", "A man rides a bike"),  # readers refused a sixth: captions guess
        ("Two people look at a cake", "Two women and a cake"),
        ("Two birds on a branch", "Two owls in a tree"),  # of several, some may be of another kind
    ],
)
def test_no_kinds_of_people_and_of_several_things(text: str, other: str) -> None:
    caption = Caption(text, (other, other))
    assert said(caption, "object", True) == said(caption, "object", False) == set()


def test_no_kind_stands_in_two_groups_under_one_name_twice() -> None:
    for name, groups in kinds().items():
        assert groups and all(word and word != name for group in groups for word in group)


@pytest.mark.parametrize(
    ("caption", "openings"),
    [
        ("A dog with a ball in a yard", {"there is a"}),
        ("Two dogs lying on a bed", {"there are two"}),
        ("There are two dogs with a ball", {"two"}),
        ("A cat and a dog", {"a photo of a"}),
        ("The dog is running on the sand", {"in this photo, the"}),
        ("A man with a hat plays on a stage", {"in this photo, a"}),
        ("A look at a bridge that is in place", set()),  # not who does it
        ("The dog was running on the sand", set()),  # not of what the photo shows now
        ("This dog is running on the sand", set()),
        ("A skier dressed in black races down the mountain.", set()),  # "races" is its verb
        ("Two young rugby players wearing blue and yellow uniforms fight for the ball.", set()),
        ("A picture of a dog on a bed", set()),
        ("A Dog On A Bed In A Room", set()),
    ],
)
def test_openings(caption: str, openings: set[str]) -> None:
    assert {p.to for p in Alternations().synonyms(Caption(caption), "action")} == openings
