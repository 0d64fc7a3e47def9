"""Errors in the items or their photos are reported before torch is loaded, which takes seconds."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

import equipoise

ROWS = "image,caption,negative\n0.png,a dog,a cat\n1.png,a cat,a dog\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "stub").mkdir()
    (tmp_path / "stub" / "torch.py").write_text("raise RuntimeError('torch was loaded')")
    (tmp_path / "items.csv").write_text(ROWS)
    (tmp_path / "photos").mkdir()
    Image.new("RGB", (4, 4)).save(tmp_path / "photos" / "0.png")
    return tmp_path


RUN = """
import contextlib, io, json, sys
from equipoise.cli import main
for arguments in json.loads(sys.argv[1]):
    sys.argv = ["equipoise", *arguments]
    with contextlib.redirect_stderr(io.StringIO()) as said, contextlib.redirect_stdout(io.StringIO()):
        try:
            main()
        except SystemExit as ended:
            code = ended.code or 0
    print(json.dumps([code, said.getvalue()]))
"""


def calls(folder: Path, *commands: tuple[str, ...]) -> list[tuple[int, str]]:
    """Exit codes and standard errors of commands, one after the other in one fresh process."""
    path = os.pathsep.join([str(folder / "stub"), str(Path(equipoise.__file__).parents[1])])
    done = subprocess.run(
        [sys.executable, "-c", RUN, json.dumps(commands)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path, "EQUIPOISE_CACHE": str(folder / "cache")},
        capture_output=True,
        text=True,
    )
    found = [(int(code), said) for code, said in map(json.loads, done.stdout.splitlines())]
    assert len(found) == len(commands), done.stderr
    return found


def call(folder: Path, *arguments: str) -> tuple[int, str]:
    return calls(folder, arguments)[0]


def test_what_needs_no_model(folder: Path) -> None:
    (folder / "none.csv").write_text("caption,negative\na dog,a cat\n")
    told: dict[tuple[str, ...], str] = {
        ("world", "items.csv"): "2 items need their images: name the folder they are in with --images DIR",
        ("world", "items.csv", "--images", "nowhere"): "nowhere: no such folder",
        ("world", "items.csv", "--images", "photos"): "1 of 2 images are missing below photos:\n  1.png",
        ("world", "none.csv", "--images", "photos"): "no column image (paths below --images); found caption, negative",
        ("whirled", "items.csv", "--images", "photos", "--allow-missing"): "not a model spec",
    }
    fine = ("world", "items.csv", "--images", "photos", "--allow-missing")  # it meets the stub: else all would pass
    *refused, (_, met) = calls(folder, *(("eval", model, "--bench", *rest) for model, *rest in (*told, fine)))
    for (code, error), words in zip(refused, told.values(), strict=True):
        assert code == 2 and words in error and "torch was" not in error, error
    assert "torch was loaded" in met


def test_the_doctor_and_a_wrong_device_need_no_torch(folder: Path) -> None:
    files = ("--items", "items.csv", "--images", "photos", "--model", "world", "--out", "run")
    verbs = (("eval", "world", "--bench", "items.csv", "--images", "photos"), ("train", "hn_only", *files))
    found = calls(folder, *((*verb, "--device", "tpu") for verb in verbs), ("doctor",))
    assert "torch was loaded" not in found.pop()[1]
    for code, error in found:
        assert code == 2 and "--device tpu is not known; use auto, cpu, cuda or mps" in " ".join(error.split()), error
        assert "torch was" not in error and "loading" not in error


@pytest.mark.skipif(any(Path("/dev").glob("nvidia[0-9c]*")), reason="this machine has a GPU")
def test_a_missing_gpu_is_reported_without_torch(folder: Path) -> None:
    code, error = call(folder, "eval", "world", "--bench", "items.csv", "--images", "photos", "--device", "cuda")
    assert code == 2 and error == "error: --device cuda: this machine has no GPU; use --device cpu\n"


@pytest.mark.slow
def test_the_folder_of_another_run_is_refused_without_torch(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Image.new("RGB", (4, 4)).save(folder / "photos" / "1.png")
    (folder / "own.py").write_text(
        "import numpy as np\n"
        "class Model:\n"
        "    card = {'spec': 'py:own:Model', 'digest': '1'}\n"
        "    def embed_images(self, images): return np.ones((len(images), 2))\n"
        "    def embed_texts(self, texts): return np.array([[len(text), 1.0] for text in texts])\n"
    )
    asked = ("--bench", "items.csv", "--images", "photos", "--out", "run")
    stub = (folder / "stub" / "torch.py").rename(folder / "torch.away")
    code, error = call(folder, "eval", "py:own:Model", *asked, "--skip-preflight")
    assert code == 0, error
    stub.rename(folder / "stub" / "torch.py")
    (folder / "mine" / "items").mkdir(parents=True)
    (folder / "mine" / "items" / "items.jsonl").write_text("MY THESIS")
    (folder / "thesis").write_text("MY THESIS")
    found = calls(
        folder,
        ("eval", "world", *asked),
        ("eval", "py:own:Model", *asked, "--limit", "1"),
        ("eval", "world", *asked[:-1], "mine"),
        ("eval", "world", *asked[:-1], "thesis"),
        ("demo", "--out", "thesis"),
    )
    assert {code for code, _ in found} == {2}
    model, items, mine, *thesis = (error for _, error in found)
    assert "run/items holds another run:\n  model spec: there py:own:Model, here world\n" in model
    assert "run/items holds another run:\n  benchmark items sha256" in items
    assert "mine/items is not empty and holds no run of equipoise eval: items.jsonl" in mine
    assert thesis == ["error: --out thesis: expected a folder, found a file; choose another --out\n"] * 2


@pytest.mark.slow
def test_nothing_is_computed_for_a_file_of_the_users(folder: Path) -> None:
    Image.new("RGB", (4, 4)).save(folder / "photos" / "1.png")
    (folder / "mine.jsonl").write_text("MY THESIS")
    code, error = call(folder, "perturb", "items.csv", "--add-positives", "--out", "mine.jsonl")
    assert code == 2 and error.startswith("error: mine.jsonl: it is already there"), error
    (folder / "items.jsonl").write_text('{"id": "1", "image": {"path": "0.png"}, "caption": "a dog"}\n')
    (folder / "stub" / "torch.py").unlink()  # the search for hard images needs it, but no model that is not there
    mining = ("--hard-images", "hf:absent/", "--images", "photos")
    code, error = call(folder, "perturb", "items.jsonl", *mining, "--out", "mine.jsonl")
    assert code == 2 and error.startswith("error: mine.jsonl: it is already there"), error
    assert (folder / "mine.jsonl").read_text() == "MY THESIS"
