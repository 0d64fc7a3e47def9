"""Shortcuts on items whose giveaway is known, and on items that have none."""

from __future__ import annotations

import random

from equipoise.audit.checks import audit, reuse
from equipoise.audit.record import Shortcut
from equipoise.audit.shortcuts import LEAST, detector, shortcuts
from equipoise.data.items import ImageRef, Item, texts

THINGS = "dog cat bird cow horse sheep".split()


def items_with(count: int, give_away: bool) -> list[Item]:
    """Colours are exchanged at random, or red and blue always give way to scarlet (right) and green (wrong)."""
    rng = random.Random(0)
    found = []
    for number in range(count):
        thing = rng.choice(THINGS)
        colours = ["red", "blue", "green", "scarlet"]
        rng.shuffle(colours)
        old, right, wrong = (rng.choice(["red", "blue"]), "scarlet", "green") if give_away else colours[:3]
        found.append(
            Item(
                id=str(number),
                image=ImageRef(path=f"{number // 2}.jpg"),
                caption=f"one {old} {thing} here",
                positives=texts(f"one {right} {thing} here"),
                negatives=texts(f"one {wrong} {thing} here"),
            )
        )
    return found


def named(items: list[Item]) -> dict[str, Shortcut]:
    return {one.name: one for one in shortcuts(items)}


def test_a_giveaway_is_found_by_words_by_the_table_and_by_the_detector() -> None:
    items = items_with(300, True)
    found = named(items)
    for name in ("words_negatives", "direction_negatives", "words_positives", "direction_positives", "substitution"):
        assert found[name].result.share > 0.99, name
        assert found[name].result.interval[0] > 0.95, name
    assert found["substitution"].seen == 1.0 and found["substitution"].result.n == 600
    assert found["length_positives"].result.share == 1.0, "scarlet is longer than red and blue"
    assert found["substitution"].examples[0].said.split(", ")[0] in {
        f"{old!r} -> {new!r}" for old in ("red", "blue") for new in ("green", "scarlet")
    }
    judged = detector(items)
    assert judged is not None
    assert (judged.captions.share, judged.negatives.share) == (0.0, 1.0)
    assert judged.captions.interval[1] > 0, "no certainty from a sample"


def test_what_balanced_made_is_not_advised_to_be_made_by_balanced() -> None:
    items = items_with(60, True)
    (advice,) = {one.fix for one in shortcuts(items) if "balanced" in one.fix}
    assert "(recipe `balanced`), or drop" in advice
    made = [item.model_copy(update={"tags": {"recipe": "own,balanced"}}) for item in items]
    (advice,) = {one.fix for one in shortcuts(made) if "balanced" in one.fix}
    assert "(recipe `balanced`)" not in advice and "--recipe balanced --refine words,frequency" in advice
    assert all(one.fix for one in shortcuts(made))


def test_nothing_is_found_where_nothing_is() -> None:
    items = items_with(600, False)
    found = named(items)
    for name in ("words_negatives", "direction_negatives", "words_positives", "substitution", "length_negatives"):
        low, high = found[name].result.interval
        assert low < 0.56 and high > 0.44, (name, found[name].result)
    judged = detector(items)
    assert judged is not None and abs(judged.positives.share - judged.captions.share) < 0.1


def test_the_table_never_sees_the_images_it_is_tested_on() -> None:
    """Every pair of words belongs to one image: learning by heart must not help."""
    items = [
        Item(
            id=f"{number}",
            image=ImageRef(path=f"{number // 4}.jpg"),
            caption=f"thing {number // 4}x",
            positives=texts(f"thing {number // 4}y"),
            negatives=texts(f"thing {number // 4}z"),
        )
        for number in range(200)
    ]
    found = named(items)
    assert found["substitution"].seen == found["direction_negatives"].seen == 0.0
    assert found["substitution"].result.share == 0.5


def test_a_capital_alone_says_nothing_of_the_words() -> None:
    items = [Item(id=str(n), caption=f"a {THINGS[n % 6]}", negatives=texts(f"A {THINGS[n % 6]}")) for n in range(60)]
    found = named(items)
    assert found["direction_negatives"].result.share == 0.5
    assert found["words_negatives"].result.share > 0.9, "but the capital gives the text away"


def test_too_few_pairs_give_no_number() -> None:
    assert shortcuts(items_with(LEAST - 1, True)) == [] and detector(items_with(LEAST - 1, True)) is None


def test_the_use_of_images() -> None:
    items = [
        *(Item(id=f"a{n}", image=ImageRef(path="a.jpg"), caption="x", negatives=texts("y")) for n in range(3)),
        Item(id="b", image=ImageRef(path="b.jpg"), caption="x", negatives=texts("y")),
        Item(id="c", caption="x", negatives=texts("y")),
    ]
    found = reuse(items)
    assert found is not None
    assert (found.items, found.images, found.most, found.most_of_caption) == (4, 2, 3, 3)
    assert (found.effective, found.design_effect) == (1.6, 2.5)
    assert [(e.id, e.said) for e in found.examples] == [("a0", "a.jpg: 3 items")]
    assert reuse(items[-1:]) is None


def test_a_sample_is_drawn_by_seed_and_said() -> None:
    items = items_with(300, True)
    one, again, other = (audit(items, "x", seed=seed, sample=100) for seed in (0, 0, 1))
    assert one == again and one.sample == 100 and one.items == 300
    assert [s.examples for s in one.shortcuts] != [s.examples for s in other.shortcuts]
    assert audit(items, "x").sample == 300
