"""Items that texts alone decide: same words, forced ties, doubled items, contradictions."""

from __future__ import annotations

from pathlib import Path

import pytest

from equipoise.benchmarks import negclip, registry
from equipoise.benchmarks.ceilings import Ceilings, as_read, ceilings
from equipoise.benchmarks.check import check
from equipoise.data.items import ImageRef, Item, texts

sugarcrepe = registry.get("sugarcrepe")


def item(name: str, caption: str, negatives: list[str], positives: tuple[str, ...] = (), image: str = "") -> Item:
    return Item(
        id=name,
        image=ImageRef(path=image or f"{name}.jpg"),
        caption=caption,
        positives=texts(*positives),
        negatives=texts(*negatives),
    )


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("A  Dog.", "a dog .", True),  # case, white space, and the space before a sign
        ("a dog's &amp; cat", "a dog 's & cat", True),
        ("12 dogs", "1 2 dogs", True),  # digits are single tokens
        ("a dog", "a dogs", False),
        ("a dog.", "a dog", False),
        ("ice-cream", "ice cream", False),
    ],
)
def test_texts_that_clip_cannot_tell_apart(first: str, second: str, same: bool) -> None:
    assert (as_read(first) == as_read(second)) is same


def test_each_kind_is_counted() -> None:
    found = ceilings(
        [
            item("order", "a dog on a cat", ["a fish", "a cat on a dog"]),
            item("tie", "A dog", ["a  dog"]),
            item("by-positive", "a red car", ["the car is red"], ("the red is car",)),
            item("plain", "a dog", ["a cat"], ("a puppy",)),
            item("again", "a dog", ["a cat"], ("a puppy",), image="plain.jpg"),
            item("lie", "a cat", ["a fish"], image="plain.jpg"),
            item("not compared", "a tree", [], ("the tree",)),  # no share is of it, so no ceiling either
        ]
    )
    assert found == Ceilings(
        items=6,
        with_positives=3,
        same_words=2,  # order, and tie, which no model of the kind can win either
        same_words_augmented=1,
        forced_ties=1,
        forced_ties_augmented=0,
        duplicates=1,
        contradictions=1,  # "a cat" of plain.jpg
    )
    assert found.best_original == pytest.approx(5 / 6)
    assert found.best_original_without_order == pytest.approx(4 / 6)
    assert found.best_augmented_without_order == pytest.approx(2 / 3)
    line = found.line()
    assert "2 of 6 captions with the words of a negative: without word order at most 66.7 (Augmented 66.7)" in line
    assert "1 forced ties" in found.line()


def test_nothing_is_said_in_words() -> None:
    assert ceilings([item("a", "a dog", ["a cat"])]).line().startswith("no same-word pairs")


def test_an_item_does_not_contradict_itself_but_another_does() -> None:
    assert ceilings([item("tie", "a dog", ["a dog"])]).contradictions == 0
    both = [item("a", "a dog", ["a dog"], image="x.jpg"), item("b", "a dog", ["a cat"], image="x.jpg")]
    assert ceilings(both).contradictions == ceilings(both[::-1]).contradictions == 1


def test_the_counts_are_those_of_bench_check(samples: Path) -> None:
    for items in (sugarcrepe.load(samples / "sugarcrepe", []), negclip.load(samples / "negclip", [])):
        found = {finding.what.partition(" ")[0]: finding.count for finding in check(items).findings}
        counted = ceilings(items)
        assert found.get("forced", 0) == counted.forced_ties
        assert found.get("texts", 0) == counted.contradictions


def test_the_traps_of_whole_files(shared_data: Path, crepe_items: list[Item]) -> None:
    """CREPE: 11 + 25 + 20 forced ties of negate, 1 + 6 + 4 of swap; NegCLIP's negatives are its captions' words."""
    found = ceilings(crepe_items)
    assert (found.items, found.forced_ties, found.duplicates) == (11_888, 67, 1)
    swapped = ceilings(negclip.load(shared_data / "negclip", []))
    assert (swapped.items, swapped.same_words, swapped.forced_ties) == (4839, 4832, 11)
    pairs = ceilings(sugarcrepe.load(shared_data / "sugarcrepe", []))
    assert (pairs.same_words, pairs.forced_ties, pairs.duplicates) == (364, 0, 3)


def test_texts_that_are_the_same_up_to_the_models_cut_are_forced_ties() -> None:
    long = "a dog " * 90
    items = [
        Item(id="1", caption=long + "cat", positives=texts(long + "cup"), negatives=texts(long + "mat")),
        Item(id="2", caption="a dog " * 20 + "cat", negatives=texts("a dog " * 20 + "mat")),
    ]
    found = ceilings(items)
    assert (found.forced_ties, found.forced_ties_augmented) == (1, 1) and "1 forced ties" in found.line()
    assert ceilings(items, context=32).forced_ties == 2, "a model that reads less"
    assert ceilings(items, context=500).forced_ties == 0
