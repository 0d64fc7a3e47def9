"""The dial of `balanced`: a higher setting keeps less and surer, by what the calibration file says."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from equipoise.core.errors import UserError
from equipoise.perturb import Caption, Setup, dial, perturb_caption, perturb_file
from equipoise.perturb.dial import ALONE, LIKELY, Dial, accepted, calibration, positive_kind
from equipoise.perturb.operations.replace import is_of_people, passing, replace_best
from equipoise.perturb.recipe import Candidate, perturb_captions
from equipoise.perturb.recipes import balanced
from equipoise.perturb.run.counts import Mix, described, expected
from equipoise.perturb.trivial import kind_of_edit, trivial_kind

TEXTS = [
    "A man in a red shirt rides a brown horse on the beach",
    "Two dogs play with a ball on the grass",
    "A cat sleeps on a bed next to a lamp",
    "A woman is holding a large umbrella in the rain",
    "A boy sits on a wooden bench in a park",
    "A white bus is parked in front of a building",
    "A small child eats a slice of pizza",
]


def captions() -> list[Caption]:
    return [Caption(text) for text in TEXTS]


def test_a_higher_setting_lets_less_pass() -> None:
    kept = []
    for precision in (0.85, 0.92, 0.97):
        found = [
            {(each.start, each.to) for tier in passing(one, recipe.sources, target, Dial(precision)) for each in tier}
            for recipe in [balanced(precision)]
            for one in captions()
            for target in ("object", "attribute", "action")
        ]
        kept.append(found)
    for low, high in ((kept[0], kept[1]), (kept[1], kept[2])):
        assert all(more >= less for more, less in zip(low, high, strict=True))
        assert sum(map(len, low)) > sum(map(len, high))


def test_what_is_written_is_as_sure_as_the_file_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each negative of a slot passes the bound of its kind; a file that asks for everything lets none pass."""
    made = [each for one in captions() for each in perturb_caption(balanced(0.9), one).negatives]
    assert len(made) > 5 and all(each.expected is not None and each.expected > 0.7 for each in made)
    strict = {**calibration(), "least": [[0.8, 1.1], [0.99, 1.1]]}
    monkeypatch.setattr(dial, "calibration", lambda: strict)
    made = [perturb_caption(balanced(0.91), one).negatives for one in captions()]
    found = [[each for each in negatives if each.edit.op == "replace"] for negatives in made]
    assert all(len(negatives) < 2 for negatives in found), "only the best of a caption, which has a bound of its own"


def test_only_the_one_negative_of_a_caption_may_be_less_sure() -> None:
    bound = Dial().bound
    made = [found.negatives for found in perturb_captions(balanced(), [*captions(), *map(Caption, MORE)])]
    several, one = ([each for found in made for each in found if (len(found) > 1) == many] for many in (True, False))
    assert several and all((each.expected or 0) >= bound for each in several)
    assert all((each.expected or 0) >= 1 - ALONE * (1 - bound) for each in one)
    assert not all((each.expected or 0) >= bound for each in one)


def test_a_caption_without_a_negative_says_why() -> None:
    for text, why in (("Fewer than ten cars on a street", "bound"), ("Zxqv brrk glomf wuzzle on a street", "words")):
        reasons = list(replace_best(Caption(text), balanced().sources, random.Random(0), Dial()))
        assert len(reasons) == 1 and why in str(reasons[0])


def test_the_likelier_the_judge_finds_an_edit_the_more_readers_accept_of_every_kind() -> None:
    words = calibration()["accepted"]
    targets = [word for word in words if word in ("object", "attribute", "action", "relation")]
    more = ("", " proposed", " people", " doubtful")
    swaps = ("quality", "number", "noun", "number two", "number bare", "number doing", "number own")
    for kind in (*(t + m for t in targets for m in more), *(f"swap {sort}" for sort in swaps)):
        assert dial._line(kind)[1] > 0, kind
    assert len(targets) == 4


