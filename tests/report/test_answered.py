"""Output about a model that answers: the lines of `eval`, the page, `compare`."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from tests.evaluation.asking.simulated import Simulated, items
from typer.testing import CliRunner

from equipoise.api.results import Run
from equipoise.cli import app
from equipoise.evaluation.asking.variants import parse_ask
from equipoise.evaluation.run import evaluate
from equipoise.report.footnotes import eval_table, verdict

EVERY = "wordings,orders,prompts:2,repeats:2"


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("photos")
    for number in range(20):
        Image.new("RGB", (8, 8), (10 * number, 50, 90)).save(folder / f"{number}.png")
    return folder


class Scorer:
    def score_pairs(self, images: Sequence[Any], texts: Sequence[str]) -> list[float]:
        return [float(len(text)) for text in texts]


@pytest.fixture(scope="module")
def runs(photos: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    for name, model in {"good": Simulated(), "coin": Simulated(noise=1.0)}.items():
        evaluate(model, items(100), images=photos, out=folder / name, ask=parse_ask(EVERY))
    return folder


def command(*words: object) -> tuple[int, str]:
    result = CliRunner().invoke(app, [str(word) for word in words])
    return result.exit_code, result.output


def lines_of(model: Simulated, photos: Path, ask: str = EVERY) -> tuple[str, str]:
    record = evaluate(model, items(200), images=photos, ask=parse_ask(ask)).record
    return eval_table(record, "md"), verdict(record)


def test_a_line_for_each_flip_and_a_coin_is_at_chance(photos: Path) -> None:
    table, said = lines_of(Simulated(noise=1.0), photos)
    chances = {"accuracy": 50.0, "order flips": 75.0, "wording flips": 75.0, "prompt flips": 50.0, "repeat flips": 50.0}
    for name, chance in chances.items():
        assert re.search(rf"^\| {name} \| [\d.]+ \[[\d.]+, [\d.]+\] \| 200 \| {chance} \|$", table, re.MULTILINE), name
    assert "at chance" in said and "below" not in said and "doctor" not in said and "guesses" in said
    assert "does not show that the model is brittle" in table


def test_words_that_decide_are_brittle_above_the_noise(photos: Path) -> None:
    table, said = lines_of(Simulated(flip=0.4, noise=0.05), photos)
    assert ": the model is brittle" in table and "order of the options changes" not in said
    assert "No question was repeated" in lines_of(Simulated(flip=0.4), photos, "wordings,orders")[0]
    once = lines_of(Simulated(), photos, "once")[0]
    assert "no flips were measured" in once and "no flips" not in table


def test_refusals_leave_a_chance_and_metrics_reads_a_run_of_answers(photos: Path, tmp_path: Path) -> None:
    own = [item.model_copy(update={"tags": {"kind": "a", "opposite_of": item.id}}) for item in items(200)]
    model = Simulated(noise=1.0, refuse=0.4, seed=1)
    found = evaluate(model, own, images=photos, ask=parse_ask(EVERY), out=tmp_path / "run").numbers
    for name in ("order_flips", "prompt_flips", "repeat_flips"):
        one = found.metrics[name]  # of fewer items, since two answers must name an option
        assert one.chance is not None and one.interval is not None, name
        assert one.interval.low <= one.chance <= one.interval.high, name
    code, said = command("metrics", tmp_path / "run" / "items.jsonl", "--json")
    assert code == 0, said
    measured = json.loads(said)
    assert measured["overall"]["metrics"]["order_flips"]["value"] == found["order_flips"]
    assert set(measured["by"]) == {"kind"}  # no group for each item that has an opposite


@pytest.mark.parametrize("ask", [EVERY, "wordings,orders"])
def test_a_preference_for_the_first_option_is_named(photos: Path, ask: str) -> None:
    said = lines_of(Simulated(first=1.0), photos, ask)[1]
    assert "below chance" in said and "order of the options changes its answer on 100.0%" in said
    assert "doctor" not in said


def test_the_page_shows_what_changes_an_answer_and_what_was_said(runs: Path, tmp_path: Path) -> None:
    code, _ = command("report", runs / "coin", "--out", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert code == 0 and "What changes an answer" in page and not re.search(r"\bnan\b", page, re.IGNORECASE)
    for words in ("the order of the options", "the words of the text", "the words of the question", "nothing: asked"):
        assert f'<span class="name">{words}' in page
    assert page.count('class="flips"') == 4 and "an addition to the question" not in page
    articles = page.split("<article")[1:]
    assert len(articles) == 24 and all("data:image/jpeg" in one for one in articles)
    assert all(one.count('class="said"') == 6 and "A: right" in one and "B: right" in one for one in articles)


def test_a_page_with_scores_and_answers(photos: Path, tmp_path: Path) -> None:
    evaluate(Scorer(), items(40), images=photos, out=tmp_path / "runs" / "scores")
    evaluate(
        Simulated(flip=0.4), items(40), images=photos, out=tmp_path / "runs" / "answers", ask=parse_ask("wordings")
    )
    code, said = command("report", tmp_path / "runs", "--out", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert code == 0, said
    assert not re.search(r"\bnan\b", page, re.IGNORECASE)
    assert len(re.findall(r"[\d.]+ brittle</span>", page)) == 1  # the figure of orders has the scores alone
    assert "answers answers questions instead of giving scores; by chance: Original accuracy 50.0" in page


def test_compare_and_a_gate_on_order_flips(runs: Path) -> None:
    code, said = command("compare", runs / "good", runs / "coin", "--fail-if-worse", "order_flips:5")
    assert code == 1 and "margin" not in said and "nan" not in said
    assert command("compare", runs / "coin", runs / "good", "--fail-if-worse", "order_flips:5")[0] == 0


def test_runs_without_repeats_are_compared(photos: Path, tmp_path: Path) -> None:
    for name, model in {"a": Simulated(), "b": Simulated(flip=0.5)}.items():
        evaluate(model, items(40), images=photos, out=tmp_path / name, ask=parse_ask("wordings,orders"))
    code, said = command("compare", tmp_path / "a", tmp_path / "b")
    assert code == 0 and "wording flips" in said and "wording effect" not in said


def test_fewer_first_options_are_not_better(photos: Path, tmp_path: Path) -> None:
    for name, model in {"first": Simulated(first=0.8), "even": Simulated()}.items():
        evaluate(model, items(100), images=photos, out=tmp_path / name, ask=parse_ask("orders"))
    _, said = command("compare", tmp_path / "first", tmp_path / "even")
    assert re.search(r"better on [^;]*accuracy \+[^;]* points; different on first option -\d", " ".join(said.split()))


def test_a_frame_has_no_score_of_an_answer(photos: Path) -> None:
    pytest.importorskip("pandas")
    asked = items(20)
    found = evaluate(Simulated(), asked, images=photos, ask=parse_ask("wordings,orders"))
    run = Run(found.record, found.rows, given=asked)
    rows = run.items.to_frame().to_dict("records")
    assert all(row["score_caption"] is None and row["accuracy"] in (0.0, 1.0) for row in rows)
    assert not any(
        isinstance(value, float) and math.isnan(value) for value in run.to_frame().to_dict("records")[0].values()
    )
