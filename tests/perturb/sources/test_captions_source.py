"""What other captions of the photo name is true of it, and excludes the rest; verb forms that say the same."""

from __future__ import annotations

from collections import Counter

import pytest

from equipoise.perturb import Caption
from equipoise.perturb.english.vocabulary import Section
from equipoise.perturb.sources.alternations import Alternations
from equipoise.perturb.sources.captions import OtherCaptions, kinds


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


def test_people_of_both_sexes_are_not_called_after_one() -> None:
    text = "Two people look at a cake"
    assert said(Caption(text, ("Two women and a cake", "Women with a cake")), "object", True) == {"women"}
    for other in ("A man beside women", "Two couples with a cake"):
        found = [said(Caption(text, ("Two women and a cake", other)), "object", true) for true in (True, False)]
        assert found == [set(), set()]
    assert said(Caption(text, ("Two women and a cake", "A couple of women")), "object", True) == {"women"}
    grooming = ("Two women grooming a horse", "Two women with a horse")
    assert said(Caption("Two people brush a horse", grooming), "object", True) == {"women"}


def test_no_kind_stands_in_two_groups_under_one_name_twice() -> None:
    for name, groups in kinds().items():
        assert groups and all(word and word != name for group in groups for word in group)


@pytest.mark.parametrize(
    ("caption", "forms"),
    [
        ("A man riding a horse", {"rides", "is riding", "who is riding"}),
        ("Two men ride a horse", {"riding", "are riding"}),
        ("A group of performers sing and work on a stage", set()),  # both would have to change
        ("A dog is sleeping on a bed", {"sleeping", "sleeps"}),
        ("A man sitting and reading a book", set()),
        ("Some people are going to go surfing", set()),
        ("A man who is riding a horse", {"riding"}),
        ("A group of people standing in a meadow", {"stand", "are standing", "who are standing"}),
        ("The Miami basketball player is looking.", set()),  # neither "looking" nor "looks" says enough
        ("The Miami basketball player is running.", {"runs"}),  # no noun phrase that breaks off
        ("Two boys standing up near a wall", {"who are standing"}),  # who stands up was sitting
        ("A skier dressed in black races down the mountain.", {"who is dressed"}),  # "speeds" is its verb
        ("A group of people that are standing on a court", {"standing"}),
        ("Large group of people standing in a meadow", {"who are standing"}),  # no subject of "are"
        ("A man with a dog who is jumping", set()),  # which of them?
        ("A dog that is jumping over a log", {"jumping"}),
        ("Several snacks including fruit on a table", set()),
        ("The dog is running on the sand", {"runs"}),
        ("A young child wearing orange balances on a snowy rock.", {"who is wearing"}),
        ("Two young rugby players wearing blue and yellow uniforms fight for the ball.", {"who are wearing"}),
        ("People carrying umbrellas walking down a road", set()),
        ("A photo shows a cat on a bed", {"showing"}),
        ("A lady looks surprised.", set()),
        ("A bus parked by a fence", {"is parked", "that is parked"}),
        ("A bus is parked by a fence", {"parked"}),
        ("The bus is parked by a fence", set()),
    ],
)
def test_verb_forms(caption: str, forms: set[str]) -> None:
    found = {proposal.to for proposal in Alternations().synonyms(Caption(caption), "action")}
    assert {to for to in found if not to.startswith(("there", "a photo", "a picture"))} == forms


def test_openings_are_shared_out_by_the_text_alone() -> None:
    texts = [f"A dog with {n} balls in a yard" for n in range(400)]
    found = Counter(p.to for text in texts for p in Alternations().synonyms(Caption(text), "action"))
    assert set(found) == {"there is a", "a photo of a", "a picture of a"} and found["there is a"] < 250
    texts = [f"There are two dogs with {n} balls" for n in range(400)]
    found = Counter(p.to for text in texts for p in Alternations().synonyms(Caption(text), "action"))
    assert set(found) == {"two"} and found["two"] < 250
