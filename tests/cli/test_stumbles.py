"""Mistakes of strangers with only the README: reported early, in plain words, with a way out."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

Run = Callable[..., tuple[int, str, str]]

MODEL = '''
import numpy as np

class Model:
    """Every text is as near as it is long."""
    def embed_images(self, images): return np.tile([1.0, 0.0], (len(images), 1))
    def embed_texts(self, texts): return np.array([[len(text), 9.0] for text in texts])
'''


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, command_line: Run, tmp_path: Path) -> Iterator[Run]:
    """Run a command in a folder with three photos and a model: (exit code, standard output, standard error)."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EQUIPOISE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    Path("stumbles_model.py").write_text(MODEL)
    Path("photos").mkdir()
    for number in range(3):
        Image.fromarray(np.full((8, 8, 3), 80 * number, np.uint8)).save(f"photos/{number}.png")

    yield command_line
    sys.modules.pop("stumbles_model", None)


EVAL = ("eval", "py:stumbles_model:Model", "--images", "photos", "--skip-preflight")


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
    Path("mine.csv").write_text(
        "image,caption,negative,shape,size,by\n0.png,a dog,a cat,round,big,me\n1.png,b,c,flat,small,me\n"
    )
    checked = run("bench", "check", "mine.csv", "--images", "photos")[1]
    assert "tags: shape (2 values), size (2 values), by (1 value); `equipoise metrics` breaks" in checked
    _, out, said = run(*EVAL, "--bench", "mine.csv", "--out", "o")
    assert "round" not in out and "breakdowns by shape, size: equipoise metrics o/mine/items.jsonl" in said
    shown = run("metrics", "o/mine/items.jsonl")[1]
    assert "round" in shown and "flat" in shown, "the command it names shows them"
    Path("bare.csv").write_text("image,caption,negative\n0.png,a dog,a cat\n")
    assert "tags" not in run("bench", "check", "bare.csv")[1]
    assert "breakdowns" not in run(*EVAL, "--bench", "bare.csv", "--out", "p")[2]


TEXT = "A man in a red shirt is riding a brown horse on the beach."


def test_perturb_names_the_next_commands_that_fit_what_it_made(run: Run) -> None:
    """Without images neither eval nor train, which would refuse; without negatives no eval, and who writes them."""
    Path("caps.txt").write_text(TEXT)
    said = run("perturb", "caps.txt", "--recipe", "balanced", "--out", "a.jsonl", "--workers", "1")[1]
    assert "Next: equipoise audit a.jsonl" in said and "name no images" in said
    assert "a table with the columns image and caption" in said
    assert "equipoise eval" not in said and "equipoise train" not in said
    Path("caps.csv").write_text(f"image,caption\n0.png,{TEXT}\n")
    said = run("perturb", "caps.csv", "--recipe", "balanced", "--out", "b.jsonl", "--workers", "1")[1]
    assert "equipoise eval MODEL --bench b.jsonl --images FOLDER" in said
    assert "equipoise train hard_positives_kamath_2024 --items b.jsonl --images FOLDER --model MODEL --out RUN" in said
    said = run("perturb", "caps.csv", "--recipe", "hard_positives_rules", "--out", "c.jsonl", "--workers", "1")[1]
    assert "equipoise eval" not in said and "equipoise train hp_only --items c.jsonl" in said
    (added,) = [line.split()[1:] for line in said.splitlines() if "equipoise perturb" in line]
    code, said, _ = run(*added, "--workers", "1")
    assert code == 0 and "equipoise eval MODEL --bench c-both.jsonl" in said
    said = run("perturb", "caps.csv", "--recipe", "crepe_ma_2023", "--out", "d.jsonl", "--workers", "1")[1]
    assert "equipoise train hn_only --items d.jsonl" in said


def test_captions_lead_to_a_result_by_the_commands_that_are_printed(run: Run) -> None:
    """eval names a perturb command that works as printed, and perturb an eval command that scores what it wrote."""
    Path("my photos.csv").write_text(f"image,caption\n0.png,{TEXT}\n1.png,A black cat sits on a wooden table.\n")
    code, _, said = run(*EVAL, "--bench", "my photos.csv")
    assert code == 2
    (hint,) = re.findall(r"equipoise (perturb .*)", said.replace("\n", " "))
    code, said, _ = run(*shlex.split(hint.strip()), "--workers", "1")
    assert code == 0 and "my photos.items.jsonl" in said and "balanced" in said
    (judge,) = re.findall(r"equipoise eval MODEL (--bench .*) --images FOLDER", said)
    code, out, _ = run(*EVAL, *shlex.split(judge))
    assert code == 0 and "my photos" in out


def test_items_without_negatives_lead_to_a_command_that_adds_them(run: Run) -> None:
    Path("caps.csv").write_text(f"image,caption\n0.png,{TEXT}\n")
    assert run("perturb", "caps.csv", "--recipe", "hard_positives_rules", "--workers", "1")[0] == 0
    code, _, said = run(*EVAL, "--bench", "caps.items.jsonl")
    assert code == 2 and "equipoise perturb ITEMS --out MORE.jsonl" in said
    assert run("perturb", "caps.items.jsonl", "--out", "more.jsonl", "--workers", "1")[0] == 0
    assert run(*EVAL, "--bench", "more.jsonl")[0] == 0


