"""Questions in other words: the same answer, or the opposite one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from tests.cli.commands import Run, refused

from equipoise.core.errors import UserError
from equipoise.data.items import ImageRef, Item, load_items, texts
from equipoise.evaluation.asking.variants import parse_ask
from equipoise.evaluation.run import evaluate
from equipoise.perturb.questions import opposites, perturb_questions, rewordings
from equipoise.perturb.recipes import get_recipe, recipe_names

BOATS = ("graffiti and water", "a crowd by the water and a boat", "a crowd and a boat in the water", "graffiti")
DOGS = ("a cat on a bed", "a cat sleeps on a white blanket", "the cat is on the bed")


@pytest.mark.parametrize(
    ("question", "reworded"),
    [
        ("Is there a dog in the image?", "Does the image show a dog?"),
        ("Is there a dog in the image?", "Can you see a dog in the image?"),
        ("Are there any carrots in this picture?", "Does this picture show any carrots?"),
        ("What color is the car?", "Which color does the car have?"),
        ("What color are the cars?", "Which color do the cars have?"),
        ("What is the color of the cars on the road?", "What color are the cars on the road?"),
        ("How many cups are in the image?", "How many cups can you see in the image?"),
        ("Where is the cup in the picture?", "Where in the picture is the cup?"),
        ("which direction is the dog facing?", "In which direction is the dog facing?"),
        ("Are the two jars in the picture the same shape?", "Do the two jars in the picture have the same shape?"),
        ("Is the dog larger than the cat?", "Is the cat smaller than the dog?"),
        ("Based on the image, what is the man doing?", "What is the man doing, based on the image?"),
        ("Is the cup behind the plate?", "Is it true that the cup is behind the plate?"),
        ("Is the cup on the left of the plate?", "Is it true that the cup is on the left of the plate?"),
        ("Look at the map. What type of map is it?", "Look at the map. What kind of map is it?"),
        ("Are there two dogs in the image? Yes or No", "Does the image show two dogs? Yes or No"),
        ("How many pillows are on the couch?", "How many pillows are on the sofa?"),
    ],
)
def test_the_same_question_in_other_words(question: str, reworded: str) -> None:
    assert reworded in rewordings(question)


@pytest.mark.parametrize(
    "question",
    [
        "How many cups are in the image?",  # not: In the image, how many cups are?
        "Which of the objects is not in the image?",
        "What is the main event showing in the image?",
        "Is it appropriate to wear the coat in the picture?",
    ],
)
def test_a_question_that_needs_its_end_is_not_turned(question: str) -> None:
    assert not [text for text in rewordings(question) if text.startswith("In the")]


@pytest.mark.parametrize(
    "question",
    [
        "Is the car in front of us stationary?",  # not: that the car is in front of us stationary
        "Is the object on the table a cup?",
        "Is the dog on the left a poodle?",
        "What color is the man wearing?",  # not: the color of the man wearing
        "Is there a difference between the two photos?",
        "Complete the sentence.",
        "這是什麼?",
        "",
    ],
)
def test_where_a_rule_cannot_tell_the_form_stays(question: str) -> None:
    assert not [text for text in rewordings(question) if not text.startswith("Which")]


def test_statements_keep_their_answers() -> None:
    said = "The cat is next to the bed. True or false?"
    found = rewordings(said, ("True", "False"))
    assert (
        "The cat is beside the bed. True or false?" in found and "The bed is next to the cat. True or false?" in found
    )
    assert "True or false: the cat is next to the bed." in found and not [one for one in found if "that" in one[:13]]
    assert rewordings("The cat is on the bed.", ("yes", "no"))[0] == "Is it true that the cat is on the bed?"
    assert rewordings("The cat is on the bed.", ("a bed", "a cat")) == []
    llava = "Given the image, is the following statement True or False?\nThe cat is below the bed."
    assert rewordings(llava)[0].endswith("\nThe bed is above the cat.")


def test_words_of_the_options_and_of_names_stay() -> None:
    asked = "How many pillows are on the couch?"
    assert any("sofa" in text for text in rewordings(asked, ("2", "3")))
    assert not any("sofa" in text for text in rewordings(asked, ("2 on the couch", "3")))
    assert not any("sofa" in text for text in rewordings("Is the cat on the couch called Tom?"))


@pytest.mark.parametrize(
    ("question", "there", "captions", "opposite"),
    [
        ("Is there a dog in the image?", True, (), ["Is it true that there is no dog in the image?"]),
        ("Are there any dogs?", True, (), ["Is it true that there are no dogs?"]),
        ("Is there a zebra in the image?", False, DOGS[:1], ["Is it true that there is no zebra in the image?"]),
        ("Is there an owl?", False, DOGS, ["Is it true that there is no owl?", "Is there a cat?"]),
        ("Is there a cat?", True, DOGS, ["Is it true that there is no cat?", "Is there a dog?"]),
        ("Is there a bed?", True, DOGS, ["Is it true that there is no bed?"]),  # a table may be there, unnamed
        ("Is there a bus?", False, BOATS, ["Is it true that there is no bus?", "Is there a boat?"]),  # not: a water
        ("Is there a dog or a cat?", True, (), []),
        ("Are the two cars the same color?", True, (), ["Do the two cars have different colors?"]),
        ("The cat is on the bed. True or false?", True, (), ["The cat is not on the bed. True or false?"]),
        ("The box contains the cat. True or false?", True, (), ["The box does not contain the cat. True or false?"]),
        ("The cat is not on the bed. True or false?", True, (), []),
        ("What color is the car?", True, (), []),
    ],
)
def test_the_opposite_question(question: str, there: bool, captions: Sequence[str], opposite: list[str]) -> None:
    assert list(opposites(question, there, captions)) == opposite


def _asked(number: int, question: str, right: str = "yes", wrong: str = "no", **more: Any) -> Item:
    image = ImageRef(path=f"{number}.png")
    return Item(id=str(number), image=image, question=question, caption=right, negatives=texts(wrong), **more)


def test_items_of_the_opposite_answer_come_after_their_question() -> None:
    item = _asked(0, "Is there a dog in the image?", rewordings=("A dog?",), tags={"split": "all"})
    first, other = perturb_questions([item])
    assert first.rewordings[0] == "A dog?" and len(first.rewordings) > 2
    assert (other.id, other.tags["opposite_of"], other.caption, other.place) == ("0/opposite", "0", "no", 1)
    assert other.options() == item.options()
    again = list(perturb_questions([first, other]))
    assert [one.id for one in again] == ["0", "0/opposite"] and again[0] == first
    assert len(list(perturb_questions([_asked(0, "Is there a dog in the image?", "maybe")]))) == 1
    with pytest.raises(UserError, match="item 1"):
        list(perturb_questions([Item(id="1", caption="a dog")]))


class OnlyOneForm:
    """Says yes to "Is there" and no to everything else."""

    def __init__(self) -> None:
        self.card = {"spec": "simulated", "digest": "one form"}

    def answer(self, images: Sequence[Any], prompts: Sequence[str]) -> list[str]:
        return ["yes" if "Is there" in prompt else "no" for prompt in prompts]


def test_a_model_that_knows_one_form_flips(tmp_path: Path) -> None:
    for number in range(4):
        Image.new("RGB", (8, 8), (10 * number, 0, 50)).save(tmp_path / f"{number}.png")
    made = list(
        perturb_questions([_asked(n, f"Is there a {a} in the image?") for n, a in enumerate("cat dog cow bus".split())])
    )
    assert len(made) == 8
    found = evaluate(OnlyOneForm(), made, images=tmp_path, ask=parse_ask("wordings")).numbers
    assert found["wording_flips"] > 0 and found["original"] == 1.0 and found["augmented"] < 1.0
    plain = evaluate(OnlyOneForm(), made, images=tmp_path, ask=parse_ask("once")).numbers
    assert plain["accuracy"] == 1.0


def test_the_command(command_line: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = command_line
    monkeypatch.chdir(tmp_path)
    row = {"image": "a.png", "question": "Is there an owl in the image?", "answer": "no", "captions": list(DOGS)}
    Path("q.jsonl").write_text(json.dumps(row) + "\n")
    code, said, error = run("perturb", "q.jsonl", "--recipe", "questions", "--out", "o.jsonl")
    assert code == 0, error
    assert "--ask wordings" in said
    items = load_items("o.jsonl")
    assert [item.question for item in items[1:]] == list(opposites(row["question"], False, DOGS))  # type: ignore[arg-type]
    assert run("perturb", "q.jsonl", "--recipe", "questions", "--out", "o.jsonl")[0] == 0
    Path("o.jsonl").write_text(json.dumps(row | {"answer": "yes"}) + "\n")
    refused(run("perturb", "q.jsonl", "--recipe", "questions", "--out", "o.jsonl"), "o.jsonl")
    refused(run("perturb", "q.jsonl", "--recipe", "questions", "--cap", "3"), "--cap")
    refused(run("perturb", "q.jsonl", "--recipe", "questions,balanced"), "goes alone")
    assert "questions" in recipe_names()
    with pytest.raises(UserError, match="perturb_questions"):
        get_recipe("questions")
