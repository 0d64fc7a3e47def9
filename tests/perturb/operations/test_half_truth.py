"""Half-truths: the caption stays whole, the detail is named by no caption, the control is named by another."""

from __future__ import annotations

import json
import random
from pathlib import Path

from equipoise.perturb import Caption, get_recipe, perturb_caption
from equipoise.perturb.operations.papers import add_false_detail, add_true_detail

RECIPE = get_recipe("half_truth")


def false_details(text: str, *others: str) -> list[str]:
    found = add_false_detail(Caption(text, others), (), random.Random(0))
    return [(candidate.edit.to or "").split()[1] for candidate in found]


def test_the_caption_stays_and_its_end_too() -> None:
    result = perturb_caption(RECIPE, Caption("A man riding a wave on a board. "))
    (negative,) = result.negatives
    assert negative.text.startswith("A man riding a wave on a board, with a")
    assert negative.text.endswith(" in view. ")
    assert (negative.edit.op, negative.edit.target, negative.edit.source) == ("add", "object", "")


def test_articles_fit() -> None:
    made = {c.text for c in add_false_detail(Caption("A red car"), (), random.Random(0))}
    assert "A red car, with an elephant in view" in made and "A red car, with a dog in view" in made


def test_nothing_is_added_that_a_caption_names_under_any_name() -> None:
    assert "dog" in false_details("A man on a road.")
    assert "dog" not in false_details("A man on a road.", "A man with two dogs.")
    assert "dog" not in false_details("A man and his terrier on a road.")
    animals = {"dog", "cat", "horse", "cow", "sheep", "zebra", "bear"}
    assert not animals & set(false_details("A man on a road.", "Some animal crosses the road."))


def test_what_goes_with_the_caption_comes_first() -> None:
    first = [
        next(iter(add_false_detail(Caption("A giraffe in a field."), (), random.Random(seed)))).edit.to
        for seed in range(20)
    ]
    assert {"a zebra", "an elephant"} & set(first)
    assert not {"a piano", "a bathtub", "a pizza"} & set(first)


def test_a_true_detail_is_anothers_word_and_not_the_same_thing_again() -> None:
    def true_details(text: str, *others: str) -> list[str]:
        return [c.text for c in add_true_detail(Caption(text, others), (), random.Random(0))]

    assert true_details("A man on a road.", "A man with two dogs.") == ["A man on a road, with a dog in view."]
    assert true_details("A man and his terrier.", "A man with a dog.") == []
    assert true_details("A man on a road.") == []


def test_real_captions_are_not_contradicted_by_a_caption_that_was_held_back(shared_data: Path) -> None:
    """Three other captions are known; the fifth, which is not, names the false detail in 2 of 2,500 photos."""
    rows = json.loads((shared_data / "coco" / "karpathy_test_first_half.json").read_text())[:400]
    contradicted = made = 0
    for row in rows:
        first, second, third, fourth, held, *_ = row["caption"]
        for negative in perturb_caption(RECIPE, Caption(first, (second, third, fourth))).negatives:
            made += 1
            contradicted += (negative.edit.to or "").split()[1] in Caption(held).words
    assert made == 400 and contradicted <= 2
