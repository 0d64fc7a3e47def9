"""Replacements by the lexicon: sense, form, compounds, names; positives and negatives."""

from __future__ import annotations

import random

import pytest

from equipoise.perturb import Caption
from equipoise.perturb.operations.replace import replace_negative, replace_positive
from equipoise.perturb.sources.files import SECTIONS, Section
from equipoise.perturb.sources.lexicon import Lexicon

SOURCES = (Lexicon(),)


def positives(text: str, *targets: Section) -> set[str]:
    return {
        candidate.text
        for target in targets or SECTIONS
        for candidate in replace_positive(Caption(text), SOURCES, random.Random(0), target)
    }


def negatives(text: str, *targets: Section) -> set[str]:
    return {
        candidate.text
        for target in targets or SECTIONS
        for candidate in replace_negative(Caption(text), SOURCES, random.Random(0), target)
    }


@pytest.mark.parametrize(
    ("caption", "replaced"),
    [  # Appendix C of the Hard Positives paper, or an equally good variant of its output
        (
            "a person holding an piece of an eaten sandhwich next to a lap top computer",
            "a person holding a morsel of an eaten sandhwich next to a lap top computer",
        ),
        ("Two baby goats stand together on worn stones", "Two baby goats stand together on worn rocks"),
        ("Two baby goats stand together on worn stones", "Two baby kids stand together on worn stones"),
        ("a field that ha a bunch of sheep in it", "a meadow that ha a bunch of sheep in it"),
        ("a field that ha a bunch of sheep in it", "a field that ha a flock of sheep in it"),
        (
            "A side view mirror on the handle bars of a motorcycle",
            "A side view mirror on the handle bars of a motorbike",
        ),
        (
            "A variety of vegetables sits in a pile on a stand",
            "A collection of vegetables sits in a pile on a stand",
        ),
        (
            "a man going down a handle on some stairs on a skate board",
            "a man going down a handle on some stairs on a skateboard",
        ),
    ],
)
def test_the_pairs_of_the_paper_come_out(caption: str, replaced: str) -> None:
    assert replaced in positives(caption)


@pytest.mark.parametrize(
    ("caption", "replaced"),
    [
        ("Two couches in a room", "Two sofas in a room"),
        ("A man leaping over a fence", "A man jumping over a fence"),
        ("a huge cake", "an enormous cake"),
        ("An airplane in the sky", "A plane in the sky"),
        ("A dog NEXT TO a car", "A dog BESIDE a car"),
        ("A man in a suit on a bench", "A man wearing a suit on a bench"),
    ],
)
def test_inflection_articles_and_capitals(caption: str, replaced: str) -> None:
    assert replaced in positives(caption)


@pytest.mark.parametrize(
    ("caption", "forbidden"),
    [
        ("A man in front of a store", "within front"),
        ("A hot dog on a plate", "canine"),
        ("A man on his phone near Big Ben", "Large Ben"),
        ("A dirt bike with a helmet", "bicycle"),
        ("A street sign on a pole", "road sign"),
        ("a teddy bear in a chair", "bear in a seat"),
        ("a painter covered in red paint", "covecrimson"),
    ],
)
def test_no_word_inside_a_compound_or_name_is_touched(caption: str, forbidden: str) -> None:
    assert not [text for text in positives(caption) if forbidden in text]


def test_negatives_are_other_things_of_the_same_form() -> None:
    found = negatives("Two dogs on a couch", "object")
    assert "Two cats on a couch" in found
    assert "Two dogs on a bed" in found
    assert not found & {
        "Two puppies on a couch",
        "Two canines on a couch",
        "Two dogs on a sofa",
        "Two animals on a couch",
    }


def test_colours_that_overlap_never_replace_each_other() -> None:
    found = negatives("a white cup", "attribute")
    assert "a red cup" in found
    assert not found & {"a cream cup", "a beige cup", "a silver cup", "a gray cup"}


def test_things_sit_but_do_not_stand_up() -> None:
    assert negatives("a vase sitting on a table", "action") == set()
    assert "a woman standing on a chair" in negatives("a woman sitting on a chair", "action")


def test_relations_break_only_where_they_are_of_place() -> None:
    assert "a cat under a table" in negatives("a cat on a table", "relation")
    assert negatives("a man on the phone", "relation") == set()
    assert negatives("a man in a suit", "relation") == set()


def test_the_edit_says_what_changed_and_where() -> None:
    caption = Caption("An old couch in a room")
    edits = [c.edit for c in replace_positive(caption, SOURCES, random.Random(0), "object") if c.edit.to == "sofa"]
    assert edits[0].source == "couch"
    assert edits[0].span == (7, 12)
    assert caption.text[7:12] == "couch"
    assert (edits[0].op, edits[0].target, edits[0].by) == ("replace", "object", "lexicon")
