"""A metric is one row: GroupMatch, and a metric of the user's own that every verb shows."""

from __future__ import annotations

import itertools
import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from equipoise.cli import main
from equipoise.core.errors import OtherRun, UserError
from equipoise.data.items import ImageRef, Item, texts
from equipoise.evaluation import results
from equipoise.evaluation.averages import summarise
from equipoise.evaluation.metrics import Metric
from equipoise.evaluation.outcomes import outcomes_of
from equipoise.evaluation.run import Result, evaluate
from equipoise.evaluation.scores import ImageScores, ItemScores

Run = Callable[..., tuple[int, str, str]]

OWN = """
from equipoise.evaluation.metrics import Metric

REJECTION = Metric(
    name="rejection",
    short="Rej.",
    title="Rejection",
    meaning="share of items whose right captions all score below the highest hard negative",
    better="low",
    wins=lambda outcomes: outcomes.highest_right < outcomes.highest_negative,
    counts=lambda outcomes: outcomes.has_positive,
)
TAKEN = REJECTION.model_copy(update={"name": "drop"})
LONG = REJECTION.model_copy(update={"wins": lambda outcomes: [True]})
HIGH = REJECTION.model_copy(update={"wins": lambda outcomes: outcomes.caption + 2})
BROKEN = REJECTION.model_copy(update={"wins": lambda outcomes: outcomes.captoin})
"""


def test_a_metric_cannot_be_edited_by_leaving_its_total_out(tmp_path: Path) -> None:
    shutil.copytree(Path(__file__).parents[1] / "golden" / "run", tmp_path / "run")
    path = tmp_path / "run" / "result.json"
    result = json.loads(path.read_text())
    del result["metrics"]["overall"]["metrics"]["brittleness"]
    split = next(iter(result["metrics"]["by"]["split"].values()))
    split["metrics"]["brittleness"]["value"] = 0.0125
    path.write_text(json.dumps(result))
    with pytest.raises(UserError, match="changed after the run"):
        results.read_run(path.parent)


