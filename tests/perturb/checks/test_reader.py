"""The learned reader: what strict readers would not pass is dropped, with what they would say."""

from __future__ import annotations

import numpy as np
import pytest

from equipoise.items import Edit, Target
from equipoise.perturb import Candidate, Caption, checks, get_recipe, perturb_caption
from equipoise.perturb.checks.reader import LEAST, both, chances_of


def made(text: str, old: str, new: str, target: Target = "object") -> Candidate:
    start = text.index(old)
    edit = Edit(op="replace", target=target, source=old, to=new, by="lexicon", span=(start, start + len(old)))
    return Candidate(text.replace(old, new), "negative", edit, attested=True)


@pytest.mark.parametrize(
    ("text", "old", "new", "target"),
    [
        ("A man riding a horse on a beach", "man", "woman", "object"),
        ("A brown dog runs through the grass", "grass", "snow", "object"),
        ("A man in a red shirt plays a guitar", "red", "blue", "attribute"),
    ],
)
def test_what_readers_pass_is_kept(text: str, old: str, new: str, target: Target) -> None:
    others = (text, text.replace("A ", "The "))
    assert checks.reader(Caption(text, others), made(text, old, new, target)) is None


@pytest.mark.parametrize(
    ("text", "old", "new", "target"),
    [
        ("A bowl of soup with a spoon in it", "spoon", "knife", "object"),
        ("A tourist riding an elephant", "elephant", "giraffe", "object"),
        ("A birthday cake on a table", "table", "bed", "object"),
    ],
)
def test_what_they_found_absurd_is_not(text: str, old: str, new: str, target: Target) -> None:
    told = checks.reader(Caption(text), made(text, old, new, target))
    assert told is not None and told.startswith("a reader")


def test_the_other_captions_count() -> None:
    """A man whom the others call a man is no woman; of one whom nobody else names less is sure."""
    text = "A man riding a horse on a beach"
    alone, agreed = (Caption(text, others) for others in ((), ("a man on a horse", "a man rides a horse")))
    edit = made(text, "man", "woman")
    assert chances_of(agreed, edit)[1] < chances_of(alone, edit)[1]


def test_only_replace_negatives_are_read() -> None:
    text = "A birthday cake on a table"
    absurd = made(text, "table", "bed")
    assert checks.reader(Caption(text), absurd._replace(kind="positive")) is None
    swap = absurd._replace(edit=absurd.edit.model_copy(update={"op": "swap"}))
    assert checks.reader(Caption(text), swap) is None


def test_chances_are_chances_and_the_same_every_time() -> None:
    caption, edit = Caption("A dog", ("A cat",)), made("A dog", "dog", "xylophonist")
    first = chances_of(caption, edit)
    assert first.shape == (4,) and abs(first.sum() - 1) < 1e-12 and (first >= 0).all()
    assert np.array_equal(first, chances_of(Caption("A dog", ("A cat",)), edit))


def test_balanced_keeps_nothing_below_the_least() -> None:
    for text in ("A man in a red shirt rides a horse", "Two dogs play with a ball on the grass"):
        caption = Caption(text)
        for each in perturb_caption(get_recipe("balanced"), caption).negatives:
            if each.edit.op == "replace":
                assert both(chances_of(caption, each), caption, each) >= LEAST[str(each.edit.target)] - 1e-4


def test_the_lenient_reader_lets_more_pass_and_not_all() -> None:
    kept = {"reader": 0, "lenient_reader": 0}
    for text in ("A man riding a horse on a beach", "A dog on a couch", "A cup on a table", "Two boys play in a park"):
        for word in ("woman", "cat", "bowl", "girls", "street", "cow", "bed", "pool"):
            old = text.split()[1]
            for name in kept:
                kept[name] += getattr(checks, name)(Caption(text), made(text, old, word)) is None
    assert 0 < kept["reader"] < kept["lenient_reader"] < 32