def test_perturb_says_in_words_whose_items_are_there(run: Run) -> None:
    Path("caps.txt").write_text(TEXT)
    Path("more.txt").write_text(f"{TEXT}\n{TEXT}")
    command = ("--recipe", "balanced", "--out", "a.jsonl", "--workers", "1")
    assert run("perturb", "caps.txt", *command)[0] == 0
    code, _, said = run("perturb", "more.txt", *command)
    assert code == 2 and "a.jsonl holds another run:\n  the captions: there caps.txt, here more.txt\n" in said
    Path("caps.txt").write_text(f"{TEXT}\n{TEXT}")
    code, _, said = run("perturb", "caps.txt", *command)
    assert "the captions: there caps.txt, as it was then, here caps.txt, which has changed since\n" in said
    assert "Choose another --out, or delete this file" in said


def test_scores_may_be_a_table(run: Run) -> None:
    """The same numbers as the same scores in JSONL."""
    rows = ["1,a.jpg,0.31,0.30,0.28,,colour", "2,a.jpg,0.25,0.21,0.22,0.20,colour", "3,c.jpg,0.19,,0.19,0.10,size"]
    header = "id,image,caption,positive_1,negative_1,negative_2,kind"
    Path("s.csv").write_text("\n".join([header, *rows]))
    Path("t.csv").write_text(Path("s.csv").read_text().replace("_1", "").replace("_2", ""))
    lines = [
        {"id": "1", "image": "a.jpg", "caption": 0.31, "positives": [0.3], "negatives": [0.28],
         "tags": {"kind": "colour"}},
        {"id": "2", "image": "a.jpg", "caption": 0.25, "positives": [0.21], "negatives": [0.22, 0.2],
         "tags": {"kind": "colour"}},
        {"id": "3", "image": "c.jpg", "caption": 0.19, "negatives": [0.19, 0.1], "tags": {"kind": "size"}},
    ]  # fmt: skip
    Path("s.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    wanted = run("metrics", "s.jsonl", "--json")
    assert wanted[0] == 0 and json.loads(wanted[1])["overall"]["n"] == 3
    assert run("metrics", "s.csv", "--json") == run("metrics", "t.csv", "--json") == wanted


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (
            "id,caption,negative\n1,0.3,0.2\n1,0.3,high\n2,nan,0.1\n",
            "line 3: negatives.0: input should be a valid number",
        ),
        ("id,caption,negative\n1,0.3,0.2\n1,0.3,0.1\n2,,0.1\n", "'1' is already used in line 2"),
        ("id,caption,negative\n1,0.3,\n2,,0.1\n", "line 2: negatives: expected at least one score"),
        ("id,caption,negative\n1,0.3,0.1\n2,,0.1\n", "line 3: caption: "),
        ("id,caption,negative\n1,nan,0.1\n", "expected finite scores, found nan"),
        ("image,caption,negative\na.jpg,a dog,a cat\n", "equipoise eval MODEL --bench s.csv --images FOLDER"),
        ("id,score\n1,2\n", '"positives": [0.30], "negatives": [0.28]}'),
    ],
)
def test_tables_that_are_no_scores(run: Run, table: str, said: str) -> None:
    Path("s.csv").write_text(table)
    code, _, error = run("metrics", "s.csv")
    assert code == 2 and said in error, error


@pytest.mark.parametrize("verb", [("compare", "s.jsonl", "s.jsonl"), ("report", "s.jsonl", "--out", "r.html")])
def test_scores_are_no_run_and_it_is_said(run: Run, verb: tuple[str, ...]) -> None:
    Path("s.jsonl").write_text('{"id": "1", "caption": 0.3, "negatives": [0.2]}\n' * 2)
    code, _, error = run(*verb)
    assert code == 2 and "s.jsonl: a file, where the folder of a run was expected" in error
    assert "equipoise metrics s.jsonl" in error and "--out RUN" in error and "not JSON" not in error


# ---------------------------------------------------------------------------- eighty columns


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal of 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("equipoise.report.room", lambda: 80)


def too_wide(text: str) -> list[str]:
    """Commands stay whole, to be copied, and so do long paths."""
    wide = [line for line in text.splitlines() if len(line) > 80 and len(line.split()) > 1]
    return [line for line in wide if not line.strip().startswith("equipoise ")]


@pytest.mark.parametrize(
    "verb",
    [
        ("doctor",),
        ("perturb", "--list"),
        ("train", "list"),
        ("train", "hard_positives_kamath_2024", "--help"),
        ("train", "--help"),
    ],
)
def test_what_is_printed_fits_eighty_columns(run: Run, narrow: None, verb: tuple[str, ...]) -> None:
    _, out, _ = run(*verb)
    assert len(out.splitlines()) > 8 and not too_wide(out)


