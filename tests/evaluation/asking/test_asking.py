"""The choice that an answer names, questions of one's own, when to stop."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from PIL import Image
from tests.evaluation.asking.simulated import Simulated, items

from equipoise.benchmarks.registry import load_file
from equipoise.core.errors import UserError
from equipoise.data.items import Item, load_items, write_items
from equipoise.embedding.cache import EmbeddingCache
from equipoise.evaluation.asking.plan import plan
from equipoise.evaluation.asking.shipped import option_of
from equipoise.evaluation.asking.until import Until, parse_until
from equipoise.evaluation.asking.variants import Ask, parse_ask, questions
from equipoise.evaluation.run import evaluate

TWO = ("a dog on a bench", "a cat on a bench")


@pytest.mark.parametrize(
    ("said", "place"),
    [
        ("A", 0), ("b", 1), ("B.", 1), ("(B) a cat", 1), ("The answer is B", 1), ("**B**", 1), ("A cat on a bench", 1),
        ("a cat on a bench.", 1), ("I cannot tell.", None), ("Option A is correct", 0), ("A or B", None),
        ("Both A and B", None), ("Answer: A: a dog on a bench", 0), ("caption B describes it", 1), ("Caption (A)", 0),
        ("<think>maybe A</think> B", 1), ("", None), ("B because the animal is a cat", 1), ("C", None),
    ],
)  # fmt: skip
def test_the_option_that_an_answer_names(said: str, place: int | None) -> None:
    assert option_of(said, TWO, True) == place


@pytest.mark.parametrize(
    ("said", "place"),
    [
        ("Yes", 0),
        ("no.", 1),
        ("Yes, there is no dog", 0),
        ("There is a dog.", None),
        ("I think no", 1),
        ("nobody", None),
    ],
)
def test_yes_and_no(said: str, place: int | None) -> None:
    assert option_of(said, ("yes", "no"), False) == place


def test_questions_of_ones_own_from_both_kinds_of_files(tmp_path: Path) -> None:
    rows = [
        {"image": "0.png", "question": "Is there a dog?", "options": [], "answer": "no"},
        {
            "image": "1.png",
            "question": "What is red?",
            "options": ["car", "dog", "hat"],
            "answer": "B",
            "topic": "hue",
        },
    ]
    (tmp_path / "own.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    table = "image,question,A,B,C,answer,topic\n0.png,Is there a dog?,,,,no,\n1.png,What is red?,car,dog,hat,B,hue\n"
    (tmp_path / "own.csv").write_text(table)
    found = list(load_items(tmp_path / "own.jsonl"))
    assert found == list(load_file(tmp_path / "own.csv", ()))
    assert [item.options() for item in found] == [["yes", "no"], ["car", "dog", "hat"]]
    assert [item.caption for item in found] == ["no", "dog"] and found[1].tags == {"split": "all", "topic": "hue"}
    write_items(tmp_path / "again.jsonl", found)
    write_items(tmp_path / "again.parquet", found)
    assert list(load_items(tmp_path / "again.jsonl")) == found == list(load_items(tmp_path / "again.parquet"))
    asked = [list(questions(item, Ask(orders=3))) for item in found]
    assert [len(one) for one in asked] == [1, 3] and {one.truth for one in asked[1]} == {"dog"}
    (tmp_path / "bad.jsonl").write_text(json.dumps(rows[1] | {"answer": "D"}) + "\n")
    with pytest.raises(UserError, match="line 1: answer: expected one of"):
        load_items(tmp_path / "bad.jsonl")


class SaysYes:
    def answer(self, images: object, prompts: list[str]) -> list[str]:
        return ["Yes."] * len(prompts)


def test_always_yes_and_a_model_without_answers(tmp_path: Path) -> None:
    Image.new("RGB", (8, 8)).save(tmp_path / "0.png")
    asked = [("Is there a dog?", "yes"), ("Is there a cat?", "no")]
    rows = [{"image": "0.png", "question": question, "answer": truth} for question, truth in asked]
    (tmp_path / "own.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    own = load_items(tmp_path / "own.jsonl")
    found = evaluate(SaysYes(), own, images=tmp_path).record.metrics.headline
    assert found["accuracy"] == 0.5 and found.metrics["accuracy"].chance == 0.5 and "order_flips" not in found.metrics

    class Scores:
        def score_pairs(self, images: object, texts: list[str]) -> list[float]:
            return [0.0] * len(texts)

    with pytest.raises(UserError, match="only a model that answers can be asked"):
        evaluate(Scores(), own, images=tmp_path)
    with pytest.raises(UserError, match="gives scores, not answers"):
        evaluate(Scores(), items(1), images=tmp_path, ask=Ask())


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("photos")
    for number in range(20):
        Image.new("RGB", (8, 8), (10 * number, 0, 50)).save(folder / f"{number}.png")
    return folder


def test_the_plan_is_what_is_asked_and_nothing_is_asked_twice(photos: Path, tmp_path: Path) -> None:
    model, ask = Simulated(), parse_ask("wordings,orders,prompts:5,repeats:3")
    wanted = plan(items(30), ask)
    assert wanted.requests == {
        "questions": 30,
        "repeats": 60,
        "other orders": 30,
        "other prompts": 120,
        "other wordings": 60,
    }
    first = evaluate(model, items(30), images=photos, ask=ask, cache=EmbeddingCache(tmp_path))
    assert model.asked == wanted.total == 300
    again = evaluate(model, items(30), images=photos, ask=ask, cache=EmbeddingCache(tmp_path))
    assert model.asked == 300 and again.rows == first.rows


@pytest.mark.parametrize(
    ("text", "said"), [("order", "Did you mean"), ("prompts:6", "from 1 to 5"), ("repeats:x", "expected a number")]
)
def test_what_cannot_be_asked(text: str, said: str) -> None:
    with pytest.raises(UserError, match=said):
        parse_ask(text)


@pytest.mark.parametrize("rate", [0.02, 0.1, 0.3])
def test_an_interval_that_may_be_looked_at_at_any_time(rate: float) -> None:
    rng, covered, photos = random.Random(1), 0, []
    for _ in range(20):
        until = Until("brittleness", 5)
        while not until.adds(float(rng.random() < rate)):
            pass
        covered += until.low <= rate <= until.high
        photos.append(until.photos)
    assert covered >= 18  # 95% of 20 are 19
    assert max(photos) < 1000


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize(("rate", "photos"), [(0.02, 359), (0.1, 1343), (0.3, 2940)])
def test_the_numbers_of_until_in_the_docs(rate: float, photos: int) -> None:
    rng, covered, needed = random.Random(int(100 * rate)), 0, []
    for _ in range(200):
        until = Until("brittleness", 2)
        while not until.adds(float(rng.random() < rate)):
            pass
        covered += until.low <= rate <= until.high
        needed.append(until.photos)
    assert covered >= 190 and abs(sorted(needed)[100] - photos) < 20
    assert f"{photos:,}" in (Path(__file__).parents[3] / "docs" / "beyond_dual_encoders.md").read_text()


def test_a_run_stops_when_enough_is_known(tmp_path: Path) -> None:
    own: list[Item] = []
    for number, item in enumerate(items(400)):
        Image.new("RGB", (4, 4), (number % 256, number // 256, 7)).save(tmp_path / f"{number}.png")
        own.append(item.model_copy(update={"image": item.image.model_copy(update={"path": f"{number}.png"})}))  # type: ignore[union-attr]
    model = Simulated(right=1.0)
    run = tmp_path / "run"
    record = evaluate(model, own, images=tmp_path, until=parse_until("brittleness:5"), out=run).record
    again = evaluate(Simulated(right=1.0), own, images=tmp_path, until=parse_until("brittleness:5"), out=run)
    assert again.read_from == run
    assert record.counts["stopped_after"] == record.n.scored < 250 and record.settings.until == "brittleness:5"
    with pytest.raises(UserError, match="METRIC:POINTS"):
        parse_until("britleness:5")
