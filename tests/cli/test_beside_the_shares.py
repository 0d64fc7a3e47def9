"""Numbers other than shares: ceilings in `bench show` and in results, graded numbers in eval and metrics."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from equipoise.cli import main
from equipoise.cli.perturb import _separability

Run = Callable[..., tuple[int, str, str]]
MODEL = """
import numpy as np
class Model:
    def embed_images(self, images): return np.array([[1.0, float(np.asarray(i).mean()) / 255] for i in images])
    def embed_texts(self, texts): return np.array([[1.0, t.count("a") / 3] for t in texts])
"""


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EQUIPOISE_CACHE", str(tmp_path / "cache"))
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "own_model_beside.py").write_text(MODEL)
    edit = {"op": "swap", "target": "object"}
    rows = []
    for n, caption in enumerate(["a dog on the mat", "a cat and a dog"]):
        Image.fromarray(np.full((8, 8, 3), 90 * n, np.uint8)).save(tmp_path / f"{n}.png")
        wrong = " ".join(reversed(caption.split())) if n else "the bird"
        item = {"id": str(n), "image": {"path": f"{n}.png", "box": None}, "caption": caption, "positives": []}
        rows.append(item | {"negatives": [{"text": wrong, "edit": edit}], "tags": {"type": "xy"[n]}})
    (tmp_path / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["equipoise", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        output = capsys.readouterr()
        return int(ended.value.code or 0), output.out, output.err

    return call


def test_show_has_ceilings_where_the_files_are(run: Run, samples: Path) -> None:
    code, out, _ = run("bench", "show", "items.jsonl")
    assert code == 0
    assert "ceilings  1 of 2 captions with the words of a negative: without word order at most 50.0" in out
    code, out, _ = run("bench", "show", "sugarcrepe", "--source", str(samples / "sugarcrepe"), "--json")
    assert code == 0 and json.loads(out)["ceilings"]["items"] == 180
    code, out, _ = run("bench", "show", "sugarcrepe")
    assert code == 0 and "ceilings" not in out
    code, _, error = run("bench", "show", "sugarcrepe", "--source", "nowhere")
    assert code == 2 and "nowhere: no such folder" in error


def test_a_result_keeps_and_shows_both(run: Run, tmp_path: Path) -> None:
    arguments = (
        "eval",
        "py:own_model_beside:Model",
        "--bench",
        "items.jsonl",
        "--images",
        ".",
        "--verbose",
        "--skip-preflight",
    )
    code, out, error = run(*arguments, "--out", "run")
    assert code == 0, error
    out = " ".join(out.split())  # the lines below a table are wrapped to its width
    assert "mean over items, in units of the spread of s(c)" in out
    assert "LGIP's, over pairs of texts: sensitivity gap, mean s(c)-s(n)," in out
    assert "ceilings: 1 of 2 captions with the words of a negative" in out
    result = json.loads((tmp_path / "run" / "items" / "result.json").read_text())
    assert (result["ceilings"]["items"], result["ceilings"]["same_words"]) == (2, 1)
    assert result["edits"] == {"negative swap object": 2}
    graded = result["metrics"]["overall"]["metrics"]
    gap = result["metrics"]["by"]["type"]["y"]["metrics"]["sensitivity_gap"]
    assert gap["value"] == 0  # no word order in this model
    code, out, _ = run(*arguments, "--out", "run", "--json")  # read, not computed
    (line,) = json.loads(out)
    assert line["ceilings"] == result["ceilings"] and line["edits"] == result["edits"] and line["metrics"] == graded


def test_ceilings_are_of_what_was_scored(run: Run, tmp_path: Path) -> None:
    """They bound the numbers above them, which know nothing of an item whose photo is missing."""
    (tmp_path / "0.png").unlink()
    arguments = (
        "eval",
        "--skip-preflight",
        "py:own_model_beside:Model",
        "--bench",
        "items.jsonl",
        "--images",
        ".",
        "--allow-missing",
        "--verbose",
    )
    code, out, error = run(*arguments, "--out", "run")
    assert code == 0, error
    expected = "1 of 1 captions with the words of a negative: without word order at most 0.0"
    assert expected in " ".join(out.split())
    code, _, error = run("report", "run", "--out", "page.html")
    assert code == 0 and expected in (tmp_path / "page.html").read_text(), error


def test_metrics_has_them_too(run: Run, tmp_path: Path) -> None:
    score = {"id": "a", "caption": 0.5, "positives": [0.25], "negatives": [0.125]}
    rows = [score, {**score, "id": "b", "caption": 1.0}]
    (tmp_path / "scores.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    code, out, _ = run("metrics", "scores.jsonl")
    assert code == 0
    expected = (
        "in units of the spread of s(c), 0.25: s(c)-s(n) 2.50, s(p)-s(n) 0.50, |s(c)-s(p)| 2.00 LGIP's, over pairs"
    )
    assert expected in " ".join(out.split())
    code, out, _ = run("metrics", "scores.jsonl", "--json")
    assert json.loads(out)["overall"]["metrics"]["invariance_error"]["value"] == 0.5


def test_the_legend_is_below_every_table_and_chance_in_it(run: Run, tmp_path: Path) -> None:
    """A pip user has no docs/ folder: what explains the words must be a command that is there."""
    rows = [
        {"id": "a", "caption": 0.5, "positives": [0.25], "negatives": [0.125]},
        {"id": "b", "caption": 1.0, "positives": [], "negatives": [0.5, 0.5, 0.5]},
    ]
    (tmp_path / "scores.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    judged = run("metrics", "scores.jsonl")[1]
    scored = run(
        "eval",
        "py:own_model_beside:Model",
        "--bench",
        "items.jsonl",
        "--images",
        ".",
        "--no-cache",
        "--verbose",
        "--skip-preflight",
    )[1]
    for out, chance in ((judged, "Orig. 37.5, Aug. 33.3, Brittleness 33.3"), (scored, "Orig. 50.0")):
        out = " ".join(out.split())
        assert "percent [95% interval, images resampled]; a tie is never a win" in out
        assert out.count(f"by chance (an item's texts in random order): {chance}") == 1
        assert out.endswith("what each word means: equipoise metrics --help") and "docs/" not in out
    told = " ".join(run("metrics", "--help")[1].replace("│", " ").split())
    for word in ("Orig.", "Aug.", "drop", "Brittleness", "ties", "LGIP", "ceilings", "best blind"):
        assert word in told, word


def test_words_alone_say_that_eval_asks_something_else() -> None:
    """`perturb` asks about pairs, `eval` about all negatives of an item: 80 here and 60 there are no contradiction."""
    numbers = {"paired": {"accuracy": 0.8, "interval": [0.7, 0.9]}, "n": 40}
    told = " ".join(_separability({"originals / positives": None, "originals / negatives": numbers}))
    assert "80.0 [70, 90] against a negative" in told and "above all negatives of its item: another share" in told