def test_group_match_asks_for_the_better_assignment() -> None:
    """arXiv 2510.07632: s(c0,i0) + s(c1,i1) > s(c0,i1) + s(c1,i0); a tie is no win, three by three is not asked."""
    rows, expected = [], []
    for number, (c0i0, c1i0, c0i1, c1i1) in enumerate(itertools.product([0.25, 0.5, 0.75, 1.0], repeat=4)):
        other = ImageScores(caption=c0i1, negatives=[c1i1])
        rows.append(ItemScores(id=str(number), caption=c0i0, negatives=[c1i0], negative_images=(other,), paired=True))
        expected.append(c0i0 + c1i1 > c0i1 + c1i0)
    more = rows[0].model_copy(update={"id": "loose", "paired": False})
    found = summarise(outcomes_of([*rows, more]), resamples=20).overall.metrics["group_match"]
    assert (found.value, found.n, found.chance) == (sum(expected) / len(expected), len(expected), 0.5)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """A folder with the user's metric, and ten items, which a blind model scores."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "own_metric", raising=False)
    Path("own_metric.py").write_text(OWN)
    items = [
        {
            "id": str(number),
            "image": {"path": f"{number}.png", "box": None},
            "caption": f"a cat {number}",
            "positives": [{"text": f"one cat {number}", "edit": None}],
            "negatives": [{"text": f"a cat {number} {'x' * (number % 4)}", "edit": None}],
        }
        for number in range(10)
    ]
    Path("toy.jsonl").write_text("".join(json.dumps(item) + "\n" for item in items))

    def command(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["equipoise", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        printed = capsys.readouterr()
        return int(ended.value.code or 0), printed.out, " ".join(printed.err.split())

    return command


def test_a_metric_of_ones_own_is_shown_everywhere(run: Run) -> None:
    own = ("--metric", "py:own_metric:REJECTION")
    for model, folder in (("blind:ngram", "ngram"), ("blind:length", "length"), ("blind:length", "third")):
        code, out, error = run("eval", model, "--bench", "toy.jsonl", "--out", folder, *own)
        assert code == 0 and "Rej." in out, error
    record = json.loads(Path("ngram/toy/result.json").read_text())
    number = record["metrics"]["overall"]["metrics"]["rejection"]
    assert number["n"] == 10 and number["own"]["spec"] == "py:own_metric:REJECTION"
    Path("own_metric.py").unlink()  # no later verb needs it
    assert "Rej." in run("compare", "ngram", "length")[1]
    assert "rejection:5" in run("compare", "ngram", "length", "--fail-if-worse", "rejection:5")[1]
    code, out, error = run("compare", "ngram", "length", "third")  # letters of three models
    assert "Rejection" in out, error
    assert "rejection_low" in run("report", "ngram", "--format", "csv")[1]
    assert run("report", "ngram", "--out", "page.html")[0] == 0
    assert "Rejection <span>↓</span>" in Path("page.html").read_text()
    assert "Rej." in run("report", "ngram", "length", "--format", "text")[1]
    assert run("report", "ngram", "--to", "every-eval-ever", "--out", "exported")[0] == 0
    assert any("rejection" in file.read_text() for file in Path("exported").rglob("*.json"))
    assert run("eval", "blind:ngram", "--bench", "toy.jsonl", "--out", "ngram")[0] == 2  # without it: another run
    assert run("compare", "ngram", "length", "--fail-if-worse", "rejections:5")[0] == 2


class Lengths:
    """Scores a text by its length."""

    card = {"spec": "lengths", "digest": "1"}  # noqa: RUF012
    reads_images = False

    def score_pairs(self, images: list[object], strings: list[str]) -> list[float]:
        return [float(len(string)) for string in strings]


@pytest.mark.parametrize("less", [None, "original", "augmented"])
def test_a_finished_run_is_measured_again_by_metrics_of_ones_own(tmp_path: Path, less: str | None) -> None:
    """Their names and files may be the same where what they call has changed."""

    def evaluated(high: float) -> Result:
        metric = Metric(
            name="above", short="Above", title="Above", meaning="share of captions above a number", less=less,
            wins=lambda outcomes: outcomes.caption > high, counts=lambda outcomes: outcomes.has_negative,
        )  # fmt: skip
        items = [
            Item(id=str(n), image=ImageRef(path="1.png"), caption="a" * n, negatives=texts("b" * (n + 1)))
            for n in range(1, 30)
        ]
        return evaluate(Lengths(), items, metrics=[metric], out=tmp_path / "run")

    first = evaluated(10)
    assert evaluated(10).read_from == tmp_path / "run"
    with pytest.raises(OtherRun, match=r"metric above:"):
        evaluated(20)
    assert results.read_outcomes(tmp_path / "run", first.record, first.rows).own["above"].sum() == 19
    assert ("above" in first.numbers.metrics) == (less != "augmented")  # which no item here has


def test_scores_made_elsewhere_are_measured_by_it_too(run: Run) -> None:
    line = {"id": "1", "caption": 0.1, "positives": [0.2], "negatives": [0.3]}
    Path("scores.jsonl").write_text(json.dumps(line) + "\n")
    found = json.loads(run("metrics", "scores.jsonl", "--metric", "py:own_metric:REJECTION", "--json")[1])
    assert found["overall"]["metrics"]["rejection"]["value"] == 1
    assert "Rej." in run("metrics", "scores.jsonl", "--metric", "py:own_metric:REJECTION")[1]


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("rejection", "expected py:module:name"),
        ("py:own_metric:OWN", "has no function or variable 'OWN'"),
        ("py:own_metric:TAKEN", "there is a metric 'drop' already"),
        ("py:own_metric:LONG", "expected one value an item from wins and counts (10 each)"),
        ("py:own_metric:HIGH", "must lie between 0 (lost) and 1 (won)"),
        ("py:own_metric:BROKEN", "your metric failed (AttributeError"),
    ],
)
def test_what_is_no_metric(run: Run, spec: str, words: str) -> None:
    code, _, error = run("eval", "blind:length", "--bench", "toy.jsonl", "--metric", spec)
    assert code == 2 and words in error, error