def test_a_caption_without_a_sure_negative_gets_the_surest() -> None:
    most = 0
    for one in [*captions(), *map(Caption, MORE)]:
        sources = balanced().sources
        found = [each for each in replace_best(one, sources, random.Random(0), Dial()) if isinstance(each, Candidate)]
        likely = [each.expected or 0.0 for each in found]
        assert likely == sorted(likely, reverse=True)
        most = max(most, len(likely))
    assert most > 1


MORE = [
    "A dog runs across a field",
    "A man is walking down a street",
    "A group of people standing around a table",
    "A kitchen with a stove and a sink",
    "A train sits at the station",
    "A plate of food on a table",
]


def test_bounds_rise_and_are_straight_between_points(monkeypatch: pytest.MonkeyPatch) -> None:
    curve = calibration()["least"]
    assert curve == sorted(curve) and [y for _, y in curve] == sorted(y for _, y in curve)
    monkeypatch.setattr(dial, "calibration", lambda: {"least": [[0.8, 0.5], [0.9, 0.7]]})
    assert [Dial(x).bound for x in (0.7, 0.85, 0.95)] == pytest.approx([0.5, 0.6, 0.7])


def test_what_is_proposed_or_doubtful_must_be_likelier() -> None:
    for kind in ("object", "action proposed", "relation", "swap quality"):
        least = Dial().least(kind)
        bound = 0.92 if kind in ("relation", "swap quality") else Dial().bound
        assert accepted(kind, least) == pytest.approx(bound, abs=1e-9)
        assert Dial().least(kind) > Dial(0.85).least(kind)
    assert accepted("object people", 0.9) > accepted("object", 0.9) > accepted("object doubtful", 0.9)
    assert Dial().least("object proposed") > Dial().least("object") > Dial().least("object", alone=True)
    assert Dial(0.99).least("relation proposed doubtful") > 1, "never as likely as that"
    assert Dial(0.85).least("object people", alone=True) == 0.1, "readers have seen nothing that is less likely"


def test_each_relation_and_each_swap_is_as_sure_as_asked_also_as_the_only_one() -> None:
    """Their readers passed 88 and 87 % where only the mean had to be 92."""
    for kind in ("relation", "relation proposed", "swap number two", "swap noun"):
        for precision in (0.85, 0.92):
            least = Dial(precision).least(kind)
            assert least == Dial(precision).least(kind, alone=True)
            assert accepted(kind, least) >= precision - 1e-9 and least >= LIKELY


def test_positives_of_a_kind_that_readers_accept_less_often_are_left_out() -> None:
    rates = calibration()["rates"]
    worst = min((kind for kind in rates if "contrast" not in kind), key=lambda kind: float(rates[kind]))
    assert Dial(rates[worst]).allows(worst) and not Dial(rates[worst] + 0.01).allows(worst)
    assert Dial().allows("swap") and not Dial(0.93).allows("swap"), "a blind reader accepted 92 of 100"
    made = [each for one in captions() for each in perturb_caption(balanced(0.97), one).positives]
    assert made and all(rates.get(positive_kind(each.edit), rates["other"]) >= 0.97 for each in made)


@pytest.mark.parametrize("precision", [0.5, 1.0])
def test_a_setting_that_cannot_be_had_is_refused(precision: float) -> None:
    with pytest.raises(UserError, match=r"--precision .*from 0.8 to 0.99"):
        Setup("balanced", precision=precision).recipe()


