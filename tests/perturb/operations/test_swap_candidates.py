"""All that could change places: qualities, numbers, nouns, phrases; written in good form."""

from __future__ import annotations

import pytest

from equipoise.perturb import Caption
from equipoise.perturb.checks.form import small_edit
from equipoise.perturb.dial import accepted
from equipoise.perturb.judge import SORTS
from equipoise.perturb.operations.swap_candidates import exchanges, kind_of_swap


def made(text: str, sort: str) -> list[str]:
    return [each.candidate.text for each in exchanges(Caption(text)) if SORTS[each.pair.sort] == sort]


@pytest.mark.parametrize(
    ("text", "sort", "swapped"),
    [
        ("A man in a red shirt and black pants", "quality", "A man in a black shirt and red pants"),
        (
            "A black and white van follows a red car",
            "quality",
            "A red van follows a black and white car",
        ),
        ("A large black dog chases a small brown dog", "quality", "A large brown dog chases a small black dog"),
        ("A large black dog chases a small brown dog", "quality", "A small black dog chases a large brown dog"),
        ("A brown and white dog on a gray couch", "quality", "A brown and gray dog on a white couch"),
        ("A white shirt and striped pants", "quality", "A striped shirt and white pants"),
        ("A black goat next to two white goats", "quality", "A white goat next to two black goats"),
        ("A dark blue car beside an orange bus", "quality", "An orange car beside a dark blue bus"),
        ("A girl in pink and a man in black paddle", "quality", "A girl in black and a man in pink paddle"),
        ("A man feeding two horses", "number", "Two men feeding a horse"),
        ("Two people are sitting near an old bench", "number", "A person is sitting near two old benches"),
        ("A group of people next to an elephant", "number", "A person next to a group of elephants"),
        ("A couple of men are walking past a bus", "number", "A man is walking past several buses"),
        ("There are people that are flying a kite", "number", "There is a person that is flying kites"),
        ("A giraffe standing near trees", "number", "Giraffes standing near a tree"),
        ("A woman and three children at a table", "number", "Three women and a child at a table"),
        ("A large cow next to two small cows", "number", "Two large cows next to a small cow"),
        ("A dog watches a cat", "noun", "A cat watches a dog"),
        ("An elephant follows a dog", "noun", "A dog follows an elephant"),
        ("Two dogs and a cat on a bed", "noun", "Two cats and a dog on a bed"),
        ("Dogs chase a cat", "noun", "Cats chase a dog"),
    ],
)
def test_what_changes_places(text: str, sort: str, swapped: str) -> None:
    assert swapped in made(text, sort)


@pytest.mark.parametrize(
    ("text", "sort"),
    [
        ("A dog on the top of a hill", "noun"),  # "top" is nothing
        ("A man parks a car", "noun"),  # a car parks a man
        ("A red car beside a red bus", "quality"),
        ("Two dogs and two cats", "number"),
        ("Two boys near a field", "number"),  # two fields
        ("People sitting on a bench", "number"),  # a person on benches
        ("A tower with four clocks", "number"),
        ("A goat in the midst of some cars", "number"),
        ("A goat next to two cars by himself", "number"),
        ("A dog", "phrase"),
        ("A man with two dogs is running", "number"),  # is, are
        ("A man watches as two dogs run", "number"),
        ("A MAN FEEDS TWO HORSES", "number"),
        ("Two men working on a car together", "number"),
        ("A woman on a slope with skis", "number"),  # with a ski
        ("A man and woman near two dogs", "number"),  # two men and woman
        ("A man on a skateboard next to two dogs", "number"),  # two men on a skateboard
        ("Two people hugging next to a bus", "number"),
        ("A man riding a horse and some cows", "number"),  # riding horses
        ("A bowl filled with an apple and oranges", "number"),
        ("A man on a horse near people", "number"),
        ("A brown cat on a green pillow", "quality"),
        ("A white car at a red traffic light", "quality"),
        ("A beige couch and a tan chair", "quality"),
        ("A nice pink shirt with a pink tie", "quality"),  # a nice pink tie
        ("A bus near parked cars", "number"),  # parked a car
        ("A scissors beside lamps", "noun"),
        ("An orange next to a red apple", "quality"),
        ("A girl in a white dress stands next to a girl in a blue dress", "quality"),  # the same both ways
        ("A rhino is near an elephant", "noun"),
        ("Two girls pass two boys", "noun"),
        ("A girl in a green shirt with black hair", "quality"),
        ("A cat looks at a group of pigeons", "noun"),
        ("Two women hold a tray with a picture on it", "number"),  # it
    ],
)
def test_what_does_not(text: str, sort: str) -> None:
    assert made(text, sort) == []


def test_a_person_and_people_are_one_word_to_the_checks() -> None:
    caption = Caption("Three people flying a kite in the air")
    (each,) = [each for each in exchanges(caption) if SORTS[each.pair.sort] == "number"]
    assert each.candidate.text == "A person flying three kites in the air"
    assert small_edit(caption, each.candidate) is None


def test_no_word_comes_twice_and_each_of_several_has_one() -> None:
    assert made("A white and black cat on a white chair", "quality") == ["A white cat on a white and black chair"]
    assert "People holding a racket near a bush" not in made("A person holding a racket near bushes", "number")


def test_a_pair_says_what_it_puts_where() -> None:
    text = "A man in a red shirt and black pants"
    (each,) = [each for each in exchanges(Caption(text)) if SORTS[each.pair.sort] == "quality"]
    assert [text[slice(*span)] for span in (each.pair.first, each.pair.second)] == ["red", "black"]
    assert (each.pair.into_first, each.pair.into_second) == ("black", "red")
    assert each.candidate.edit.op == "swap" and each.candidate.edit.target == "attribute"


def test_every_swap_is_of_the_words_of_the_caption_or_their_number() -> None:
    text = "Two young men in green shirts throw a ball to a small dog on the grass"
    found = list(exchanges(Caption(text)))
    assert {SORTS[each.pair.sort] for each in found} >= {"quality", "noun"}
    for each in found:
        assert each.candidate.text != text
        if SORTS[each.pair.sort] in {"quality", "phrase"}:
            assert sorted(each.candidate.text.lower().split()) == sorted(text.lower().split()), each


def test_a_swap_of_numbers_has_the_words_by_which_it_is_calibrated() -> None:
    def kinds(text: str) -> list[str]:
        return [kind_of_swap(each) for each in exchanges(Caption(text)) if SORTS[each.pair.sort] == "number"]

    assert made("A cat on a bench next to two mugs", "number") == ["Two cats on a bench next to a mug"]
    assert kinds("A man feeding two horses") == ["swap number two doing"]
    assert kinds("A giraffe standing near trees") == ["swap number bare"]
    assert kinds("A woman with three dogs") == ["swap number own"]
    assert kinds("Three women next to a dog") == ["swap number"]
    assert accepted("swap number two", 0.8) > accepted("swap number", 0.8) > accepted("swap number doing", 0.8)


def test_a_number_that_another_caption_sees_otherwise_stays() -> None:
    text = "A man is taking a stroll with two dogs"
    assert made(text, "number") == ["Two men are taking a stroll with a dog"]
    others = Caption(text, ("Two men with dogs",))
    assert [each for each in exchanges(others) if SORTS[each.pair.sort] == "number"] == []


def test_no_new_number_that_another_caption_tells() -> None:
    others = ("Some buses in the rain",)
    assert not [e for e in exchanges(Caption("Two people next to a bus", others)) if SORTS[e.pair.sort] == "number"]
