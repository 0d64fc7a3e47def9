"""The scripts of examples/, as a stranger would call them, on the world."""

from __future__ import annotations

import runpy
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

from equipoise import load_items
from equipoise.core.errors import UserError
from equipoise.perturb import Caption, perturb_caption
from equipoise.world.splits import make_world

Run = Callable[..., subprocess.CompletedProcess[str]]
EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


def run(folder: Path, name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(EXAMPLES / name), *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture
def run_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """The same in this process, for what needs torch: it is loaded already."""

    def called(name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", [name, *arguments])
        code = 0
        try:
            runpy.run_path(str(EXAMPLES / name), run_name="__main__")
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
        return subprocess.CompletedProcess(sys.argv, code, *capsys.readouterr())

    return called


@pytest.mark.slow
def test_own_model(run_here: Run) -> None:
    done = run_here("own_model.py")
    assert done.returncode == 0, done.stderr
    assert "Brittleness" in done.stdout and "120" in done.stdout


@pytest.mark.slow
def test_gate(run_here: Run, tmp_path: Path) -> None:
    make_world(40, 0, tmp_path / "other", "test")
    same = run_here("ci_gate.py", "world", "world", "other/test-0.jsonl", "other", "gate")
    assert same.returncode == 0 and "no significant difference" in same.stdout, same.stderr
    broken = run_here("ci_gate.py", "world", "world", "other/none.jsonl", "other", "gate")
    assert broken.returncode == 2 and "none.jsonl" in broken.stderr


@pytest.mark.slow
def test_gate_fails_a_worse_model(run_here: Run, tmp_path: Path) -> None:
    items = load_items(make_world(60, 0, tmp_path / "other", "test"))
    wrong = {text.text for item in items for text in item.negatives}
    (tmp_path / "wrong.py").write_text(
        f"import numpy as np\nWRONG = {sorted(wrong)!r}\n"
        "class Model:\n"
        "    def embed_images(self, images): return np.ones((len(images), 2))\n"
        "    def embed_texts(self, texts): return np.array([[1.0, float(t in WRONG)] for t in texts])\n"
    )
    done = run_here("ci_gate.py", "world", "py:wrong:Model", "other/test-0.jsonl", "other", "gate")
    assert done.returncode == 1, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("needs", ["torch", "sentence_transformers", "open_clip"])
def test_a_loss_in_a_loop_of_ones_own(run_here: Run, needs: str) -> None:
    if find_spec(needs) is None:
        pytest.skip(f"{needs} is not installed")
    done = run_here(f"loop_{needs}.py")
    losses = [float(line.split("loss ")[1].split()[0]) for line in done.stdout.splitlines() if "loss" in line]
    assert done.returncode == 0 and len(losses) == 5 and all(0 < loss < 20 for loss in losses), done.stderr


def test_the_weekly_gate_names_options_that_exist() -> None:
    from typer.testing import CliRunner

    from equipoise.cli import app

    yaml = pytest.importorskip("yaml", reason="PyYAML comes with transformers")
    steps = yaml.safe_load((EXAMPLES / "weekly_gate.yml").read_text())["jobs"]["gate"]["steps"]
    installed = [step["run"] for step in steps if "pip install" in step.get("run", "")]
    assert "pip install ./equipoise" in installed[-1]  # nothing is on PyPI
    commands = [step["run"].split() for step in steps if step.get("run", "").startswith("equipoise")]
    assert len(commands) == 4
    for _, verb, *rest in commands:
        known = CliRunner().invoke(app, [verb, "--help"]).output
        assert not [word for word in rest if word.startswith("--") and word not in known]


@pytest.mark.slow
def test_corpus_to_training_set(tmp_path: Path) -> None:
    (tmp_path / "captions.txt").write_text(
        "A man in a red shirt rides a brown horse.\nTwo dogs and a cat sleep on a blue couch.\n"
    )
    done = run(tmp_path, "corpus_to_training_set.py", "captions.txt", "training.jsonl")
    assert done.returncode == 0, done.stderr
    assert "2 items" in done.stdout and "for instance" in done.stdout
    assert len(load_items(tmp_path / "training.jsonl")) == 2


def test_back_translation(monkeypatch: pytest.MonkeyPatch) -> None:
    """The recipe with a translator of ours: style kept, numbers kept, most words kept."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    import back_translation

    said = {"Two dogs run on the sand .": "two dogs are running on the sand.", "Two cats sleep .": "Three cats sleep."}
    monkeypatch.setattr(back_translation, "translated", lambda text, variable: said.get(text, text))
    kept = perturb_caption(back_translation.RECIPE, Caption("Two dogs run on the sand ."))
    assert [text.text for text in kept.positives] == ["Two dogs are running on the sand ."]
    assert kept.positives[0].edit.source == "run" and kept.positives[0].edit.to == "are running"
    dropped = perturb_caption(back_translation.RECIPE, Caption("Two cats sleep ."))
    assert [why for _, why in dropped.dropped] == ["the numbers changed"]
    same = perturb_caption(back_translation.RECIPE, Caption("A bird sings ."))
    assert [why for _, why in same.dropped] == ["the edit changes nothing"]
    monkeypatch.undo()
    monkeypatch.delenv("EN_FR", raising=False)
    with pytest.raises(UserError, match="set EN_FR"):
        back_translation.translated("a dog", "EN_FR")
