"""What strangers stumbled over with the README alone: said early, in plain words, with a way out."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from equipoise.cli import main

Run = Callable[..., tuple[int, str, str]]

MODEL = '''
import numpy as np

class Model:
    """Every text is as near as it is long."""
    def embed_images(self, images): return np.tile([1.0, 0.0], (len(images), 1))
    def embed_texts(self, texts): return np.array([[len(text), 9.0] for text in texts])
'''


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Iterator[Run]:
    """Run a command in a folder with three photos and a model: (exit code, standard output, standard error)."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EQUIPOISE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    Path("stumbles_model.py").write_text(MODEL)
    Path("photos").mkdir()
    for number in range(3):
        Image.fromarray(np.full((8, 8, 3), 80 * number, np.uint8)).save(f"photos/{number}.png")

    def command(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["equipoise", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        printed = capsys.readouterr()
        assert "Traceback" not in printed.err + printed.out
        return int(ended.value.code or 0), printed.out, printed.err

    yield command
    sys.modules.pop("stumbles_model", None)


EVAL = ("eval", "py:stumbles_model:Model", "--images", "photos")


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ("img,caption,negative", "no column image (paths below --images); found img, caption, negative. "
         "Did you mean img? Call it image."),
        ("Image,caption,negative", "Did you mean Image? Call it image."),
        ("filename,caption,negative", "Did you mean filename? Call it image."),
        ("mood,caption,negative", "found mood, caption, negative.\n"),
    ],
)  # fmt: skip
def test_a_table_without_the_column_image_is_refused_at_once(run: Run, header: str, said: str) -> None:
    Path("mine.csv").write_text(f"{header}\n0.png,a dog,a cat\n")
    for verb in (("bench", "check", "mine.csv", "--images", "photos"), (*EVAL, "--bench", "mine.csv", "--out", "o")):
        code, out, error = run(*verb)
        assert code == 2 and not out and "error: mine.csv, line 1: no column image" in error and said in error
    assert not Path("o").exists()
    assert run("bench", "check", "mine.csv")[0] == 0, "texts alone can be looked at"


def test_captions_without_images_are_told_where_images_come_from(run: Run) -> None:
    Path("caps.jsonl").write_text('{"id": "1", "caption": "a dog", "negatives": [{"text": "a cat"}]}\n')
    for verb in (("bench", "check", "caps.jsonl", "--images", "photos"), (*EVAL, "--bench", "caps.jsonl")):
        code, _, error = run(*verb)
        assert code == 2 and "caps.jsonl: none of its 1 items names an image" in error
        assert "a table with the columns image and caption" in error


def test_ones_own_tags_are_named_with_the_command_that_breaks_down_by_them(run: Run) -> None:
    Path("mine.csv").write_text("image,caption,negative,shape,size\n0.png,a dog,a cat,round,big\n1.png,b,c,flat,big\n")
    checked = run("bench", "check", "mine.csv", "--images", "photos")[1]
    assert "tags: shape (2 values), size (1 value); `equipoise metrics` breaks" in checked
    _, out, said = run(*EVAL, "--bench", "mine.csv", "--out", "o")
    assert "round" not in out and "breakdowns by shape, size: equipoise metrics o/mine/items.jsonl" in said
    shown = run("metrics", "o/mine/items.jsonl")[1]
    assert "round" in shown and "flat" in shown, "the command it names shows them"
    assert "with --out OUT, equipoise metrics OUT/mine/items.jsonl" in run(*EVAL, "--bench", "mine.csv")[2]
    Path("bare.csv").write_text("image,caption,negative\n0.png,a dog,a cat\n")
    assert "tags" not in run("bench", "check", "bare.csv")[1]
    assert "breakdowns" not in run(*EVAL, "--bench", "bare.csv", "--out", "p")[2]