def test_one_person_for_another_only_where_nothing_else_is() -> None:
    made = perturb_caption(balanced(), Caption("A man in a red shirt rides a brown horse on the beach")).negatives
    assert made and not any(is_of_people(each.edit) for each in made)
    made = perturb_caption(balanced(), Caption("A man", ("A man", "A man with a beard", "A man"))).negatives
    assert all(is_of_people(each.edit) for each in made)


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        ("is parked", "parked", "a verb's form"),
        ("riding", "rides", "a verb's form"),
        ("a", "there is a", "there is"),
        ("photo", "picture", "photo, picture, image"),
        ("that has", "with", "with or has"),
        ("2", "two", "a number or its digit"),
        ("a", "the", "articles"),
        ("skate board", "skateboard", "a spelling"),
        ("racquet", "racket", "a spelling"),
        ("bath tub", "bathtub", "a spelling"),
        ("holding on to", "holding onto", "prepositions"),
        ("a person", "someone", "a spelling"),
        ("doughnuts", "donuts", "a spelling"),
        ("laptop", "laptop computer", "a word more or less"),
        ("laptop computers", "laptops", "a word more or less"),
        ("in the sky", "up in the sky", "prepositions"),
        ("fenced", "fenced-in", "a word more or less"),
        ("on", "on top of", "prepositions"),
        ("covered in", "covered with", "prepositions"),
        ("riding skis", "skiing", None),
        ("bike", "bicycle", None),
        ("near", "close to", None),
        ("couch", "sofa", None),
        ("is wearing", "has on", None),
    ],
)
def test_kinds_of_trivial_changes(before: str, after: str, kind: str | None) -> None:
    assert trivial_kind(before, after) == kind


def test_what_another_caption_adds_is_not_trivial() -> None:
    assert trivial_kind("bear", "polar bear", "lexicon") == "a word more or less"
    assert trivial_kind("bear", "polar bear", "captions") is None


def test_trivial_positives_come_last() -> None:
    found = list(perturb_captions(balanced(), captions()))
    for one in found:
        trivial = [each for each in one.positives if kind_of_edit(each.edit)]
        assert not trivial or len(one.positives) == 1


def test_the_mix_is_counted_and_told() -> None:
    mix = Mix()
    for one in perturb_captions(balanced(), captions()):
        mix.add(one)
    told = mix.to_json()
    share = expected(told, "negative")
    assert share is not None and 0.85 < share < 1
    lines = "\n".join(described(told, len(TEXTS), 10))
    assert f"{share:.1%} of the negatives" in lines and "object" in lines and "goal 40" in lines
    assert "Trivial positives" in lines and "person" in lines


@pytest.mark.parametrize(
    "text",
    [
        "Large pleural effusion, cardiomegaly, tracheostomy and 2 catheters",
        "Endoscopic view of a small ulcer in the stomach.",  # two words of nine: "a little ulcer" is no radiology
    ],
)
def test_unknown_words_are_left_alone(text: str) -> None:
    made = perturb_caption(balanced(), Caption(text))
    assert not made.positives and not made.negatives
    assert {reason for _, reason in made.empty} & {"the judge does not know enough words of this caption to tell"}


@pytest.mark.slow
def test_the_same_bytes_from_one_worker_and_two(tmp_path: Path) -> None:
    source = tmp_path / "captions.txt"
    source.write_text("\n".join(f"{text} {n}" for n in range(3) for text in TEXTS), encoding="utf-8")
    for workers in (1, 2):
        perturb_file(source, tmp_path / f"{workers}.jsonl", Setup("balanced"), workers=workers, shard=7)
    assert (tmp_path / "1.jsonl").read_bytes() == (tmp_path / "2.jsonl").read_bytes()
    first = json.loads((tmp_path / "1.jsonl").read_text(encoding="utf-8").splitlines()[0])
    alone = perturb_caption(balanced(), Caption(f"{TEXTS[0]} 0"))
    assert [each["text"] for each in first["negatives"]] == [each.text for each in alone.negatives]


def test_no_share_is_promised_for_captions_with_other_words() -> None:
    """Web captions: readers accept a sixth fewer of their positives, whatever the kind of edit."""
    told = []
    for extra in ("", " by zyzzyvas", " near quuxford"):
        mix = Mix()
        for found in perturb_captions(balanced(), [Caption(f"{text}{extra}") for text in TEXTS]):
            mix.add(found)
        told.append("\n".join(described(mix.to_json(), len(TEXTS), 5)))
    assert "should accept" in told[0] and not any("should accept" in text for text in told[1:])
    assert all("100% of the captions have words" in text for text in told[1:])
