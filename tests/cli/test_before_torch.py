"""What is wrong with the items or their photos is said before torch is loaded, which takes seconds."""

from __future__ import annotations

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


def call(folder: Path, *arguments: str) -> tuple[int, str]:
    path = os.pathsep.join([str(folder / "stub"), str(Path(equipoise.__file__).parents[1])])
    done = subprocess.run(
        [sys.executable, "-m", "equipoise", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path, "EQUIPOISE_CACHE": str(folder / "cache")},
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    ("rows", "arguments", "told"),
    [
        (ROWS, (), "2 items need their images: name the folder they are in with --images DIR"),
        (ROWS, ("--images", "nowhere"), "nowhere: no such folder"),
        (ROWS, ("--images", "photos"), "1 of 2 images are missing below photos:\n  1.png"),
        (
            "caption,negative\na dog,a cat\n",
            ("--images", "photos"),
            "no column image (paths below --images); found caption, negative",
        ),
    ],
)
def test_what_needs_no_model(folder: Path, rows: str, arguments: tuple[str, ...], told: str) -> None:
    (folder / "items.csv").write_text(rows)
    code, error = call(folder, "eval", "world", "--bench", "items.csv", *arguments)
    assert code == 2 and told in error and "torch" not in error, error


def test_the_stub_is_met_where_nothing_is_wrong(folder: Path) -> None:
    """Else the others would pass whatever is loaded; and a wrong name of a model costs nothing either."""
    asked = ("--bench", "items.csv", "--images", "photos", "--allow-missing")
    assert "torch was loaded" in call(folder, "eval", "world", *asked)[1]
    code, error = call(folder, "eval", "whirled", *asked)
    assert code == 2 and "not a model spec" in error and "torch was" not in error


def test_the_doctor_and_a_wrong_device_need_no_torch(folder: Path) -> None:
    assert "torch was loaded" not in call(folder, "doctor")[1]
    files = ("--items", "items.csv", "--images", "photos", "--model", "world", "--out", "run")
    for verb in (("eval", "world", "--bench", "items.csv", "--images", "photos"), ("train", "hn_only", *files)):
        code, error = call(folder, *verb, "--device", "tpu")
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
    code, error = call(folder, "eval", "world", *asked)
    assert code == 2 and "run/items holds another run:\n  model spec: there py:own:Model, here world\n" in error, error
    code, error = call(folder, "eval", "py:own:Model", *asked, "--limit", "1")
    assert code == 2 and "run/items holds another run:\n  benchmark items sha256" in error, error
    (folder / "mine" / "items").mkdir(parents=True)
    (folder / "mine" / "items" / "items.jsonl").write_text("MY THESIS")
    code, error = call(folder, "eval", "world", *asked[:-1], "mine")
    assert code == 2 and "mine/items is not empty and holds no run of equipoise eval: items.jsonl" in error, error
    (folder / "thesis").write_text("MY THESIS")
    for verb in (("eval", "world", *asked[:-1], "thesis"), ("demo", "--out", "thesis")):
        code, error = call(folder, *verb)
        assert code == 2 and error == "error: --out thesis: expected a folder, found a file; choose another --out\n"


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
