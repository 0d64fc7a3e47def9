"""Each check of an edit on texts made up for it: what it must find, and what it must leave alone."""

from __future__ import annotations

import pytest

from equipoise.audit import edits
from equipoise.audit.edits import change, substitution
from equipoise.data.items import Edit, Item, Text

VOCABULARY = frozenset("a the person woman man window room covered red coat on in building riding horse".split())


def replaced(source: str, to: str) -> Edit:
    return Edit(op="replace", source=source, to=to)


def test_a_change_is_what_lies_between_the_same_beginning_and_the_same_end() -> None:
    found = change("A man in front of a car.", "a man within front of a car")
    assert (found.at, found.end, found.lost, found.gained) == (2, 3, ["in"], ["within"])
    assert change("a dog", "a  DOG .").lost == []
    assert change("a red dog", "a dog").lost == ["red"] and change("a dog", "a red dog").gained == ["red"]
    assert substitution("a red cat", "an orange cat") == ("red", "orange")
    assert substitution("a cat", "the cat") == ("a", "the")


@pytest.mark.parametrize(
    ("caption", "text", "edit", "old"),
    [
        ("plant covered in green", "plant covecrimson in green", replaced("red", "crimson"), "covered"),
        ("a woman sits", "a wogirl sits", replaced("man", "girl"), "woman"),
        ("a window in room", "a wout ofdow out of room", None, "window"),
        ("a person on horse", "a persinside on horse", None, "person"),
    ],
)
def test_a_piece_of_a_word_was_changed(caption: str, text: str, edit: Edit | None, old: str) -> None:
    assert f"{old!r} became" in (edits.sub_word(change(caption, text), edit, VOCABULARY) or "")


@pytest.mark.parametrize(
    ("caption", "text", "edit"),
    [
        ("a red coat", "a crimson coat", replaced("red", "crimson")),
        ("the man's red coat", "the boy's red coat", replaced("man", "boy")),  # nor is the genitive a part of it
        ("a red-brown coat", "a crimson-brown coat", replaced("red", "crimson")),  # a hyphen parts words
        ("a man riding a horse", "a man patting a horse", None),  # the same ending is not the same word
        ("a woman on a horse", "a handsome man on a horse", None),
        ("a man on a horse", "two men on a horse", None),
        ("a person in a room", "somebody whom I have never seen is persinside it", None),  # written anew
    ],
)
def test_whole_words_were_changed(caption: str, text: str, edit: Edit | None) -> None:
    assert edits.sub_word(change(caption, text), edit, VOCABULARY) is None


def triple(caption: str, positive: str, negative: str, edit: Edit | None) -> Item:
    return Item(id="1", caption=caption, positives=(Text(text=positive, edit=edit),), negatives=(Text(text=negative),))


def test_positive_and_negative_change_different_words() -> None:
    caption, positive = "white clouds in blue sky", "ivory clouds in blue sky"
    edit = replaced("white", "ivory")
    said = edits.other_word(triple(caption, positive, "white clouds in red sky", edit))
    assert said == "the positive changes 'white', the negative 'blue'"
    assert edits.other_word(triple(caption, positive, "red clouds in blue sky", edit)) is None
    assert edits.other_word(triple(caption, positive, "white clouds in red sky", None)) is None, "a paraphrase may"


def test_a_recorded_negative_may_change_another_word_than_the_positive() -> None:
    """`perturb` writes each text at a place of its own, and says which: no item of `balanced` promises one place."""
    item = triple("a dog on a couch", "a dog on a sofa", "a cat on a couch", replaced("couch", "sofa"))
    assert edits.other_word(item) is not None
    recorded = Text(text="a cat on a couch", edit=replaced("dog", "cat"))
    assert edits.other_word(item.model_copy(update={"negatives": (recorded,)})) is None


def test_an_edit_that_is_not_the_recorded_one() -> None:
    found = change("a dog and a cat", "a dog and a bird")
    assert "recorded 'dog' -> 'bird'" in (edits.not_as_said(found, replaced("dog", "bird")) or "")
    assert "recorded 'cat' -> 'horse'" in (edits.not_as_said(found, replaced("cat", "horse")) or "")
    assert edits.not_as_said(found, replaced("cat", "bird")) is None
    assert edits.not_as_said(found, None) is None
    older = change("A man reads.", "An old man reads.")
    assert edits.not_as_said(older, replaced("man", "old man")) is None, "the article follows the edit"
    assert "'man' -> 'young man'" in (edits.not_as_said(older, replaced("man", "young man")) or "")
    mouth = change("an elephant's mouth", "a giraffe's mouth")
    assert edits.not_as_said(mouth, replaced("elephant", "giraffe")) is None, "so does the genitive"


@pytest.mark.parametrize(
    ("caption", "text", "now"),
    [
        ("man in front of car", "man within front of car", "within front of"),
        ("man in front of car", "man in of car", "in of"),
        ("man in front of car", "man on front of car", "on front of"),
        ("tree near to house", "tree next to to house", "next to to"),
        ("man in middle of road", "man within middle of road", "within middle of"),
    ],
)
def test_a_broken_compound(caption: str, text: str, now: str) -> None:
    assert repr(now) in (edits.broken_compound(change(caption, text)) or "")


@pytest.mark.parametrize(
    ("caption", "text"),
    [
        ("man in front of car", "man behind car"),
        ("man in front of car", "man in back of car"),
        ("man in front of car", "dog in front of car"),
        ("cup on top of table", "cup on table"),
        ("skis at the bottom of a hill", "skis near the top of a hill"),
        ("sign at the top of a hill", "sign at the foot of a hill"),
        ("man on the side of a road", "man below the side of a road"),  # with its article it is a phrase of its own
        ("hole in center of donut", "hole on edge of donut"),
        ("man in a car", "man within a car"),
    ],
)
def test_no_compound_is_broken(caption: str, text: str) -> None:
    assert edits.broken_compound(change(caption, text)) is None


@pytest.mark.parametrize(
    ("caption", "text", "near"),
    [
        ("a small dog", "a little dog", True),
        ("white car", "cream colored car", True),
        ("kids at school", "children at school", True),
        ("a dog on a bed", "an animal on a bed", True),
        ("a dog on a bed", "a cat on a bed", False),
        ("a man on a bed", "a woman on a bed", False),
        ("a white car", "a black car", False),
        ("a dog and a cat", "a cat and a dog", False),
    ],
)
def test_near_synonyms(caption: str, text: str, near: bool) -> None:
    assert bool(edits.near_synonym(caption, change(caption, text))) is near
