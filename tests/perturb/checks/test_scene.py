"""Negatives that a reading found true or absurd for the rest of the caption, or for the other captions."""

from __future__ import annotations

import pytest

from equipoise.perturb import Caption, get_recipe
from equipoise.perturb.candidate import edited
from equipoise.perturb.checks import agreed, deed_fits, looks_agreed, scene_fits
from equipoise.perturb.recipe import Check


def reason(check: Check, text: str, old: str, new: str, target: str, *others: str) -> str | None:
    start = text.index(old)
    span = (start, start + len(old))
    written = text[:start] + new + text[span[1] :]
    candidate = edited(text, "negative", "replace", target, span, new, "lexicon", written)  # type: ignore[arg-type]
    return check(Caption(text, others), candidate)


def test_balanced_asks_all_three() -> None:
    assert {looks_agreed, scene_fits, deed_fits} <= set(get_recipe("balanced").checks)


def test_a_changed_size_needs_a_caption_that_says_the_same() -> None:
    text = "A large pot on a stove"
    assert reason(looks_agreed, text, "large", "small", "attribute", "A pot of noodles") is not None
    assert reason(looks_agreed, text, "large", "small", "attribute", "A big pot of noodles") is None
    assert reason(looks_agreed, text, "large", "small", "attribute", "A big pot", "A small pot") is not None


def test_an_added_size_needs_two_that_say_the_opposite() -> None:
    text = "An elephant in a field"
    large = "A large elephant"
    assert reason(looks_agreed, text, "elephant", "small elephant", "attribute", large, "An elephant") is not None
    assert reason(looks_agreed, text, "elephant", "small elephant", "attribute", large, "The huge elephant") is None
    assert reason(looks_agreed, "A dog", "dog", "small dog", "attribute", "A large dog", "A dog") is None


def test_a_child_is_made_a_teenager_only_where_it_is_little() -> None:
    text = "A boy sits on a bench"
    assert reason(looks_agreed, text, "boy", "teenage boy", "attribute", "A young boy sits") is not None
    assert reason(looks_agreed, text, "boy", "teenage boy", "attribute", "A little boy sits") is None
    seat = "A boy sits in a car seat"
    assert reason(looks_agreed, seat, "boy", "teenage boy", "attribute", "A little boy sits") is not None


def test_many_colours_hold_the_new_one_too() -> None:
    text = "A dog with a blue ball"
    assert reason(looks_agreed, text, "blue", "red", "attribute", "A dog with a colorful ball") is not None
    assert reason(looks_agreed, text, "blue", "red", "attribute", "A striped ball and a dog") is not None
    assert reason(looks_agreed, text, "blue", "red", "attribute", "A striped cat looks at a dog with a ball") is None
    assert reason(looks_agreed, "A man in a red striped hat", "red", "blue", "attribute", "A man") is not None


@pytest.mark.parametrize(
    ("text", "old", "new", "stands"),
    [
        ("A player talks to the coach", "coach", "van", "A coach is parked on the road"),
        ("A waiter smiles at a pitcher", "pitcher", "bowl", "A pitcher of water beside a glass"),
        ("Cars wait at a light", "Cars", "Vans", None),
        ("A room with chairs, a sofa and tables", "tables", "shelves", None),
        ("A picture of a desk", "picture", "drawing", None),
        ("A clock on a post", "clock", "sign", None),
        ("A dog leaps after a frisbee", "dog", "cat", "A dog sleeps on a bed"),
        ("A dog runs through a puddle", "dog", "cat", "A dog lies on a couch"),
        ("A gull on a beach with a low tide", "on a beach", "in a field", "A gull on a beach"),
        ("People walk down a street beside the beach", "down a street", "down a hallway", "People walk down a street"),
        ("A kayak on the river passes a bridge", "on the river", "on the beach", "A boat on the river"),
        ("A boy jumps into the water", "water", "sand", "A boy stands in the water"),
        ("A boy jumps from a cliff to the snow", "snow", "grass", "A boy in the snow"),
        ("A man in shorts is surfing", "shorts", "jeans", "A man in shorts is walking"),
        ("A skateboarder skating on a ledge", "skateboarder", "cyclist", "A skateboarder on a ledge"),
        ("A woman takes a picture of herslf", "woman", "man", "A woman takes a picture of a herd"),
        ("A waffle with a banana", "waffle", "pizza", "A waffle with cheese"),
        ("A man reading a newspaper", "newspaper", "phone", "A man holding a newspaper"),
        ("A polar bear on the ice", "polar bear", "tiger", "A polar bear on a rock"),
    ],
)
def test_a_new_thing_goes_with_the_rest(text: str, old: str, new: str, stands: str | None) -> None:
    assert reason(scene_fits, text, old, new, "object", "Another") is not None
    if stands:
        first = old.capitalize() if old.capitalize() in stands else old
        assert reason(scene_fits, stands, first, new, "object", "Another") is None


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [("A sled on a snowy trail", "snowy", "paved"), ("A kid getting wet", "wet", "dry")],
)
def test_a_new_ground_or_state_goes_with_the_rest(text: str, old: str, new: str) -> None:
    assert reason(scene_fits, text, old, new, "attribute") is not None
    assert reason(scene_fits, "A snowy trail and a wet dog", old, new, "attribute") is None


@pytest.mark.parametrize(
    ("text", "old", "new", "stands"),
    [
        ("A man swings at a tennis ball", "swings at", "watches", None),
        ("People are eating food", "eating", "reaching for", "Dogs are eating food"),
        ("Men posing and holding cans", "holding", "reaching for", "Men holding cans"),
        ("A man riding a bike wearing a hat", "wearing", "holding", "A man standing there wearing a hat"),
        ("A boy jumping over a bush on a skateboard", "jumping over", "walking around", "A boy jumping over a bush"),
        ("Two boys jump into a pool", "jump", "stand", "Two boys jump near a pool"),
        ("A woman being lifted plays volleyball", "plays", "watches", "A woman plays volleyball"),
        ("A baseball player running on a field", "running", "standing", "A man running on a field"),
        ("A man sits at a booth with a fork", "sits", "jumps", "A man sits on the ground"),
        ("People walk down a sidewalk", "walk down", "drive down", "People walk down a road"),
        ("A man petting an elephant's head", "petting", "chasing", "A man petting an elephant"),
    ],
)
def test_a_new_action_goes_with_the_rest(text: str, old: str, new: str, stands: str | None) -> None:
    assert reason(deed_fits, text, old, new, "action") is not None
    if stands:
        assert reason(deed_fits, stands, old, new, "action") is None


def test_a_pace_is_not_changed_where_another_caption_says_it() -> None:
    text = "A dog walking through a river"
    assert reason(deed_fits, text, "walking", "running", "action", "A dog is trotting") is not None
    assert reason(deed_fits, text, "walking", "running", "action", "A dog is walking") is None


def test_the_others_may_see_the_other_sex() -> None:
    text, others = "A girl on a pole", ("A man on a pole", "A woman on a pole", "A girl")
    assert reason(agreed, text, "girl", "boy", "object", *others) is not None
    assert reason(agreed, text, "girl", "boy", "object", *others[1:], "A person") is None


def test_what_is_ridden_is_not_ridden_beside() -> None:
    assert reason(deed_fits, "Men driving on their motorcycles", "on", "beside", "relation") is not None
    assert reason(deed_fits, "Men standing on their motorcycles", "on", "beside", "relation") is None
