"""Every check keeps what is right and drops what is wrong, with a reason."""

from __future__ import annotations

import pytest

from equipoise.data.items import Edit
from equipoise.perturb import Caption, get_recipe, perturb_caption
from equipoise.perturb.checks import form, meaning
from equipoise.perturb.recipe import Candidate, Kind, edited


def candidate(
    text: str, kind: Kind = "negative", op: str = "replace", target: str = "object", **edit: str
) -> Candidate:
    return Candidate(text, kind, Edit.model_validate({"op": op, "target": target, **edit}))


def test_changed() -> None:
    caption = Caption("A cat on a bed.")
    assert form.changed(caption, candidate("a CAT on a bed!")) == "the edit changes nothing"
    assert form.changed(caption, candidate("A dog on a bed.")) is None


def test_small_edit() -> None:
    caption = Caption("A cat on a bed.")
    assert form.small_edit(caption, candidate("A bed on a cat.", op="swap")) is None
    assert form.small_edit(caption, candidate("A bed on a dog.", op="swap")) == "the swap changed other words"
    assert "words differ" in (form.small_edit(caption, candidate("Quite something else is to be seen here now")) or "")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("A ivory cat on a bed", "wrong article"),
        ("A cat on on a bed", "doubled word"),
        ("A cat on a the bed", "broken phrase"),
        ("A cat within front of a bed", "broken phrase"),
        ("A people on a bed", "article before a plural"),
    ],
)
def test_grammar(text: str, reason: str) -> None:
    assert (form.grammar(Caption("A cat on a bed"), candidate(text)) or "").startswith(reason)


def test_grammar_does_not_blame_the_edit_for_old_mistakes() -> None:
    assert form.grammar(Caption("A orange on on a bed"), candidate("A orange on on a couch")) is None


@pytest.mark.parametrize(
    ("source", "to"), [("couch", "sofa"), ("dog", "animal"), ("poodle", "dog"), ("photo", "pictures")]
)
def test_a_negative_is_no_synonym_and_no_kind_of_the_original(source: str, to: str) -> None:
    found = candidate(f"A {to} here", **{"from": source, "to": to})
    assert meaning.not_true_already(Caption(f"A {source} here"), found)


def test_a_negative_of_another_thing_is_kept() -> None:
    found = candidate("A cat here", **{"from": "dog", "to": "cat"})
    assert meaning.not_true_already(Caption("A dog here"), found) is None


def test_other_captions_of_the_image_are_read() -> None:
    caption = Caption("A dog on a couch", ("Two puppies and a cat on a sofa",))
    assert meaning.not_true_elsewhere(caption, candidate("A cat on a couch", **{"from": "dog", "to": "cat"}))
    assert meaning.not_true_elsewhere(caption, candidate("A dog on a loveseat", **{"from": "couch", "to": "couch"}))
    assert (
        meaning.not_true_elsewhere(caption, candidate("A horse on a couch", **{"from": "dog", "to": "horse"})) is None
    )
    relation = candidate("A dog under a couch", target="relation", **{"from": "on", "to": "under"})
    assert meaning.not_true_elsewhere(Caption("A dog on a couch", ("it lies under a lamp",)), relation)


def test_positives_must_share_a_sense() -> None:
    caption = Caption("A couch here")
    wrong = candidate("A lamp here", "positive", by="masked", **{"from": "couch", "to": "lamp"})
    right = candidate("A sofa here", "positive", by="masked", **{"from": "couch", "to": "sofa"})
    assert meaning.shares_sense(caption, wrong)
    assert meaning.shares_sense(caption, right) is None


def test_a_swap_that_another_caption_says_is_dropped() -> None:
    caption = Caption("A dog chasing a cat", ("a cat chasing a dog!",))
    assert meaning.really_swapped(caption, candidate("A cat chasing a dog", op="swap"))


