"""The text-only classifier: it finds what there is to find, and nothing where there is nothing."""

from __future__ import annotations

import math
import random
from itertools import product
from typing import Any

import numpy as np
import pytest

from equipoise.data.items import ImageRef, Item, texts
from equipoise.language.separability import Rows, fit, separability, words_of
from equipoise.perturb.bias.thinning import judge_named

NOUNS = "cat dog horse bird sheep cow bear zebra giraffe elephant".split()
COLORS = "red blue green black white brown gray pink".split()
PAIR = "originals / negatives"


def captions(n: int, seed: int) -> list[str]:
    """Two things with two colours: nothing in a text says whether it is true."""
    rng = random.Random(seed)
    wanted = list(product(COLORS, NOUNS, COLORS, NOUNS))
    return [f"a {a} {b} and a {c} {d}" for a, b, c, d in rng.sample(wanted, n)]


def pairs(n: int, spoil: Any = None, seed: int = 0) -> list[Item]:
    """Items whose negative is another true-looking caption, changed by `spoil`."""
    found = zip(captions(n, seed), captions(n, seed + 1), strict=True)
    return [
        Item(id=str(number), caption=text, negatives=texts(spoil(other) if spoil else other))
        for number, (text, other) in enumerate(found)
        if text != other
    ]


def accuracy(items: list[Item], question: str, pair: str = PAIR) -> float:
    found = separability(items)[pair]
    assert found is not None
    low, high = found[question]["interval"]
    assert low <= found[question]["accuracy"] <= high and low < high  # never certain
    return float(found[question]["accuracy"])


@pytest.mark.parametrize("question", ["unpaired", "paired"])
def test_nothing_to_find_is_chance(question: str) -> None:
    items = pairs(1000)
    found = separability(items)[PAIR]
    low, high = found[question]["interval"]
    assert low < 0.53 and high > 0.47
    assert abs(found[question]["accuracy"] - 0.5) < 0.05


@pytest.mark.parametrize(
    "spoil",
    [
        lambda text: text.replace(" and a", " as well as a"),
        lambda text: text + " .",
        lambda text: text[0].upper() + text[1:],
        lambda text: text.replace("a ", "an ", 1),
        lambda text: " ".join(reversed(text.split())),
    ],
    ids=["a word", "a blank before the full stop", "a capital", "an article", "the order"],
)
def test_what_gives_an_edit_away_is_found(spoil: Any) -> None:
    items = pairs(400, spoil)
    assert accuracy(items, "unpaired") > 0.95
    assert accuracy(items, "paired") > 0.95


def test_a_rare_sign_is_found_as_often_as_it_is_there() -> None:
    rng = random.Random(0)
    items = pairs(1000, lambda text: text.replace("and", "or") if rng.random() < 0.4 else text)
    assert 0.64 < accuracy(items, "unpaired") < 0.76
    assert 0.64 < accuracy(items, "paired") < 0.76


def test_paired_is_the_more_sensitive() -> None:
    """Every edit is one size larger than its caption: most sizes are on both sides, but never the wrong way round."""
    sizes = "tiny little small middling large huge vast".split()
    items = []
    for number, text in enumerate(captions(600, 0)):
        size = number % (len(sizes) - 1)
        texts_of = [text.replace("a ", f"a {sizes[place]} ", 1) for place in (size, size + 1)]
        items.append(Item(id=str(number), caption=texts_of[0], negatives=texts(texts_of[1])))
    assert accuracy(items, "paired") > 0.95
    assert accuracy(items, "unpaired") < 0.65


def test_captions_of_an_image_are_in_one_fold() -> None:
    """Each image has its own pair of sentences, repeated: with them in two folds anything could be learned by heart."""
    rng = random.Random(0)
    items = []
    for image in range(200):
        words = [f"w{image}{letter}" for letter in "abcd"]
        rng.shuffle(words)
        one, other = " ".join(words[:2]), " ".join(words[2:])
        for copy in range(4):
            items.append(
                Item(id=f"{image}-{copy}", image=ImageRef(path=f"{image}.jpg"), caption=one, negatives=texts(other))
            )
    assert accuracy(items, "unpaired") == pytest.approx(0.5, abs=0.06)


def test_positives_are_compared_too_and_too_few_say_nothing() -> None:
    items = [item.model_copy(update={"positives": texts("so " + item.caption)}) for item in pairs(200)]
    found = separability(items)
    assert found["originals / positives"]["paired"]["accuracy"] > 0.95
    assert found["positives / negatives"]["paired"]["accuracy"] > 0.95
    assert separability(items[:10]) == dict.fromkeys(found, None)
    assert separability([]) == dict.fromkeys(found, None)


def test_same_items_same_numbers() -> None:
    items = pairs(150, lambda text: text.replace("red", "crimson"))
    assert separability(items) == separability(items)


def test_fit_finds_the_optimum() -> None:
    """The slope of the penalised loss is zero where the steps end."""
    rng = np.random.default_rng(0)
    bags = words_of(captions(300, 5))
    matrix = Rows.of(bags)
    labels = (rng.random(300) < 0.5).astype(float)
    weights = fit(matrix, labels)
    residual = 1 / (1 + np.exp(-(matrix @ weights))) - labels
    slope = matrix.back(residual) + weights[:-1]
    assert np.abs(slope).max() < 0.15 and abs(residual.sum()) < 0.15
    assert np.abs(matrix.back(0.5 - labels)).max() > 5


@pytest.mark.parametrize("name", ["words", "length", "frequency"])
def test_blind_judges_prefer_what_looks_original(name: str) -> None:
    items = pairs(200, lambda text: text.replace("red", "carmine").replace("a ", "a positively ", 1))
    judge = judge_named(name, items, "negatives")
    scores = [judge(item, [item.caption, item.negatives[0].text]) for item in items]
    right = sum(original > edit for original, edit in scores)
    assert right > 0.9 * len(items)


def test_the_judge_of_words_has_not_learned_by_heart() -> None:
    """Where nothing tells an edit from an original, the judge prefers neither, although it was taught these items."""
    items = pairs(800)
    judge = judge_named("words", items, "negatives")
    right = sum(one > other for one, other in (judge(item, [item.caption, item.negatives[0].text]) for item in items))
    assert 0.43 < right / len(items) < 0.57


def test_the_judge_of_words_compares_a_caption_with_its_edit() -> None:
    """Red was the original's in three of four of 800 pairs: the odds of the pair are three, not three twice over."""
    words = ("red", "blue", "red", "red")
    items = [
        Item(
            id=str(n),
            caption=f"{words[n % 4]} {n}",
            negatives=texts(f"{'blue' if words[n % 4] == 'red' else 'red'} {n}"),
        )
        for n in range(800)
    ]
    judge = judge_named("words", items, "negatives")
    one, other = judge(items[0], ["red", "blue"])
    assert one - other == pytest.approx(math.log(3), abs=0.1)


def test_the_names_of_images_and_items_change_no_number() -> None:
    """The same captions as lines of text, or beside their images in a table: the told-apart percentages are equal."""
    plain = pairs(60, lambda text: text.replace("a ", "an ") if "cat" in text else text)
    named = [
        item.model_copy(update={"id": f"row {99 - place}", "image": ImageRef(path=f"photos/{place * 7}.jpg")})
        for place, item in enumerate(plain)
    ]
    assert separability(plain) == separability(named)
