"""Words that the net proposes: in the right form, never what a caption says, never against a pronoun."""

from __future__ import annotations

import pytest

from equipoise.perturb import Caption
from equipoise.perturb.sources.fillers import Fillers, offer


def offered(text: str, target: str = "object", others: tuple[str, ...] = ()) -> list[tuple[str, str]]:
    found = Fillers().contrasts(Caption(text, others), target)  # type: ignore[arg-type]
    return [(text[each.start : each.end], each.to) for each in found]


def test_new_words_have_the_form_of_the_old() -> None:
    found = offered("Two dogs are running in a park")
    assert {to for old, to in found if old == "dogs"} & {"horses", "cows", "men", "children"}
    assert not {to for old, to in found if old == "dogs"} & {"horse", "cow", "man", "child"}
    verbs = {to for old, to in offered("A dog sits on a couch", "action")}
    assert verbs and all(to.endswith("s") for to in verbs)


def test_what_any_caption_says_is_not_offered() -> None:
    text = "A dog lies on a couch"
    assert ("dog", "cat") in offered(text)
    assert ("dog", "cat") not in offered(text, others=("A cat and a dog",))


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("A man brushes his teeth", {"woman", "girl", "lady"}),
        ("A woman and her umbrella", {"man", "boy", "guy"}),
        ("A dog with a ball in its mouth", {"man", "woman", "child"}),
    ],
)
def test_pronouns_are_kept_in_mind(text: str, wrong: set[str]) -> None:
    assert not wrong & {to for _, to in offered(text)}


def test_unknown_words_names_and_parts_of_others_stay() -> None:
    assert offered("A zxcvq on a qwerv") == []
    assert not [old for old, _ in offered("A street sign on a hot day") if old == "street"]


def test_words_for_each_place_in_any_company() -> None:
    text = "A black dog runs in the snow"
    for target, places in (("object", {"dog", "snow"}), ("action", {"runs"})):
        assert {old for old, _ in offered(text, target)} == places
    captions = [Caption("Two cats"), Caption(text), Caption("A man eats")]
    assert offer(captions)[1]["object"] == list(Fillers().contrasts(Caption(text), "object"))


def test_no_synonyms_and_no_other_targets() -> None:
    caption = Caption("A red car")
    assert list(Fillers().synonyms(caption, "object")) == []
    assert list(Fillers().contrasts(caption, "attribute")) == []
