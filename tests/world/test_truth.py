from __future__ import annotations

from random import Random

import pytest

from equipoise.world.cases import MAKERS, WorldCase
from equipoise.world.scenes import Object, Scene, sample_acting, sample_crowd, sample_scene
from equipoise.world.sentences import Sentence, Thing, holds, text
from equipoise.world.vocabulary import Word, common, seen, unseen
from studies.world_check import check

SCENE = Scene(
    (
        Object("cat", "red", "small", "plain", 0.2, 0.5, 0.2),
        Object("house", "blue", "big", "striped", 0.7, 0.5, 0.38),
        Object("cat", "green", "big", "plain", 0.2, 0.8, 0.3, action="sleeping"),
    )
)


def cat(*attributes: Word, action: str = "") -> Thing:
    return Thing(common("kind", "cat"), attributes, action=common("action", action) if action else None)


HOUSE = Thing(common("kind", "house"))
RED, GREEN, BLUE = (common("colour", value) for value in ("red", "green", "blue"))


@pytest.mark.parametrize(
    ("sentence", "true"),
    [
        (Sentence("things", (cat(RED),)), True),
        (Sentence("things", (cat(BLUE),)), False),
        (Sentence("things", (cat(RED._replace(text="crimson")),)), True),  # the word does not matter
        (Sentence("things", (cat(RED), cat(GREEN))), True),
        (Sentence("things", (cat(RED), cat(RED))), False),  # two things are two objects
        (Sentence("things", (cat(), cat())), True),
        (Sentence("things", (cat(RED, common("size", "big")),)), False),
        (Sentence("relation", (cat(), HOUSE), common("relation", "left")), True),
        (Sentence("relation", (HOUSE, cat()), common("relation", "left")), False),
        (Sentence("relation", (cat(GREEN), HOUSE), common("relation", "left")), False),
        (Sentence("relation", (HOUSE, cat(RED)), common("relation", "right")), True),
        (Sentence("count", (cat(),), number=common("number", "2")), True),
        (Sentence("count", (cat(),), number=common("number", "1")), False),
        (Sentence("count", (cat(RED),), number=common("number", "1")), True),
        (Sentence("without", (cat(), Thing(common("kind", "key"))), number=common("absence", "no")), True),
        (Sentence("without", (cat(), HOUSE), number=common("absence", "no")), False),
        (Sentence("things", (Thing(common("kind", "cat"), (), common("place", "left")),)), True),
        (Sentence("things", (Thing(common("kind", "cat"), (), common("place", "top")),)), False),
        (Sentence("things", (cat(GREEN, action="sleeping"),)), True),
        (Sentence("things", (cat(GREEN, action="jumping"),)), False),
        (Sentence("things", (cat(RED, action="sleeping"),)), False),  # it is the other cat that sleeps
    ],
)
def test_truth_by_hand(sentence: Sentence, true: bool) -> None:
    assert holds(sentence, SCENE) is true


def test_a_sentence_reads_like_one() -> None:
    orange = common("colour", "orange")
    assert text(Sentence("things", (cat(orange), HOUSE), template=1)) == "there is an orange cat and a house"
    assert text(Sentence("relation", (cat(), HOUSE), common("relation", "on"))) == "a cat is on a house"
    assert text(Sentence("things", (cat(RED, action="sleeping"), HOUSE))) == "a red cat sleeping and a house"
    assert text(Sentence("count", (cat(),), number=common("number", "2"))) == "two cats"
    assert text(Sentence("count", (cat(),), number=common("number", "1"))) == "one cat"
    assert text(Sentence("without", (cat(), HOUSE), number=common("absence", "no"))) == "a cat and no house"


def made(test: str, count: int, synonym: str = "seen") -> list[WorldCase]:
    samplers = {"count": sample_crowd, "without": sample_crowd, "replace-actions": sample_acting}
    sample = samplers.get(test.removeprefix("balanced-"), sample_scene)
    tried = (MAKERS[test](sample(Random(n)), Random(n), synonym) for n in range(6 * count))
    return [case for case in tried if case is not None][:count]


@pytest.mark.parametrize("test", list(MAKERS))
def test_cases_are_right_and_differ_by_the_edit_alone(test: str) -> None:
    cases = made(test, 100)
    assert len(cases) == 100
    for case in cases:
        assert case.right()
        words = [text(sentence).split() for sentence in (case.caption, case.positive, case.negative)]
        if test == "swap":
            assert sorted(w for w in words[0] if w not in ("a", "an")) == sorted(
                w for w in words[1] if w not in ("a", "an")
            )
            assert sorted(w for w in words[0] if w not in ("a", "an")) == sorted(
                w for w in words[2] if w not in ("a", "an")
            )


@pytest.mark.parametrize("synonym", ["seen", "unseen"])
def test_positives_use_the_synonyms_they_may(synonym: str) -> None:
    allowed = seen if synonym == "seen" else unseen
    for test in ("replace-attributes", "replace-relations", "replace-actions"):
        for case in made(test, 100, synonym):
            assert case.changed is not None
            old, to, wrong = case.changed
            assert to.text in allowed(to.family, to.value) and to.value == old.value and wrong.value != old.value


def test_negatives_use_rare_words_too() -> None:
    cases = made("replace-attributes", 200)
    rare = [case.changed[2] != common(case.changed[2].family, case.changed[2].value) for case in cases if case.changed]
    assert 0.3 < sum(rare) / len(rare) < 0.7


def test_a_wrong_negative_would_be_found() -> None:
    case = made("swap", 1)[0]
    spoiled = WorldCase(case.scene, case.caption, case.positive, case.positive, case.test, case.family, "none", None)
    assert not spoiled.right()


def test_check_finds_nothing_wrong() -> None:
    assert check(1500) == (0, 0, 0)


def test_check_would_find_something(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("studies.world_check.holds", lambda *_, **__: True)
    assert check(20) == (0, 0, 20)
