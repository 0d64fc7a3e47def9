"""Swaps around "and": the pairs of the Hard Positives paper (Appendix C), and where "and" is not symmetric."""

from __future__ import annotations

import random

import pytest

from equipoise.perturb import Caption
from equipoise.perturb.operations.swap_positive import swap_positive


def swaps(text: str) -> list[str]:
    return [candidate.text for candidate in swap_positive(Caption(text), (), random.Random(0))]


APPENDIX_C = [
    (
        "A cabinet setting with green vases and a wooden backboard",
        "A cabinet setting with a wooden backboard and green vases",
    ),
    ("A couch and a television in a room", "A television and a couch in a room"),
    (
        "An older gentleman in a white shirt and black bow tie",
        "An older gentleman in a black bow tie and white shirt",
    ),
    (
        "Two giraffes standing next to one another with trees and bushes near them",
        "Two giraffes standing next to one another with bushes and trees near them",
    ),
    (
        "a lady wearing snow skis and a man holding snow skis",
        "a man holding snow skis and a lady wearing snow skis",
    ),
    (
        "An adorable little girl wearing sunglasses and holding a stack of frisbee",
        "An adorable little girl holding a stack of frisbee and wearing sunglasses",
    ),
    ("three giraffes and two antelope", "two antelope and three giraffes"),
    (
        "a blue and white stained glass clock shows the time",
        "a white and blue stained glass clock shows the time",
    ),
    ("a mixture of rice and broccoli are put together", "a mixture of broccoli and rice are put together"),
    ("a bathroom with a sink, toilet and shower", "a bathroom with a sink, shower and toilet"),
    (
        "there is a man wearing glasses and holding a wine bottle",
        "there is a man holding a wine bottle and wearing glasses",
    ),
]


@pytest.mark.parametrize(("caption", "swapped"), APPENDIX_C)
def test_the_pairs_of_the_paper_come_out(caption: str, swapped: str) -> None:
    assert swaps(caption) == [swapped]


@pytest.mark.parametrize(
    ("caption", "swapped"),
    [
        ("An orange and a banana on a plate.", "A banana and an orange on a plate."),
        ("A cat and dog on a bed", "A dog and cat on a bed"),
        ("An umbrella and bag on a bench", "A bag and umbrella on a bench"),
        ("A hiker and dogs are walking", "Dogs and a hiker are walking"),
        ("A man in a suit and tie holding a cup", "A man in a tie and suit holding a cup"),
        ("a bridge between the house and the barn", "a bridge between the barn and the house"),
        ("People talking and standing in a kitchen", "People standing and talking in a kitchen"),
        ("A lemon, banana and an orange.", "A lemon, orange and a banana."),
    ],
)
def test_articles_and_shared_determiners(caption: str, swapped: str) -> None:
    assert swaps(caption) == [swapped]


@pytest.mark.parametrize(
    "caption",
    [
        "more and more people on a street",
        "a salt and pepper shaker on a table",
        "a salt-and-pepper beard",
        "a man walking back and forth",
        "a dog jumps up and catches a frisbee",  # one after the other
        "a man takes a plate and eats from it",
        "a white sink and toilet in a room",  # the colour may be shared
        "red apples and pears on a table",
        "an adult elephant and its child",  # points back
        "a man and his dog",
        "a couch and a chair with a pillow",  # whose pillow?
        "a bed and a lamp next to it",
        "a man on a horse and four cows in a field",  # the cows are not ridden
        "there is a dog and two cats",  # there is two cats
        "a black and white photo of a man",  # a fixed phrase
        "two dogs and cats",  # two of each?
        "a teddy bear and a teddy bear",
        "an adult and a baby zebra",  # the adult is a zebra too
        "some people and a man in a black shirt",
        "coffee with cream and a doughnut covered with chocolate",
        "a street with auto and pedestrian traffic",
    ],
)
def test_nothing_where_and_is_not_symmetric(caption: str) -> None:
    assert swaps(caption) == []