def test_a_swap_negative_is_not_a_swap_positive() -> None:
    caption = Caption("There are a toilet, a sink, and a shower in a bathroom.")
    same = candidate("There are a toilet, a shower, and a sink in a bathroom.", op="swap")
    assert meaning.not_a_positive(caption, same) == "the swap would keep the meaning"
    assert meaning.not_a_positive(caption, same._replace(kind="positive")) is None
    other = candidate("There are a bathroom, a sink, and a shower in a toilet.", op="swap")
    assert meaning.not_a_positive(caption, other) is None


@pytest.mark.parametrize(
    ("text", "source", "kept"),
    [
        ("A man is sitting next to a red bench", "red", True),
        ("A small dog under a green table", "green", True),
        ("A lamp over red chairs", "red", True),
        ("A boy with more hair than the small girl", "small", True),
        ("About two dogs on a bed", "two", False),
        ("At least two dogs on a bed", "two", False),
        ("One to 3 dogs on a bed", "3", False),
        ("A nearly white horse", "white", False),
    ],
)
def test_a_bound_makes_a_number_inexact_and_a_colour_never(text: str, source: str, kept: bool) -> None:
    """In "next to a red bench" there is no number: its colour can be made false."""
    start = text.index(source)
    found = candidate(
        text.replace(source, "blue"),
        target="attribute",
        **{"from": source, "to": "blue", "span": (start, start + len(source))},  # type: ignore[arg-type]
    )
    assert (meaning.can_be_told(Caption(text), found) is None) == kept


def confirmed(text: str, old: str, new: str, target: str, *others: str) -> str | None:
    start = text.index(old)
    span = (start, start + len(old))
    written = text[:start] + new + text[span[1] :]
    made = edited(text, "negative", "replace", target, span, new, "lexicon", written)  # type: ignore[arg-type]
    return meaning.confirmed(Caption(text, others), made)


def test_what_another_caption_has_nearby_may_be_beside_it() -> None:
    text = "A dog sitting on top of a big pillow"
    assert confirmed(text, "on top of", "beside", "relation", "A dog between two pillows") is not None
    assert confirmed(text, "on top of", "under", "relation", "A dog between two pillows") is None
    assert confirmed(text, "on top of", "beside", "relation", "A dog by a window", "A pillow and a dog") is None


def test_a_number_needs_another_caption_that_gives_it() -> None:
    text = "Two jets are on the tarmac"
    assert confirmed(text, "Two", "Three", "attribute", "Several jets on a tarmac") is not None
    assert confirmed(text, "Two", "Three", "attribute", "A pair of jets on a tarmac") is None
    assert confirmed(text, "Two", "Three", "attribute") is None


def test_man_and_woman_need_another_caption_that_tells() -> None:
    text = "A man holds a cigarette"
    silent = ("Hands of several people", "Legs of people smoking", "No faces are shown")
    assert confirmed(text, "man", "woman", "object", *silent) is not None
    assert confirmed(text, "man", "woman", "object", *silent[:2], "He smokes") is None


def test_a_child_is_no_man_only_where_it_is_called_one() -> None:
    text = "A kid does a trick on a bike"
    assert confirmed(text, "kid", "man", "object", "A teenage boy on a bike", "A rider") is not None
    assert confirmed(text, "kid", "man", "object", "A little boy on a bike", "A rider") is None


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("pitcher", "woman", "A man throws a ball"),
        ("pitcher", "man", "She throws a ball"),
        ("pitcher", "girl", "Two men play"),
        ("pitcher", "lady", "He throws a ball"),
    ],
)
def test_a_person_of_unknown_sex_becomes_neither_man_nor_woman(old: str, new: str, said: str) -> None:
    text = f"A {old} in a baseball game"
    assert confirmed(text, old, new, "object") is not None
    assert confirmed(text, old, new, "object", "A game of baseball") is not None
    assert confirmed(text, old, new, "object", said) is None
    assert confirmed(text, old, "dog", "object") is None


def test_a_word_that_says_the_sex_may_be_denied() -> None:
    assert confirmed("A fireman on a ladder", "fireman", "woman", "object") is None
    assert confirmed("A male pitcher", "pitcher", "woman", "object") is None
    assert confirmed("A dog in a field", "dog", "boy", "object") is None
    assert confirmed("A baby in a crib", "baby", "adult", "object") is None


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
