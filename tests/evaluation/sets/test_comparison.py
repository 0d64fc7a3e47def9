"""Retention: paired differences of two runs, and the commands that make and show them."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.evaluation.sets.helpers import COLOURS, Eye, paint

from equipoise.cli import main
from equipoise.core.errors import UserError
from equipoise.core.stats import wilson
from equipoise.evaluation.comparing.folders import compare_sets
from equipoise.evaluation.record import Comparison
from equipoise.evaluation.results import read_run
from equipoise.evaluation.run import evaluate_set
from equipoise.evaluation.sets.kinds import open_set


class Worse(Eye):
    """It cannot see green any more."""

    card = {"spec": "worse", "digest": "9"}  # noqa: RUF012

    def embed_images(self, images: Any) -> Any:
        return super().embed_images(images) * [1, 0, 1]


def difference(before: Path, after: Path) -> Comparison:
    return compare_sets("colours", "before", "after", [[before], [after]], 0)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for colour in COLOURS:
        for number in range(3):
            paint(tmp_path / "colours" / colour / f"{number}.png", colour, 10 * number)
    return tmp_path


def test_paired_differences(folder: Path) -> None:
    data = open_set("zeroshot:" + str(folder / "colours"))
    for model in (Eye(), Worse()):
        evaluate_set(model, data, out=folder / model.card["spec"], workers=1)
    found = difference(folder / "eye", folder / "worse").changes
    before, after = (
        json.loads((folder / name / "result.json").read_text())["metrics"]["overall"] for name in ("eye", "worse")
    )
    for name, change in found.items():
        wanted = after["metrics"][name]["value"] - before["metrics"][name]["value"]
        assert change.difference == pytest.approx(wanted)
        assert change.interval.low <= wanted <= change.interval.high
    assert found["accuracy@1"].difference < 0 and found["accuracy@1"].clear
    same = difference(folder / "eye", folder / "eye").changes["accuracy@1"]
    unseen = wilson(0, 18)[1]  # no photo differed, of 18: others may
    assert (same.difference, same.interval.low, same.interval.high, same.clear) == (0, -unseen, unseen, False)


def test_pairing_narrows_the_interval(folder: Path) -> None:
    """Items that both models find hard cancel: the difference is surer than two independent intervals say."""
    data = open_set("zeroshot:" + str(folder / "colours"))
    rng = np.random.default_rng(0)
    noise = {key: rng.normal(size=3) for key in range(100)}

    class Noisy(Eye):
        def __init__(self, name: str, share: float) -> None:
            super().__init__()
            self.card, self.share = {"spec": name, "digest": name}, share  # type: ignore[misc]

        def embed_images(self, images: Any) -> Any:
            seen = super().embed_images(images)
            return [row + 200 * noise[int(row.sum()) % 100] * self.share for row in seen]

    for model in (Noisy("a", 1.0), Noisy("b", 0.7)):
        evaluate_set(model, data, out=folder / model.card["spec"], workers=1)
    change = difference(folder / "a", folder / "b").changes["accuracy@1"]
    alone = json.loads((folder / "a" / "result.json").read_text())["metrics"]["overall"]["metrics"]["accuracy@1"][
        "interval"
    ]
    independent = math.sqrt(2) * (alone[1] - alone[0])
    assert change.difference != 0 and change.interval.high - change.interval.low < 0.65 * independent


def test_other_questions_and_other_photos_are_refused(folder: Path) -> None:
    data = open_set("zeroshot:" + str(folder / "colours"))
    evaluate_set(Eye(), data, out=folder / "a", workers=1)
    (folder / "t.txt").write_text("one {}\n")
    evaluate_set(
        Eye(), open_set("zeroshot:" + str(folder / "colours"), templates=folder / "t.txt"), out=folder / "b", workers=1
    )
    with pytest.raises(UserError, match="not asked the same"):
        difference(folder / "a", folder / "b")
    paint(folder / "colours" / "red" / "0.png", "red", 3)
    evaluate_set(Eye(), data, out=folder / "c", workers=1)
    with pytest.raises(UserError, match="different photos"):
        difference(folder / "a", folder / "c")


# ---------------------------------------------------------------------------- the commands

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], folder: Path) -> Run:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("EQUIPOISE_CACHE", str(folder / "cache"))
    monkeypatch.syspath_prepend(str(folder))
    tests = str(Path(__file__).resolve().parents[3])
    (folder / "painted.py").write_text(
        f"import sys; sys.path.insert(0, {tests!r})\n"
        "from tests.evaluation.sets.helpers import Eye\n"
        "class Worse(Eye):\n"
        "    card = {'spec': 'worse', 'digest': '9'}\n"
        "    def embed_images(self, images): return super().embed_images(images) * [1, 0, 1]\n"
        "def eye(): return Eye()\n"
        "def worse(): return Worse()\n"
    )

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["equipoise", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        shown = capsys.readouterr()
        code = ended.value.code
        return (code if isinstance(code, int) else 0), shown.out, shown.err

    return call


def test_eval_and_compare_from_the_command_line(run: Run, folder: Path) -> None:
    bench = ("--bench", "colours-zeroshot", "--source", "colours")
    code, out, err = run("eval", "--skip-preflight", "py:painted:eye", *bench, "--out", "before")
    assert code == 0 and "accuracy@1" in out and "100.0" in out and "18" in out, err
    assert (folder / "before" / "colours-zeroshot" / "result.json").is_file()
    code, _, err = run("eval", "--skip-preflight", "py:painted:eye", "--bench", "zeroshot:colours", "--out", "before")
    assert code == 0 and "read from" in err
    code, out, _ = run("eval", "--skip-preflight", "py:painted:worse", *bench, "--out", "after", "--json")
    assert code == 0 and json.loads(out)[0]["average"] == "classification"
    code, out, _ = run("compare", "before", "after")
    assert code == 0 and "colours-zeroshot (classification)" in out and "mean per-class recall" in out
    code, out, _ = run("compare", "before", "after", "--json")
    assert code == 0 and json.loads(out)["differences"][0]["changes"]["accuracy@1"]["clear"]
    assert run("compare", "before", "after", "--fail-if-worse", "accuracy@1:1")[0] == 1
    code, out, _ = run("report", "before", "--format", "csv")
    assert code == 0 and "mean_per_class_recall_low" in out
    code, _, err = run("compare", "before", "nothing")
    assert code == 2 and "no finished run" in err


@pytest.mark.slow
def test_compare_shows_runs_of_items_and_of_sets(run: Run, folder: Path) -> None:
    photo = {"path": "red/0.png", "box": None}
    item = {"id": "1", "image": photo, "caption": "red", "positives": [], "negatives": [{"text": "blue"}], "tags": {}}
    (folder / "items.jsonl").write_text(json.dumps(item) + "\n")
    for model, out in (("eye", "before"), ("worse", "after")):
        bench = ("--bench", "items.jsonl,zeroshot:colours", "--images", "colours")
        assert run("eval", "--skip-preflight", f"py:painted:{model}", *bench, "--out", out)[0] == 0
    code, out, _ = run("compare", "before", "after")
    assert code == 0 and "items (items)" in out and "colours-zeroshot (classification)" in out
    record = json.loads((folder / "before" / "items" / "result.json").read_text())
    metrics = record["metrics"]["overall"]["metrics"]
    assert "text_cosine_negative" in metrics and "text_cosine_positive" not in metrics


def test_bad_input_ends_with_2(run: Run) -> None:
    for arguments, words in (
        (("--bench", "zeroshot:no-such"), "no such file or folder"),
        (("--bench", "coco-retrieval"), "--source"),
        (("--bench", "imagenet-zeroshot"), "imagenet-zeroshot needs its folder: --source DIR"),
        (("--bench", "zeroshot:colours,zeroshot:colours", "--out", "x"), "one folder"),
        (("--bench", "zeroshot:colours", "--limit", "3"), "--limit counts items"),
    ):
        code, _, err = run("eval", "--skip-preflight", "py:painted:eye", *arguments)
        assert code == 2 and words in " ".join(err.split()), (arguments, err)


def test_a_number_edited_by_hand_is_refused_by_every_reader(folder: Path) -> None:
    evaluate_set(Eye(), open_set("zeroshot:" + str(folder / "colours")), out=folder / "run" / "x", workers=1)
    assert read_run(folder / "run" / "x")
    path = folder / "run" / "x" / "result.json"
    value = json.loads(path.read_text())
    next(iter(value["metrics"]["overall"]["metrics"].values()))["value"] = 0.123
    path.write_text(json.dumps(value))
    with pytest.raises(UserError, match="changed after the run"):
        read_run(folder / "run" / "x")
