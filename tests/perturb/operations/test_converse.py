"""Captions said the other way round: what each rule writes, and what it leaves alone."""

from __future__ import annotations

import random

import pytest

from equipoise.perturb import Caption, get_recipe, perturb_caption
from equipoise.perturb.operations.converse import converse_positive
from equipoise.perturb.recipe import Candidate, Refused
from equipoise.perturb.recipes import balanced


def _texts(text: str) -> dict[str, str]:
    """Text -> operation."""
    made = converse_positive(Caption(text), (), random.Random(0))
    return {each.text: each.edit.op for each in made if isinstance(each, Candidate)}


@pytest.mark.parametrize(
    ("caption", "op", "wanted"),
    [
        ("A dog chasing a cat.", "passive", "A cat being chased by a dog."),
        ("a nurse is holding a lantern", "passive", "a lantern is being held by a nurse"),
        ("Two farmers pull a cart up a hill.", "passive", "A cart is pulled up a hill by two farmers."),
        ("A clown in a hat feeding an otter", "passive", "An otter being fed by a clown in a hat"),
        ("A picture of a girl riding a camel", "passive", "A picture of a camel being ridden by a girl"),
        ("A barge being pulled by two horses.", "passive", "Two horses pulling a barge."),
        ("A square filled with pigeons", "passive", "Pigeons filling a square"),
        ("A goat with long horns standing on a cliff.", "inversion", "Standing on a cliff is a goat with long horns."),
        ("Six mugs lined up on a shelf", "inversion", "Lined up on a shelf are six mugs"),
        ("An owl on a barrel.", "converse", "A barrel with an owl on it."),
        ("An owl is sitting on a barrel.", "converse", "A barrel has an owl sitting on it."),
        ("A goat standing next to a woman", "converse", "A woman with a goat standing next to her"),
        ("A barrel with an owl sitting on it", "converse", "An owl sitting on a barrel"),
        ("A kitchen with a kettle and a stool.", "converse", "A kettle and a stool in a kitchen."),
        ("A desk that has two lamps", "converse", "Two lamps on a desk"),
        ("A desk with two stools", "converse", "Two stools at a desk"),
        ("A teapot next to a jug", "converse", "A jug next to a teapot"),
        ("A boy eating a pear while riding a donkey", "converse", "A boy riding a donkey while eating a pear"),
        ("An owl sitting on a barrel near a barn.", "inversion", "Sitting on a barrel near a barn is an owl."),
        ("There are three owls on the barrel", "inversion", "On the barrel are three owls"),
        ("A lamp stands on the floor.", "inversion", "On the floor stands a lamp."),
        ("A monk in a robe walking down a lane", "inversion", "Walking down a lane is a monk in a robe"),
        ("A monk wearing a hat sitting on a wall", "inversion", "Sitting on a wall is a monk wearing a hat"),
        ("A monk riding a donkey in a park", "fronting", "In a park, a monk is riding a donkey"),
        ("A monk feeds his donkey in a garden.", "fronting", "In a garden, a monk feeds his donkey."),
        ("Two monks rest side by side on a porch", "fronting", "On a porch, two monks rest side by side"),
        ("A girl sings as a boy plays a flute.", "fronting", "As a boy plays a flute, a girl sings."),
    ],
)  # fmt: skip
def test_the_same_is_said_the_other_way_round(caption: str, op: str, wanted: str) -> None:
    assert _texts(caption).get(wanted) == op


@pytest.mark.parametrize(
    "caption",
    [
        "A monk in a red robe",  # no place
        "A clerk on a phone",
        "A woman holding her baby",  # "her baby being held by a woman"
        "An owl next to another owl",
        "An owl that is not on a barrel",
        "A wave and a rock",
        "Woman on her way home",
        "A boy looking at a goat and a girl singing",
        "A chef with a knife",
        "A crowd watching a parade in the city center but no car",
        "Clock is on the way to a shop or a bank",
        "A street sign pointing to a lake",
        "A MONK ON A BARREL",
        "A terrier in a green collar",
        "Sat on it",
        "",
    ],
)
def test_what_is_not_sure_is_left_alone(caption: str) -> None:
    assert _texts(caption) == {}
    made = list(converse_positive(Caption(caption), (), random.Random(0)))
    assert all(isinstance(each, Refused) for each in made) and made


@pytest.mark.parametrize(
    ("caption", "never"),
    [
        ("The ferry is standing in the old harbour.", "is the ferry"),
        ("A goat with a cart standing on a cliff", "is a goat with a cart"),  # or the cart stands there
        ("A woman riding a scooter down a hill.", "being ridden"),
        ("A hydrant standing on a kerb with two spouts", "with two spouts is"),  # the hydrant has them
        ("People walking past a truck with a sign", "are people"),  # too little at the end
        ("Woman sitting on a bench in a park", "is woman"),  # a headline makes no sentence
        ("A man watching a boat in a park", "In a park, a man"),  # the boat is there
        ("A girl eating a pie on a bench", "by a girl on a bench"),  # or the pie is
        ("A photo of a goat standing on a hill", "is a photo"),
        ("A goat in a shed standing on the straw", "In a shed is"),
        ("the goat sits on a bench", "has the goat"),
        ("A woman is cooking on a stove", "has a woman"),
        ("A monk holding a pear wrapped in a cloth", "is a monk"),
        ("A monk holding a jug on a bench", "A bench with"),
        ("A vase with a fern on a table", "in a vase"),  # the vase is on it
        ("A picture of a pear and a plum on a table", "with a picture"),
        ("A llama walks around a fenced in area", "In area"),
        ("A woman feeds ducks in a pond", "In a pond, a woman"),  # the ducks are there
        ("A man holds a photo of a boat in the ocean", "In the ocean, a man"),
        ("A man is reading a book about bears in the wilderness", "In the wilderness, a man"),
        ("A child is feeding a giraffe in an enclosure", "In an enclosure, a child"),
        ("A desk with two stools", "on a desk"),
        ("A table with stools and a jug", "on a table"),
        ("A bed with a nightstand", "on a bed"),
    ],
)
def test_words_that_belong_together_stay_together(caption: str, never: str) -> None:
    assert not [text for text in _texts(caption) if never in text]


def test_the_balanced_recipe_writes_converses() -> None:
    made = perturb_caption(get_recipe("balanced"), Caption("A dog chasing a cat."))
    assert "A cat being chased by a dog." in [each.text for each in made.positives]
    made = perturb_caption(balanced(0.88), Caption("A dog chasing a cat on the grass"))
    assert "A cat chasing a dog on the grass" in [each.text for each in made.negatives]
