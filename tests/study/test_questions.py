"""Blind: nothing that a browser gets says which text is which, and answers find their way back."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from tests.study.conftest import Make, ranking

from equipoise.core.errors import UserError
from equipoise.study.questions import (
    annotator_name,
    in_study_order,
    problem_of,
    question_order,
    read_study,
    screen,
    shown_order,
)


def test_the_caption_is_anywhere(make: Make) -> None:
    """Neither the file nor the screen puts a role first: each of the three places has the caption about as often."""
    study = read_study(make(n=20))
    first = Counter(question.texts[0].role for question in study.questions)
    assert set(first) == {"c", "p", "n"}
    shown = Counter(
        question.texts[shown_order(study, f"person {who}", question)[0]].role
        for who in range(30)
        for question in study.questions
    )
    assert all(150 < shown[role] < 250 for role in "cpn")  # 600 in all


def test_everybody_sees_an_order_of_their_own(make: Make) -> None:
    study = read_study(make(n=20))
    anna, ben = (question_order(study, name) for name in ("anna", "ben"))
    assert anna != ben and sorted(one.number for one in anna) == sorted(one.number for one in ben)
    assert anna == question_order(study, "anna")
    orders = [[shown_order(study, name, one) for one in study.questions] for name in ("anna", "ben")]
    assert orders[0] != orders[1]


def test_the_screen_tells_nothing(make: Make) -> None:
    study = read_study(make())
    sent = screen(study, "anna")
    assert set(sent[0]) == {"question", "image", "texts"}
    assert "role" not in json.dumps(sent) and "made/" not in json.dumps(sent) and ".png" not in json.dumps(sent)
    assert not {"seed", "tags", "item"} & set(json.dumps(sent).replace('"', " ").split())


def test_an_answer_finds_its_texts(make: Make) -> None:
    study = read_study(make())
    for question in study.questions:
        value = ranking(study, "anna", question.number, "cp")
        back = in_study_order(study, "anna", question, value)
        assert {text.role: rank for text, rank in zip(question.texts, back, strict=True)} == {"c": 1, "p": 2, "n": 3}


def test_pairs_are_turned_back_too(make: Make) -> None:
    study = read_study(make(ask="pairs"))
    for question in study.questions:
        order = shown_order(study, "anna", question)
        said = {"same": "no", "grammatical": ["yes", "no"], "plausible": ["unsure", "yes"]}
        back = in_study_order(study, "anna", question, said)
        assert [back["grammatical"][place] for place in order] == ["yes", "no"]
        assert back["same"] == "no" and back["plausible"][order[0]] == "unsure"


@pytest.mark.parametrize("value", [[1, 2, 3], [1, 1, 1], [2, 1, 2]])
def test_rankings(make: Make, value: object) -> None:
    study = read_study(make())
    assert problem_of(study, study.questions[0], value) == ""


@pytest.mark.parametrize(
    "value",
    [[1, 2], [1, 2, 4], [0, 1, 2], [1, 2, 3, 4], [True, 2, 3], [1.0, 2, 3], "123", {}, [[1], 2, 3], [2, 2, 2], None],
)
def test_no_rankings(make: Make, value: object) -> None:
    study = read_study(make())
    assert "expected a rank for each of the 3 texts" in problem_of(study, study.questions[0], value)


PAIR = {"same": "yes", "grammatical": ["yes", "no"], "plausible": ["yes", "unsure"]}


@pytest.mark.parametrize(
    ("value", "fine"),
    [
        (PAIR, True),
        (PAIR | {"same": "perhaps"}, False),
        (PAIR | {"same": ["yes"]}, False),
        (PAIR | {"grammatical": ["yes"]}, False),
        (PAIR | {"plausible": [[], {}]}, False),
        (PAIR | {"more": 1}, False),
        ({"same": "yes"}, False),
        ([1, 2], False),
    ],
)
def test_pairs(make: Make, value: object, fine: bool) -> None:
    study = read_study(make(ask="pairs"))
    assert (problem_of(study, study.questions[0], value) == "") == fine


def test_names() -> None:
    assert annotator_name("  Anna  B ") == annotator_name("ANNA b") == "anna b"
    assert annotator_name("Ａｎｎａ") == "anna" and annotator_name("Žofie") == "žofie"
    for wrong in ("", "   ", "x" * 41, "a\x00b", "a\u202eb", 5, None, ["anna"]):
        with pytest.raises(UserError, match="annotator: expected a name"):
            annotator_name(wrong)


def test_a_damaged_study_is_refused(make: Make, tmp_path: Path) -> None:
    path = make() / "study.json"
    whole = path.read_text()
    for old, new, told in [
        ('"version": 1', '"version": 2', "newer version"),
        ('"role": "c"', '"role": "x"', "8 problems"),
        ('"number": 3', '"number": 4', "expected 3, found 4"),
        ('"image": 2', '"image": 99', "no picture 99"),
        ('"image": 2', '"image": -1', "no picture -1"),
    ]:
        path.write_text(whole.replace(old, new))
        with pytest.raises(UserError, match=told):
            read_study(path.parent)
    with pytest.raises(UserError, match="equipoise study make"):
        read_study(tmp_path)
