"""Lemmas and forms, alone and against the library whose answers they are."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise.language.forms import _table, inflections, lemma, write_edit
from equipoise.language.tagging import brill_lexicon

TAGS = ("NNS", "VBZ", "VBD", "VBN", "VBG")


@pytest.mark.parametrize(
    ("word", "pos", "expected"),
    [
        ("stools", "NOUN", "stool"),
        ("knives", "NOUN", "knife"),
        ("mice", "NOUN", "mouse"),
        ("running", "VERB", "run"),
        ("ate", "VERB", "eat"),
        ("Standing", "VERB", "Stand"),
        ("BOXES", "NOUN", "BOX"),
        ("wakeboarders", "NOUN", "wakeboarder"),  # in no dictionary
    ],
)
def test_lemmas(word: str, pos: str, expected: str) -> None:
    assert lemma(word, pos) == expected


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("ride", "rides rides rode ridden riding"),
        ("grab", "grabs grabs grabbed grabbed grabbing"),
        ("carry", "carries carries carried carried carrying"),
        ("vape", "vapes vapes vaped vaped vaping"),  # in no dictionary
        ("Jump", "Jumps Jumps Jumped Jumped Jumping"),
    ],
)
def test_forms(word: str, expected: str) -> None:
    assert [inflections(word, tag)[0] for tag in TAGS] == expected.split()


def test_a_noun_may_have_two_plurals() -> None:
    assert inflections("antenna", "NNS") == ("antennas", "antennae")


def test_unknown_words_that_look_greek_or_latin() -> None:
    made_up = "vasus rusma elusia protum philsis motis anthrex angorax"
    expected = "vasi rusmata elusiae prota philses motides anthrices angoraces"
    assert " ".join(inflections(word, "NNS")[0] for word in made_up.split()) == expected
    for word in made_up.split():
        same_as_the_library(word)


def same_as_the_library(word: str) -> None:
    import lemminflect

    for pos in ("NOUN", "VERB"):
        assert lemma(word, pos) == lemminflect.getLemma(word, pos)[0], (word, pos)
    for tag in TAGS:
        assert inflections(word, tag) == lemminflect.getInflection(word, tag), (word, tag)


def test_the_library_says_the_same_of_words_it_knows_and_does_not() -> None:
    listed = sorted({word for name in ("NOUN", "VERB", *TAGS) for word in _table()[name]})
    assert len(listed) > 10_000
    for word in [*listed[::25], *sorted(brill_lexicon())[::100]]:
        same_as_the_library(word)


@settings(max_examples=200, deadline=None)
@given(st.text("abcdefghijklmnopqrstuvwxyzAEIOSY-'é3", min_size=1, max_size=12))
def test_the_library_says_the_same_of_any_string(word: str) -> None:
    same_as_the_library(word)


@pytest.mark.parametrize(
    ("text", "start", "new", "edit"),
    [
        (
            "Catching a Frisbee",
            11,
            "blue Frisbee",
            "Catching a blue Frisbee",
        ),  # a name in the middle, and more before it
        ("A corner. Hydrant by a curb", 10, "fire hydrant", "A corner. Fire hydrant by a curb"),  # a new sentence
        ("AN AIRPLANE", 3, "plane", "A PLANE"),
        ("Frisbee on grass", 0, "blue frisbee", "Blue frisbee on grass"),
        ("A DOG", 2, "old dog", "AN OLD DOG"),
        ("A Dog", 2, "cat", "A Cat"),
        ("A TV on a desk", 2, "old tv", "An old TV on a desk"),
        ("A TV ON A DESK", 2, "old tv", "AN OLD TV ON A DESK"),
    ],
)
def test_capitals_stay_where_they_were(text: str, start: int, new: str, edit: str) -> None:
    end = text.find(" ", start)
    assert write_edit(text, start, end if end > 0 else len(text), new) == edit
