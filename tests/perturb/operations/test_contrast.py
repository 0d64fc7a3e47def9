"""A contrast: a positive and a negative of the same words, which only the place of "not" tells apart."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from equipoise.language.vocabulary import Section
from equipoise.perturb import Caption
from equipoise.perturb.dial import Dial, calibration
from equipoise.perturb.operations import contrast as module
from equipoise.perturb.recipe import Candidate, Kind, Proposal, perturb_captions
from equipoise.perturb.recipes import balanced
from equipoise.perturb.run.counts import Mix, described

TEXTS = [
    "A man is riding a brown horse on a beach",
    "A cat sleeping on a couch.",
    "A red car parked on a street",
    "Two dogs playing with a ball in a park",
    "A woman sitting on a bench in a park",
    "A group of zebras standing in a field",
    "A white plate with a piece of cake on it",
    "A boy riding a skateboard on a ramp",
]


def contrasts(texts: list[str], precision: float = 0.92) -> list[tuple[str, list[Candidate], list[Candidate]]]:
    found = perturb_captions(balanced(precision), map(Caption, texts))
    return [
        (text, *([each for each in made if each.edit.op == "contrast"] for made in (one.positives, one.negatives)))
        for text, one in zip(texts, found, strict=True)
    ]


def pair_of(text: str, old: str, new: str, target: Section) -> dict[Kind, Candidate] | None:
    start = text.index(old)
    return module._pair(Caption(text), Proposal(start, start + len(old), new, target, "lexicon", 1.0))


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SHARE", 1.0)


@pytest.mark.usefixtures("always")
def test_both_texts_have_the_same_words_and_come_together() -> None:
    found = contrasts(TEXTS)
    assert sum(bool(positives) for _, positives, _ in found) >= 5
    for text, positives, negatives in found:
        assert len(positives) == len(negatives) <= 1
        for right, wrong in zip(positives, negatives, strict=True):
            bags = [Counter(re.findall(r"\w+", re.sub(r"\ban\b", "a", each.text.lower()))) for each in (right, wrong)]
            assert bags[0] == bags[1] and right.text != wrong.text
            assert re.sub(r", not [^,.]*,?", "", right.text) == text
            start, end = right.edit.span or (0, 0)
            assert right.text == text[:start] + (right.edit.to or "") + text[end:]
            assert right.expected == calibration()["rates"]["contrast positive"]
            assert wrong.expected == calibration()["rates"]["contrast negative"]


@pytest.mark.parametrize(
    ("text", "old", "new", "target", "positive", "negative"),
    [
        (
            "A red car passes",
            "red",
            "old",
            "attribute",
            "A red car, not an old one, passes",
            "An old car, not a red one, passes",
        ),
        ("Red cars.", "Red", "Blue", "attribute", "Red cars, not blue ones.", "Blue cars, not red ones."),
        ("Two dogs run", "Two", "Three", "attribute", "Two dogs, not three, run", "Three dogs, not two, run"),
        ("Men sitting on it", "sitting", "standing", "action", None, None),  # a preposition without its noun
        ("A man sitting", "sitting", "lying", "action", "A man sitting, not lying", "A man lying, not sitting"),
        ("A man sits on a bed", "sits", "lies", "action", None, None),
        ("A cat and a red car", "red", "blue", "attribute", None, None),  # in a list
        ("A red cup of tea", "red", "blue", "attribute", None, None),
        ("A red zebra's head", "red", "blue", "attribute", None, None),
        ("The red car passes", "red", "blue", "attribute", None, None),  # it would say that there is a blue one too
        ("A black and white cat sleeps", "white", "brown", "attribute", None, None),
        ("Green grass on a hill", "Green", "Brown", "attribute", None, None),
        ("One dog runs", "One", "Two", "attribute", None, None),  # two dog
        ("One of three dogs runs", "three", "four", "attribute", None, None),  # a part of them
        ("A cat on a bed", "cat", "dog", "object", None, None),  # readers ask why anybody would say so
    ],
)
def test_how_it_is_written(
    text: str, old: str, new: str, target: Section, positive: str | None, negative: str | None
) -> None:
    made = pair_of(text, old, new, target)
    assert (made and made["positive"].text, made and made["negative"].text) == (positive, negative)


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize(
    "text",
    [
        "A RED CAR PARKED ON A STREET",
        "A man who isn't sitting on a red chair",
        "A red car without wheels parked on a street",
        "Fewer than ten cats on a couch",
        "A cat sleeping on a couch, a dog on a chair, and two birds",
    ],
)
def test_captions_that_would_be_hard_to_read_get_none(text: str) -> None:
    assert contrasts([text]) == [(text, [], [])]


def test_what_another_caption_names_is_not_denied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SHARE", 1.0)
    others = tuple(f"A {colour} and red car on a street" for colour in ("blue", "green"))
    made = [list(perturb_captions(balanced(), [Caption("A red car on a street", others)], seed)) for seed in range(20)]
    texts = [each.text for (one,) in made for each in one.positives if each.edit.op == "contrast"]
    assert texts and not any("not a blue" in text or "not a green" in text for text in texts)


def test_some_captions_get_one_and_the_printout_names_it_apart_from_swaps() -> None:
    texts = [f"A {colour} {thing} parked on a street" for colour in ("red", "blue", "green", "white", "black", "yellow")
             for thing in ("car", "truck", "bus", "van", "motorcycle", "bike")]  # fmt: skip
    mix, share = Mix(), 0
    for one in perturb_captions(balanced(), map(Caption, texts)):
        mix.add(one)
        share += any(each.edit.op == "contrast" for each in one.negatives)
    assert 0.25 < share / len(texts) < 0.75
    counts = mix.to_json()
    assert counts["negatives"]["contrast"] == counts["having"]["contrast"] == share
    line = next(line for line in described(counts, len(texts), 10) if "contrast" in line)
    assert f"{share:,} captions" in line and "exchanges nothing" in line and "apart from swaps" in line


@pytest.mark.usefixtures("always")
def test_none_where_more_is_asked_than_readers_accept() -> None:
    rates = calibration()["rates"]
    most = min(rates["contrast positive"], rates["contrast negative"])
    assert any(positives for _, positives, _ in contrasts(TEXTS, most))
    assert not any(positives or negatives for _, positives, negatives in contrasts(TEXTS, most + 0.005))
    assert Dial(most).allows("contrast negative")
