"""What the captions of a photo do not agree on is not made false: numbers, food, man or woman, where something is."""

from __future__ import annotations

import pytest

from equipoise.perturb import Caption, get_recipe, perturb_caption
from equipoise.perturb.candidate import edited
from equipoise.perturb.checks import agreed


def reason(text: str, old: str, new: str, target: str, *others: str) -> str | None:
    start = text.index(old)
    span = (start, start + len(old))
    written = text[:start] + new + text[span[1] :]
    candidate = edited(text, "negative", "replace", target, span, new, "lexicon", written)  # type: ignore[arg-type]
    return agreed(Caption(text, others), candidate)


def test_a_number_needs_another_caption_that_gives_it() -> None:
    text = "Two jets are on the tarmac"
    assert reason(text, "Two", "Three", "attribute", "Several jets on a tarmac") is not None
    assert reason(text, "Two", "Three", "attribute", "A pair of jets on a tarmac") is None
    assert reason(text, "Two", "Three", "attribute") is None


@pytest.mark.parametrize("text", ["An airplane with four engines", "A bedroom with a four poster bed"])
def test_a_set_number_stays(text: str) -> None:
    assert reason(text, "four", "two", "attribute", "There are four of them") is not None


def test_what_the_others_see_otherwise_is_not_replaced() -> None:
    text = "A girl eating ice cream"
    assert reason(text, "ice cream", "bread", "object", "A girl eats an apple", "A child eats") is not None
    assert reason(text, "ice cream", "bread", "object", "A girl eats ice cream", "An apple and a child") is None
    assert reason(text, "ice cream", "bread", "object", "A girl", "A child") is None


def test_man_and_woman_need_another_caption_that_tells() -> None:
    text = "A man holds a cigarette"
    silent = ("Hands of several people", "Legs of people smoking", "No faces are shown")
    assert reason(text, "man", "woman", "object", *silent) is not None
    assert reason(text, "man", "woman", "object", *silent[:2], "He smokes") is None


def test_a_child_is_no_man_only_where_it_is_called_one() -> None:
    text = "A kid does a trick on a bike"
    assert reason(text, "kid", "man", "object", "A teenage boy on a bike", "A rider") is not None
    assert reason(text, "kid", "man", "object", "A little boy on a bike", "A rider") is None


def test_where_something_is_may_be_told_otherwise() -> None:
    text = "Two people walking across a street"
    assert reason(text, "across", "along", "relation", "Two boys walking down a snowy street") is not None
    assert reason(text, "across", "along", "relation", "Two boys crossing a street") is None


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        ("A bunch of cows standing around, grazing on grass", "grazing on", "lying on"),
        ("A man teaching a boy how to ride a scooter", "ride", "fall off"),
        ("The men take a break from riding their skateboards", "riding", "falling off"),
        ("People are walking small dogs near a tent", "walking", "running"),
        ("A dog jumps high while outside", "jumps", "sits"),
        ("A man holding a child and a phone", "holding", "waving at"),
        ("A dog holding a stick running in the sand", "holding", "jumping over"),
    ],
)
def test_actions_are_replaced_where_they_are_plain(text: str, old: str, new: str) -> None:
    assert reason(text, old, new, "action") is not None


def test_plain_actions_pass() -> None:
    assert reason("A dog runs through the grass", "runs through", "lies in", "action") is None
    assert reason("A man holding a child", "holding", "waving at", "action") is None


@pytest.mark.parametrize(
    ("text", "others", "absurd"),
    [
        ("Two dogs play in a field of tall grass", (), "beach of"),
        ("A blueish green car on a road", (), "blueish brown"),
        ("A dog with a white tail", (), "green tail"),
        ("A person hiking up a trail", ("A hiker on a path",) * 3, "biker"),
        ("A white dog in a yard", (), "orange dog"),
        ("An unmade bed with remotes on it", (), "unmade chair"),
    ],
)
def test_balanced_makes_none_of_what_readers_failed(text: str, others: tuple[str, ...], absurd: str) -> None:
    recipe, caption = get_recipe("balanced"), Caption(text, others)
    made = {each.text.lower() for seed in range(12) for each in perturb_caption(recipe, caption, seed).negatives}
    assert not any(absurd in each for each in made)


def test_what_a_role_has_speaks_for_it() -> None:
    text = "A skier and her child in the snow"
    assert reason(text, "skier", "skier", "object", "A woman and a child are skiing", "A slope") is not None
    assert reason(text, "skier", "skier", "object", "A woman and a child on a slope", "A slope") is None
