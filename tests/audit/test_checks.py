"""All checks over made-up items: counts, shares, splits, kinds, examples."""

from __future__ import annotations

from equipoise.audit.checks import SHOWN, checks
from equipoise.audit.record import TextCheck
from equipoise.benchmarks.ceilings import ceilings
from equipoise.data.items import Edit, ImageRef, Item, Text, texts


def item(
    name: str, caption: str, positives: tuple[str, ...] = (), negatives: tuple[str, ...] = (), **more: str
) -> Item:
    image = ImageRef(path=more.pop("image", f"{name}.jpg"))
    tags = {"split": more.pop("split", "one")}
    return Item(
        id=name, image=image, caption=caption, positives=texts(*positives), negatives=texts(*negatives), tags=tags
    )


def found(*items: Item) -> dict[str, TextCheck]:
    return {check.name: check for check in checks(items)}


FINE = item("fine", "a dog on a mat", ("a dog upon a mat",), ("a cat on a mat",))


def test_nothing_is_wrong_with_a_good_item() -> None:
    assert {name: check.count for name, check in found(FINE).items() if check.count} == {}
    assert found(FINE)["other_word"].share is None, "no edit is recorded, so nothing can be said"


def test_items_that_are_doubled_tied_or_contradict_each_other() -> None:
    items = [
        FINE,
        item("again", "A dog on a mat", ("a dog upon a mat",), ("a cat on a mat",), image="fine.jpg", split="two"),
        item("tie", "a cup", (), ("A  CUP",)),
        item("tie by positive", "a mug", ("a jar",), ("a jar",)),
        item("right", "a red bus", (), ("a blue bus",), image="bus.jpg"),
        item("wrong", "a blue bus", (), ("a green bus",), image="bus.jpg"),
        item("order", "a dog chases a cat", (), ("a cat chases a dog",)),
    ]
    checked = found(*items)
    assert [(e.id, e.said) for e in checked["duplicates"].examples] == [("again", "is fine again")]
    assert checked["duplicates"].by_split == {"two": 1}
    assert [e.id for e in checked["forced_ties"].examples] == ["tie", "tie by positive"]
    assert [e.id for e in checked["contradictions"].examples] == ["right"]
    assert [e.id for e in checked["same_words"].examples] == ["order"]
    counted = ceilings(items)
    assert checked["duplicates"].count == counted.duplicates
    assert checked["contradictions"].count == counted.contradictions
    assert checked["same_words"].count == counted.same_words - counted.forced_ties
    assert checked["forced_ties"].share == 2 / 7


def test_what_an_edit_broke_and_not_what_was_broken_before() -> None:
    checked = found(
        item("article", "a red cup", ("a orange cup",), ("a blue cup",)),
        item("was wrong", "a orange cup", ("a orange mug",), ("a blue cup",)),
        item("doubled", "a dog on a mat", (), ("a dog on on a mat",)),
        item("spaces", "a dog  on a mat", (), ("a cat on a mat",)),
        item("plural", "a shirt on a bed", (), ("a pants on a bed",)),
    )
    assert [(e.id, e.said) for e in checked["articles"].examples] == [("article", "'a orange': 'a orange cup'")]
    assert checked["articles"].by_kind == {"positives": 1}
    assert [e.id for e in checked["grammar"].examples] == ["doubled", "plural"]
    assert [e.id for e in checked["spaces"].examples] == ["spaces"]


def test_edits_are_judged_by_their_record_and_by_the_texts() -> None:
    edit = Edit(op="replace", source="wet", to="damp")
    bad = Item(
        id="bad",
        caption="wetsuit on smiling man",
        positives=(Text(text="dampsuit on smiling man", edit=edit),),
        negatives=texts("wetsuit on sad man"),
    )
    broken = item("broken", "man in front of car", ("man within front of car",), ("man out of front of car",))
    checked = found(bad, broken, item("near", "a small dog", ("a little dog",), ("a tiny dog", "a large dog")))
    assert [e.id for e in checked["sub_word"].examples] == ["bad"]
    assert (checked["other_word"].count, checked["other_word"].of, checked["other_word"].share) == (1, 1, 1.0)
    assert (checked["compounds"].count, checked["compounds"].by_kind) == (1, {"positives": 1, "negatives": 1})
    assert checked["near_synonyms"].by_kind == {"negatives": 1}


def test_five_examples_that_differ() -> None:
    many = [item(str(number), "a red cup", (), ("a orange cup",)) for number in range(9)]
    others = [item(f"x{word}", "a red cup", (), (f"a {word} cup",)) for word in "ivory old empty ugly iron icy".split()]
    check = found(*many, *others)["articles"]
    assert (check.count, len(check.examples)) == (15, SHOWN)
    assert [example.id for example in check.examples] == ["0", "xivory", "xold", "xempty", "xugly"]
    assert check.fix


def test_a_kind_that_other_captions_of_the_image_exclude_is_no_near_synonym() -> None:
    """Where they say "a golden retriever", "a poodle" is wrong of this dog; `perturb` writes down that they did."""
    for by, count in ((None, 1), ("lexicon", 1), ("captions", 0)):
        edit = Edit(op="replace", target="object", source="dog", to="poodle", by=by)
        negative = Text(text="a poodle by a pool", edit=edit)
        asked = item("dog", "a dog by a pool").model_copy(update={"negatives": (negative,)})
        assert found(asked)["near_synonyms"].count == count
