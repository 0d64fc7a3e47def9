"""The learned net's chances for edits that readers passed or found absurd, and why the other captions count."""

from __future__ import annotations

import numpy as np
import pytest

from equipoise.language.vocabulary import Section
from equipoise.perturb import Caption
from equipoise.perturb.dial import Dial
from equipoise.perturb.judge import VERDICTS, Reading, readings_of, words_of_others
from equipoise.perturb.judge import chances as judged
from equipoise.perturb.recipe import Proposal


def chances(text: str, old: str, new: str, target: Section = "object", others: tuple[str, ...] = ()) -> np.ndarray:
    start = text.index(old)
    edit = Proposal(start, start + len(old), new, target, "lexicon", 1.0)
    return Reading(Caption(text, others)).chances([edit])[0]


@pytest.mark.parametrize(
    ("text", "old", "new", "target"),
    [
        ("A man riding a horse on a beach", "man", "woman", "object"),
        ("A brown puppy runs through the grass", "grass", "snow", "object"),
        ("A man in a red shirt plays a guitar", "red", "blue", "attribute"),
    ],
)
def test_what_readers_pass_is_likely(text: str, old: str, new: str, target: Section) -> None:
    assert chances(text, old, new, target, (text, text.replace("A ", "The ")))[0] >= Dial(0.92).least(target)


@pytest.mark.parametrize(
    ("text", "old", "new", "worst"),
    [
        ("A bowl of soup with a spoon in it", "spoon", "knife", 2),
        ("A tourist riding an elephant", "elephant", "giraffe", 2),
        ("A birthday cake on a table", "table", "bed", 2),
        ("A man walks his dog in the park", "man", "person", 1),
        ("A dog on a couch", "dog", "water", None),
    ],
)
def test_what_they_failed_is_not_and_why(text: str, old: str, new: str, worst: int | None) -> None:
    found = chances(text, old, new)
    assert found[0] < 0.8
    if worst is not None:
        assert int(np.argmax(found[1:])) + 1 == worst, VERDICTS[worst]


def test_the_other_captions_count() -> None:
    """A man whom the others call a man is no woman; of one whom nobody else names less is sure."""
    text = "A man riding a horse on a beach"
    agreed = chances(text, "man", "woman", others=("a man on a horse", "a man rides a horse"))
    assert agreed[0] > chances(text, "man", "woman", others=("a person on a horse", "a person rides a horse"))[0]


def test_chances_are_the_same_one_by_one_and_together() -> None:
    caption = Caption("A black dog sits on a red couch", ("A dog on a couch",))
    edits = [Proposal(8, 11, word, "object", "lexicon", 1.0) for word in ("cat", "bird", "teddy bear")]
    edits.append(Proposal(22, 25, "blue", "attribute", "lexicon", 1.0))
    together = Reading(caption).chances(edits)
    assert together.shape == (4, 4) and np.allclose(together.sum(1), 1)
    for row, edit in zip(together, edits, strict=True):
        assert np.allclose(row, Reading(caption).chances([edit])[0], atol=1e-5)


def test_a_caption_gets_the_same_numbers_in_any_company() -> None:
    """To the last bit: else a text would depend on which captions are in its shard."""
    texts = ["A dog", "A black dog sits on a red couch", "Two men ride horses on a long sandy beach", "Some food"]
    captions = [Caption(text, tuple(texts[:place])) for place, text in enumerate(texts * 9)]
    words = ("cat", "horse", "teddy bear", "tree", "woman")
    edits = [Proposal(2, 5, word, "object", "lexicon", 1.0) for word in words]
    together = judged([(reading, edits) for reading in readings_of(captions)])
    for caption, rows in zip(captions, together, strict=True):
        alone = Reading(Caption(caption.text, caption.others))
        assert np.array_equal(alone.chances(edits), rows)


def test_nothing_passes_where_the_net_cannot_look() -> None:
    text = " ".join(["a dog and"] * 14) + " a horse"
    start = text.index("horse")
    edits = [Proposal(start, start + 5, "cow", "object", "lexicon", 1.0), Proposal(2, 5, "!", "object", "lexicon", 1.0)]
    assert Reading(Caption(text)).chances(edits)[:, 0].tolist() == [0.0, 0.0]


def test_words_of_others_by_how_many_say_them() -> None:
    said = [frozenset(("a", "dog", "runs")), frozenset(("dog", "the"))]
    assert words_of_others(said) == [("dog", 0.5), ("runs", 0.25)]