def test_the_summary_of_perturb_fits_and_its_commands_stay_whole(run: Run, narrow: None) -> None:
    Path("caps.csv").write_text(f"image,caption\n0.png,{TEXT}\n1.png,{'quux ' * 30}\n")
    _, out, _ = run("perturb", "caps.csv", "--recipe", "balanced", "--out", "b.jsonl", "--workers", "1")
    assert not too_wide(out) and "  no positive: the judge does not know enough words" in out
    assert "equipoise train hard_positives_kamath_2024 --items b.jsonl --images FOLDER --model MODEL --out RUN\n" in out


def test_an_audit_on_a_screen_has_tables_that_fit(run: Run, narrow: None, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [f"{n}.png,one red | dog {n},one blue dog {n}" for n in range(24)]
    lines.append("24.png,one red dog,one red dog")
    Path("mine.csv").write_text("\n".join(["image,caption,negative", *lines]))
    _, out, _ = run("audit", "mine.csv")
    assert not too_wide(out) and "read the same: 1 of 25" in out and "---" not in out
    assert "shortcut" in out and "right, percent" in out
    monkeypatch.setattr("equipoise.report.room", lambda: None)
    assert "| shortcut | what | n |" in run("audit", "mine.csv")[1], "a pipe gets the Markdown"


def test_quick_says_what_it_sets(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the help, with the numbers that it really sets, and before it trains."""
    from equipoise.cli import train
    from equipoise.train.recipes import get_recipe

    quick, lora = get_recipe("hn_only", quick=True), get_recipe("svlc_doveh_2023", quick=True)
    for name in ("batch_size", "epochs", "max_steps", "warmup_steps"):
        assert f"{name} {getattr(quick, name)}" in train.QUICK
    assert (quick.lr, lora.lr) == (6e-4, 6e-3) and "lr 6e-4 (LoRA: 6e-3)" in train.QUICK
    for verb in (("train", "--help"), ("train", "hn_only", "--help")):
        assert train.QUICK in " ".join(run(*verb)[1].split())
    told = train._changed(get_recipe("hn_only", epochs=3), get_recipe("hn_only", quick=True, epochs=3))
    assert told.startswith("--quick sets batch_size=128 (512), max_steps=200 (none), lr=0.0006 (5e-06)")
    assert "epochs" not in told, "that is the user's own"


def test_eval_says_at_once_what_it_loads(run: Run) -> None:
    Path("t.csv").write_text("image,caption,negative\n0.png,a dog that runs,a cat\n1.png,a bird that sings,a cow\n")
    _, _, said = run(*EVAL, "--bench", "t.csv")
    assert said.startswith("loading py:stumbles_model:Model ...")
    _, _, said = run(*EVAL, "--bench", "t.csv", "--quiet")
    assert "loading" not in said


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("finetune", "hn_only"), "No such command 'finetune'. Did you mean train?"),
        (("evl", "world"), "Did you mean eval?"),
        (("metrics", "some.jsonl"), "holds texts where scores were expected (caption \"a dog\"). To score them with a "
         "model: equipoise eval MODEL --bench some.jsonl --images FOLDER"),
        (("audit", "items.json"), "items.json: no such file. Did you mean items.jsonl?"),
        (("audit", "items.josnl"), "Did you mean items.jsonl?"),
        (("train", "control", "--set", "learning_rate=1", "--items", "i", "--model", "m", "--out", "o"),
         "Did you mean lr?"),
        ((*EVAL, "--bench", "SugarCrepe"), "holds none of the files of sugarcrepe"),
        (("eval", "world", "--bench", "world-replace-attributes", "--device", "gpu"),
         "--device gpu: this machine has no GPU"),
    ],
)  # fmt: skip
def test_other_peoples_words_are_understood(run: Run, command: tuple[str, ...], said: str) -> None:
    Path("items.jsonl").write_text("")
    if command[0] == "metrics":
        Path("some.jsonl").write_text('{"id": "1", "caption": "a dog", "negatives": [{"text": "a cat"}]}\n' * 2)
    code, _, error = run(*command)
    assert code == 2 and said in " ".join(error.split())


def test_an_option_of_the_recipe_is_given_with_set(run: Run) -> None:
    code, _, error = run("train", "hn_only", "--epochs", "3")
    assert code == 2 and "--set epochs=3" in error


def test_train_refuses_the_folder_of_another_run_before_the_model_is_loaded(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object, **__: object) -> None:
        raise AssertionError("the model was loaded")

    monkeypatch.setattr("equipoise.cli.train._model", never)
    Path("mine.csv").write_text("image,caption,negative\n0.png,a dog,a cat\n1.png,a cat,a dog\n")
    asked = ("train", "hn_only", "--items", "mine.csv", "--images", "photos", "--model", "world", "--out")
    Path("trained").mkdir()
    Path("trained/run.json").write_text('{"schema": 1, "command": "train", "run": {"recipe": "hp_only"}}')
    code, _, error = run(*asked, "trained")
    assert code == 2 and "trained holds another run:\n  recipe: there hp_only, here hn_only\n" in error
    Path("notes").mkdir()
    Path("notes/thesis.txt").write_text("mine")
    code, _, error = run(*asked, "notes")
    assert code == 2 and "notes is not empty and holds no run of equipoise train: thesis.txt" in error
