"""Swap, negate, add and shuffle negatives."""

from __future__ import annotations

import random
from functools import partial

import pytest

from equipoise.perturb import Candidate, Caption
from equipoise.perturb.operations.papers import (
    add_attribute,
    add_object,
    negate,
    shuffle_trigrams,
    shuffle_words,
)
from equipoise.perturb.operations.swap_negative import swap_alike, swap_attributes, swap_nouns, swap_phrases, swap_spans
from equipoise.perturb.recipe import Op


def made(op: Op, text: str) -> list[str]:
    found = op(Caption(text), (), random.Random(0))
    return [each.text for each in found if isinstance(each, Candidate)]


def test_nouns_and_phrases_change_places() -> None:
    assert made(swap_nouns, "A man riding a brown horse.") == ["A horse riding a brown man."]
    assert made(swap_phrases, "An old man riding a horse.") == ["A horse riding an old man."]
    assert made(swap_alike, "A man riding a horse.") == []  # a horse does not ride
    assert made(swap_alike, "A truck behind an orange car")[0] == "An orange car behind a truck"


@pytest.mark.parametrize(
    "caption",
    [
        "A cat and a dog",
        "A cat next to a dog",
        "a dog near a cat",
        "two men on a skateboard on a street",
        "many different sweets and donuts",
        "A cat chasing a cat",
        "A man with his dog",
        "A tower connected to a building",
        "a bus that is by a building",
        "a wave in an ocean",
        "Two dogs chase a cat",  # a cat chase two dogs
    ],
)
def test_a_swap_that_means_the_same_or_breaks_agreement_is_refused(caption: str) -> None:
    assert made(swap_nouns, caption) + made(swap_phrases, caption) == []


def test_attributes_change_places_within_their_sort() -> None:
    assert made(swap_attributes, "a black cat on an orange car") == ["an orange cat on a black car"]
    assert made(swap_attributes, "a black cat on a large car") == []
    assert made(swap_attributes, "a black cat and a white cat") == []
    assert made(swap_attributes, "a little girl with a small cake") == []


def test_spans_of_one_type() -> None:
    assert "A horse riding a man" in made(swap_spans, "A man riding a horse")
    assert made(swap_spans, "cats and dogs") == []


def test_negation() -> None:
    assert made(negate, "A man is riding a horse") == ["A man is not riding a horse"]
    assert made(negate, "A room with a bed") == ["A room without a bed"]
    assert made(negate, "A pizza topped with cheese") == []


def test_additions() -> None:
    assert all(" and a" in text for text in made(add_object, "A man riding a horse"))
    assert made(add_object, "A man riding a horse")
    assert all(text.endswith("cup") for text in made(add_attribute, "An old man near a cup"))


def test_shuffles_keep_the_words() -> None:
    caption = "a small dog on the red couch near a lamp"
    nouns = partial(shuffle_words, nouns=True)
    others = partial(shuffle_words, nouns=False)
    for op in (nouns, others, partial(shuffle_trigrams, within=True), partial(shuffle_trigrams, within=False)):
        texts = made(op, caption)
        assert texts
        assert all(sorted(text.split()) == sorted(caption.split()) and text != caption for text in texts)
    assert all(text.split()[0] == "a" for text in made(nouns, caption))
