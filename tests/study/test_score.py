"""Answers become the papers' numbers: a point only if both are right, a tie is never a win."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.study.conftest import Make, stored

from equipoise.core.errors import UserError
from equipoise.report.chapters import read_points
from equipoise.study.questions import Study, Value, read_study
from equipoise.study.score import as_text, human_point, score

Given = dict[str, dict[int, Value]]


def rankings(study: Study, **best: list[str]) -> Given:
    """anna=["cp", "pc=", "n"]: for each question which roles she put first, = for a tie among them."""
    return {
        name: {
            number: stored(study, name, number, words.rstrip("="), words.endswith("="))
            for number, words in enumerate(said)
            if words
        }
        for name, said in best.items()
    }


def test_a_point_only_if_both_are_right(make: Make) -> None:
    study = read_study(make(n=4))
    #        both right    one right       brittle, right   both wrong
    given = rankings(study, anna=["cp=", "cp", "cn", "nc"], ben=["pc", "np", "cp", "np"])
    found = score(study, given)
    assert found.together["augmented"].value == 1 / 4 and found.together["augmented"].n == 4
    assert found.together["original"].value == 2 / 4  # anna put c first in the third too
    assert found.together["brittleness"].value == 1 / 4  # by one of the two is enough
    assert found.together["same_ranking"].value == 0  # c = p against p > c
    assert found.annotators["anna"]["augmented"].value == 2 / 4
    assert found.annotators["anna"]["brittleness"].value == 1 / 4 and found.annotators["ben"]["brittleness"].value == 0
    assert found.lost == [study.questions[number].item for number in (1, 2, 3)]
    share = found.together["augmented"]
    assert 0 <= share.low <= share.value <= share.high <= 1


def test_questions_without_a_positive_are_listed_too(make: Make) -> None:
    """Only those with a positive were."""
    study = read_study(make(n=3, positives=()))
    found = score(study, rankings(study, anna=["cn", "nc", "cn"], ben=["cn", "cn", "nc"]))
    assert found.lost == [study.questions[number].item for number in (1, 2)]


def test_a_tie_with_the_wrong_one_is_no_win(make: Make) -> None:
    study = read_study(make(n=2))
    given = rankings(study, anna=["cpn=", "cn="], ben=["cp", "cp"])
    found = score(study, given)
    assert found.together["original"].value == found.together["augmented"].value == 0
    assert found.together["brittleness"].value == 0  # a tie is never brittle


def test_all_right_is_not_certainty(make: Make) -> None:
    study = read_study(make(n=8))
    given = rankings(study, anna=["cp="] * 8, ben=["cp="] * 8)
    found = score(study, given)
    share = found.together["augmented"]
    assert share.value == found.together["same_ranking"].value == 1 and 0.5 < share.low < 1 == share.high
    assert found.alpha["ranks"].value == 1 and not found.lost
    assert found.alpha["preferences"].value == 1  # not 0: the texts stand in an order by chance


def test_three_annotators_are_three_pairs(make: Make) -> None:
    study = read_study(make(n=1))
    found = score(study, rankings(study, anna=["cp"], ben=["cp"], cleo=["np"]))
    assert found.together["augmented"].value == pytest.approx(1 / 3)  # anna and ben of three pairs
    assert found.together["same_ranking"].value == pytest.approx(1 / 3)
    two = score(study, rankings(study, anna=["cp"], ben=["cp"]))
    assert two.together["augmented"].value == 1 and list(two.answered) == ["anna", "ben"]


def test_brittle_of_three(make: Make) -> None:
    study = read_study(make(n=1))
    found = score(study, rankings(study, anna=["cn"], ben=["cp"], cleo=["pc"]))
    assert found.together["brittleness"].value == pytest.approx(2 / 3)  # two pairs have anna in them


def test_questions_of_one_annotator_do_not_count(make: Make) -> None:
    study = read_study(make(n=4))
    found = score(study, rankings(study, anna=["cp", "cp", "np", ""], ben=["cp", "", "", "cp"]))
    assert found.answered_by_two == 1 and found.together["augmented"].n == 1
    assert found.answered == {"anna": 3, "ben": 2}
    alone = score(study, rankings(study, anna=["cp", "cp", "np", ""]))
    assert not alone.together and alone.alpha["ranks"].value is None and "no question has two" in as_text(alone)


def test_by_tag(make: Make) -> None:
    study = read_study(make(n=8))
    colour = [question.tags["split"] == "colour" for question in study.questions]
    assert 0 < sum(colour) < 8
    said = ["cp" if one else "np" for one in colour]
    found = score(study, rankings(study, anna=said, ben=said))
    assert found.by["split"]["colour"]["augmented"].value == 1 and found.by["split"]["size"]["augmented"].value == 0
    assert found.by["split"]["colour"]["augmented"].n == sum(colour)


def test_pairs(make: Make) -> None:
    study = read_study(make(n=8, ask="pairs"))
    given: Given = {}
    for name in ("anna", "ben"):
        for question in study.questions:
            positive = any(text.role == "p" for text in question.texts)
            right = "yes" if positive else "no"
            wrong = name == "ben" and question.number == 0
            given.setdefault(name, {})[question.number] = {
                "same": "unsure" if wrong else right,
                "grammatical": ["yes" if text.role == "c" else "no" for text in question.texts],
                "plausible": ["yes", "yes"],
            }
    found = score(study, given)
    assert found.together["meaning"].value == 7 / 8 and found.together["grammatical captions"].value == 1
    kinds = [name for name in found.together if name.startswith("grammatical") and "captions" not in name]
    assert kinds and all(found.together[name].value == 0 for name in kinds)
    assert found.alpha["grammatical"].value == 1 and found.alpha["plausible"].value is None
    assert found.alpha["same meaning"].value is not None and 0 < found.alpha["same meaning"].value < 1
    assert found.lost == [study.questions[0].item]
    assert "everybody always gave the same answer" in as_text(found)
    with pytest.raises(UserError, match="--points"):
        human_point(found)


def test_the_reports_point(make: Make, tmp_path: Path) -> None:
    study = read_study(make(n=4))
    found = score(study, rankings(study, anna=["cp", "cp", "cn", "cp"], ben=["cp", "cp", "cp", "cp"]))
    point = human_point(found)
    (tmp_path / "people.json").write_text(f"[{point.model_dump_json()}]")
    (read,) = read_points(tmp_path / "people.json")
    assert read == point and read.benchmark == "made"
    assert {"original": 1.0, "augmented": 0.75, "brittleness": 0.25}.items() <= read.metrics.items()
    low, high = read.intervals["brittleness"]
    assert low < 0.25 < high
    with pytest.raises(UserError, match="0 questions of this study have two answers"):
        human_point(score(study, rankings(study, anna=["cp"])))


def test_nobody(make: Make) -> None:
    study = read_study(make(n=2))
    with pytest.raises(UserError, match="these files have no answers"):
        score(study, {"anna": {}})


def test_the_same_seed_the_same_numbers(make: Make) -> None:
    study = read_study(make(n=8))
    given = rankings(study, anna=["cp", "np", "cp", "cn"] * 2, ben=["cp", "cp", "np", "cp"] * 2)
    assert score(study, given) == score(study, given) != score(study, given, seed=1)
