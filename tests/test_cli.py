"""The command line as a user meets it: what it prints, what it refuses, and with which exit code."""

from __future__ import annotations

import csv
import io
import json
import os
import pickle
import struct
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer.main
from PIL import Image

from equipoise.cli import main
from equipoise.data.items import ImageRef, Item, texts, write_items

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """Run a command in an empty folder with a cache of its own: (exit code, standard output, standard error)."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EQUIPOISE_CACHE", str(tmp_path / "cache"))
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "mine.py").write_text(
        "import hashlib, numpy as np\n"
        "class Model:\n"
        "    def embed_images(self, images): return np.stack([self.v(im.tobytes()) for im in images])\n"
        "    def embed_texts(self, texts): return np.stack([self.v(t.encode()) for t in texts])\n"
        "    def v(self, raw): return np.random.default_rng(list(hashlib.sha256(raw).digest())).normal(size=8)\n"
    )

    def command(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["equipoise", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        printed = capsys.readouterr()
        assert "Traceback" not in printed.err + printed.out
        return int(ended.value.code or 0), printed.out, printed.err

    yield command  # type: ignore[misc]
    sys.modules.pop("mine", None)


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    folder = tmp_path / "photos"
    folder.mkdir()
    for index in range(6):
        pixels = np.random.default_rng(index).integers(0, 255, (40, 40, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / f"{index}.png")
    items = [
        Item(
            id=str(index),
            image=ImageRef(path=f"{index % 6}.png"),
            caption=f"a cat {index}",
            positives=texts(f"one cat {index}"),
            negatives=texts(f"a dog {index}"),
            tags={"split": "ab"[index % 2]},
        )
        for index in range(12)
    ]
    write_items(tmp_path / "items.jsonl", items)
    return folder


EVAL = ("eval", "py:mine:Model", "--bench", "items.jsonl", "--images", "photos")


# ---------------------------------------------------------------------------- what works


def test_eval_prints_a_table_and_keeps_the_run(run: Run, photos: Path, tmp_path: Path) -> None:
    code, out, said = run(*EVAL, "--out", "run")
    assert code == 0 and "not computed" not in said
    assert "12 items are too few" in " ".join(out.split()), (
        "a gain over judges who learned from twelve items says nothing"
    )
    assert "kept in run; look at it: equipoise report run --out report.html" in said
    for part in ("Orig.", "Aug. (drop)", "Brittleness", "ties", "items", "  a", "  b"):
        assert part in out
    record = json.loads((tmp_path / "run" / "items" / "result.json").read_text())
    assert record["n"]["scored"] == 12 and record["arguments"]["bench"] == "items.jsonl"
    passed = record["arguments"]
    assert (passed["limit"], passed["seed"], passed["no_cache"], passed["data"]) == (None, 0, False, "photos")
    before = (tmp_path / "run" / "items" / "result.json").read_bytes()
    code, again, said = run(*EVAL, "--out", "run")
    assert code == 0 and again == out and f"items: read from {Path('run') / 'items'}, not computed" in said
    assert (tmp_path / "run" / "items" / "result.json").read_bytes() == before


@pytest.mark.parametrize(("form", "mark"), [("md", "| Orig. |"), ("latex", r"\toprule"), ("csv", "original_low")])
def test_formats(form: str, mark: str, run: Run, photos: Path) -> None:
    code, out, _ = run(*EVAL, "--format", form)
    assert code == 0 and mark in out


def test_eval_as_json(run: Run, photos: Path) -> None:
    rows = json.loads(run(*EVAL, "--json")[1])
    assert rows[0]["n"] == 12 and 0 <= rows[0]["metrics"]["original"]["value"] <= 1


def test_several_benchmarks_are_one_document(run: Run, photos: Path, tmp_path: Path) -> None:
    (photos / "5.png").unlink()
    (tmp_path / "more.jsonl").write_text((tmp_path / "items.jsonl").read_text())
    command = ("eval", "py:mine:Model", "--bench", "items.jsonl,more.jsonl", "--images", "photos", "--allow-missing")
    caveat = "more: 2 of 12 items were NOT scored"
    code, out, err = run(*command, "--json")
    rows = json.loads(out)
    assert code == 0 and caveat in err
    assert [row["benchmark"] for row in rows if "skipped" in row] == ["items", "more"] and rows[0]["skipped"] == 2
    _, out, err = run(*command, "--format", "csv")
    assert out.count("original_low") == 1 and {row["benchmark"] for row in csv.DictReader(io.StringIO(out))} == {
        "items",
        "more",
    }
    assert caveat in err
    _, out, err = run(*command, "--format", "latex")
    assert out.count(r"\begin{tabular}") == 1 and caveat in err
    _, out, err = run(*command, "--format", "md")
    assert out.count("| Orig. |") == 2 and out.count("warning: 2 of 12 items were NOT scored") == 2
    assert caveat not in err, "it stands below each table, once"


def test_metrics_of_scores_made_elsewhere(run: Run, tmp_path: Path) -> None:
    lines = [
        {"id": "1", "image": "x", "caption": 0.3, "positives": [0.2], "negatives": [0.1], "tags": {"split": "a"}},
        {"id": "2", "image": "x", "caption": 0.3, "positives": [0.0], "negatives": [0.1], "tags": {"split": "b"}},
        {"id": "3", "image": "y", "caption": 0.1, "positives": [0.2], "negatives": [0.1], "tags": {"split": "b"}},
    ]
    (tmp_path / "scores.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    code, out, _ = run("metrics", "scores.jsonl", "--json")
    found = json.loads(out)
    assert code == 0
    assert (found["overall"]["n"], found["overall"]["ties"]) == (3, 1)
    shares = {name: number["value"] for name, number in found["overall"]["metrics"].items()}
    assert shares["original"] == pytest.approx(2 / 3)
    assert shares["augmented"] == shares["brittleness"] == pytest.approx(1 / 3)
    assert found["by"]["split"]["a"]["metrics"]["original"]["value"] == 1
    assert "split=b" in run("metrics", "scores.jsonl")[1]


def test_compare(run: Run, photos: Path, tmp_path: Path) -> None:
    (tmp_path / "mine2.py").write_text((tmp_path / "mine.py").read_text().replace("size=8", "size=9"))
    run(*EVAL, "--out", "one")
    run("eval", "py:mine2:Model", *EVAL[2:], "--out", "two")
    code, out, _ = run("compare", "one", "two")
    assert code == 0 and "]~" in out and "items" in out
    assert json.loads(run("compare", "one", "two", "--json")[1])["differences"][0]["n"] == 12


def _other_photos(photos: Path) -> None:
    other = photos.with_name("other")
    other.mkdir()
    for path in photos.iterdir():
        Image.open(path).rotate(180).save(other / path.name)


def test_other_photos_never_print_the_numbers_of_the_first(run: Run, photos: Path) -> None:
    _other_photos(photos)
    assert run(*EVAL, "--out", "run")[0] == 0
    code, out, error = run(*EVAL[:-1], "other", "--out", "run")
    assert (code, out) == (2, "") and "holds another run" in error and "images sha256" in " ".join(error.split())


def test_compare_refuses_other_photos(run: Run, photos: Path) -> None:
    _other_photos(photos)
    run(*EVAL, "--out", "one")
    run(*EVAL[:-1], "other", "--out", "two")
    refused(run("compare", "one", "two"), "were scored on different photos", "with the same --images")


def test_compare_does_not_choose_between_two_runs_of_one_benchmark(run: Run, photos: Path) -> None:
    for out in ("all/a", "all/b", "ref"):
        run(*EVAL, "--out", out)
    both = (str(Path("all/a/items")), str(Path("all/b/items")))
    refused(run("compare", "all", "ref"), "all: holds more than one run of items", *both)
    refused(run("compare", "ref", "all"), "all: holds more than one run of items", *both)
    assert run("compare", "ref", "all/b")[0] == 0


def test_build_and_check_ones_own_csv(run: Run, tmp_path: Path, photos: Path) -> None:
    (tmp_path / "mine.csv").write_text("image,caption,negative\n0.png,a cat,a dog\n1.png,a cow,a pig\n")
    code, out, _ = run("bench", "build", "mine.csv", "--out", "built.jsonl")
    assert code == 0 and "wrote 2 items" in out
    assert run("bench", "check", "built.jsonl", "--images", "photos")[0] == 0
    (photos / "1.png").unlink()
    code, out, _ = run("bench", "check", "built.jsonl", "--images", "photos")
    assert code == 1 and "1.png" in out


def test_train_list_is_read_on_two_screens_and_names_where_the_rest_is(run: Run) -> None:
    code, out, _ = run("train", "list")
    assert code == 0 and len(out.splitlines()) < 60
    assert "CE-CLIP" in out
    assert "`equipoise train RECIPE --help`" in out and "`equipoise train list --json`" in out
    found = {one["name"]: one for one in json.loads(run("train", "list", "--json")[1])}
    said = [line for name, one in found.items() for line in (name, f"    {one['about']}")]
    assert out.splitlines()[: len(said)] == said  # the list reads the source: it names what the recipes say themselves
    assert {"name": "hn_weight", "type": "number >= 0", "default": 1.0, "shared": False} in (
        found["hard_positives_kamath_2024"]["options"]
    )
    _, told, _ = run("train", "ce_clip_zhang_2024", "--help")
    told = " ".join(told.split())
    for fact in ("CVPR", "cmr_weight 0.4 number >= 0", "itc hn hn | plain | off", "batch_size 256", "seed 42"):
        assert fact in told
    assert "needs hard negatives (relation, attribute, object, action)" in told and "lr 5e-06 number > 0" in told


def test_train_has_help_for_itself_and_for_a_recipe(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    code, out, _ = run("train", "--help")
    assert code == 0 and "list" in out and "train RECIPE --help" in out and "py:module:function" in out
    code, out, _ = run("train", "fsc_clip_oh_2024", "--help")
    assert code == 0 and "train fsc_clip_oh_2024 [OPTIONS]" in out
    for part in ("smoothing", "0.02", "EMNLP", "--items", "--watch-images", "token features"):
        assert part in " ".join(out.split())
    assert "--items" in run("train", "--quick", "--help")[1]


def test_no_flag_is_negated_twice() -> None:
    from equipoise.cli import app

    def options(command: Any) -> list[Any]:
        below = getattr(command, "commands", {}).values()
        return [*command.params, *(option for one in below for option in options(one))]

    found = [option for option in options(typer.main.get_command(app)) if getattr(option, "is_flag", False)]
    assert len(found) > 5
    for option in found:
        assert not any(name.startswith("--no-no") for name in (*option.opts, *option.secondary_opts))
        assert not option.secondary_opts or option.default, f"{option.opts} is off anyway"


def test_bench_list_has_a_word_on_every_size_and_chance(run: Run) -> None:
    parts = {line.split("  ")[0]: line for line in run("bench", "list")[1].splitlines()}
    assert "chance: original 16.7" in parts["crepe"] and "chance: see `bench show`" in parts["ce-clip"]
    assert "size not published" in parts["aro-vg-r"]
    assert "28,748 items; chance: original 50.0" in parts["aro-vg-a"]


# ---------------------------------------------------------------------------- what is refused, with exit code 2


def refused(result: tuple[int, str, str], *parts: str) -> None:
    code, _, error = result
    message = " ".join(error.split())
    assert code == 2, error
    for part in parts:
        assert part in message, message


def test_broken_json_in_line_7(run: Run, photos: Path, tmp_path: Path) -> None:
    lines = (tmp_path / "items.jsonl").read_text().splitlines()
    lines[6] = lines[6][:40]
    lines[8] = lines[8].replace('"caption": "a cat 8"', '"caption": 8')
    (tmp_path / "items.jsonl").write_text("\n".join(lines))
    refused(run(*EVAL), "items.jsonl: 2 problems", "line 7: not JSON", "line 9: caption:", "found 8")


def test_unknown_benchmark(run: Run, photos: Path) -> None:
    refused(run("eval", "py:mine:Model", "--bench", "sugarcrep", "--images", "photos"), "Did you mean sugarcrepe")


def test_missing_images(run: Run, photos: Path) -> None:
    for index in range(6):
        (photos / f"{index}.png").unlink()
    refused(run(*EVAL), "6 of 6 images are missing", "0.png", "4.png", "and 1 more", "--allow-missing")


def test_a_truncated_jpeg(run: Run, photos: Path) -> None:
    Image.open(photos / "0.png").resize((200, 200)).save(photos / "whole.jpg")
    (photos / "0.png").write_bytes((photos / "whole.jpg").read_bytes()[:-600])
    refused(run(*EVAL), "0.png: corrupt", "--allow-missing")
    code, out, _ = run(*EVAL, "--allow-missing")
    assert code == 0 and out.count("warning: 2 of 12 items were NOT scored") == 1


def test_a_huge_header(run: Run, photos: Path) -> None:
    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", 20_000, 20_000, 8, 2, 0, 0, 0)
    data = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"\0" * 100))
    (photos / "0.png").write_bytes(data)
    refused(run(*EVAL), "0.png:", "pixels are refused")


def test_a_path_that_leaves(run: Run, photos: Path, tmp_path: Path) -> None:
    path = tmp_path / "items.jsonl"
    path.write_text(path.read_text().replace('"0.png"', '"../items.jsonl"'))
    refused(run(*EVAL), "line 1: image.path: expected a path below the image folder", "line 7: image.path")


def test_a_pickle_that_would_run_code(run: Run, photos: Path, tmp_path: Path) -> None:
    canary = tmp_path / "canary"

    class Attack:
        def __reduce__(self) -> Any:
            return Path.touch, (canary,)

    (tmp_path / "bad.pt").write_bytes(pickle.dumps({"state_dict": Attack()}))
    for spec in ("checkpoint:bad.pt?act=gelu", "paper:negclip@bad.pt"):
        refused(run("eval", spec, *EVAL[2:]), "bad.pt")
        assert not canary.exists()


def test_a_checkpoint_without_activation(run: Run, photos: Path, tmp_path: Path) -> None:
    import torch

    torch.save({"state_dict": {"visual.conv1.weight": torch.zeros(64, 3, 16, 16)}}, tmp_path / "plain.pt")
    refused(run("eval", "checkpoint:plain.pt", *EVAL[2:]), "act=quickgelu", "act=gelu")


def test_an_empty_file(run: Run, photos: Path, tmp_path: Path) -> None:
    (tmp_path / "items.jsonl").write_text("")
    refused(run(*EVAL), "holds no items")
    (tmp_path / "scores.jsonl").write_text("")
    refused(run("metrics", "scores.jsonl"), "holds no scores")


def test_a_result_from_the_future(run: Run, photos: Path, tmp_path: Path) -> None:
    run(*EVAL, "--out", "run")
    path = tmp_path / "run" / "items" / "result.json"
    path.write_text(path.read_text().replace('"schema": 4', '"schema": 7'))
    refused(run("compare", "run", "run"), "schema 7", "another version of equipoise", "Upgrade")
    refused(run(*EVAL, "--out", "run"), "schema 7")


def test_another_run_is_not_overwritten(run: Run, photos: Path) -> None:
    run(*EVAL, "--out", "run")
    refused(run(*EVAL, "--limit", "3", "--out", "run"), "holds another run")


@pytest.mark.slow
def test_a_tokenizer_that_does_not_fit(run: Run, photos: Path, tmp_path: Path) -> None:
    import torch
    from transformers import CLIPConfig, CLIPModel

    from equipoise.models.clip import ClipModel
    from equipoise.models.preprocess import clip_preprocess
    from equipoise.models.tokens import clip_tokenizer

    small = {"hidden_size": 64, "intermediate_size": 64, "num_attention_heads": 1, "num_hidden_layers": 1}
    vision = {**small, "image_size": 32, "patch_size": 16}
    torch.manual_seed(0)

    def network(words: int) -> Any:
        return CLIPModel(CLIPConfig(text_config={**small, "vocab_size": words}, vision_config=vision, projection_dim=8))

    model = ClipModel("test", network(49408), clip_tokenizer(), clip_preprocess(32), device="cpu")
    model.save(tmp_path / "model")
    code, out, _ = run("eval", "hf:model", *EVAL[2:])
    assert code == 0 and "hf:model" in out
    network(1000).save_pretrained(tmp_path / "model")
    refused(run("eval", "hf:model", *EVAL[2:]), "tokenizer")


def test_a_full_disk(run: Run, photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    monkeypatch.setattr("tempfile.mkstemp", lambda **_: (os.open("/dev/full", os.O_WRONLY), str(tmp_path / "part")))
    refused(run(*EVAL, "--out", "run"), "No space left on device", "nothing was changed")
    assert not (tmp_path / "run" / "items" / "result.json").exists()


def test_bench_build_overwrites_no_other_file(run: Run, photos: Path, tmp_path: Path) -> None:
    build = ("bench", "build", "items.jsonl", "--out")
    for name in ("thesis.jsonl", "thesis.parquet"):
        (tmp_path / name).write_text("mine\n")
        refused(run(*build, name), f"{name}: it is already there", "Choose another --out, or delete this file")
        assert (tmp_path / name).read_text() == "mine\n"
    for name in ("new.jsonl", "new.parquet"):
        assert "wrote 12 items" in run(*build, name)[1]
        assert "already holds these 12 items" in run(*build, name)[1]
    (tmp_path / "short.csv").write_text("id,caption,negative\n1,a cat,a dog\n")
    refused(run("bench", "build", "short.csv", "--out", "new.jsonl"), "nothing is overwritten")
    os.mkfifo(tmp_path / "pipe.jsonl")
    refused(run(*build, "pipe.jsonl"), "a pipe, not a plain file")


def test_two_evaluations_at_once(run: Run, photos: Path, tmp_path: Path) -> None:
    from equipoise.core.run_folder import locked

    with locked(tmp_path / "run" / "items"):
        refused(run(*EVAL, "--out", "run", "--seed", "3"), "another run is writing here")


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("eval", "nonsense", *EVAL[2:]), "not a model spec"),
        (("eval", "py:mine:Nothing", *EVAL[2:]), "Nothing"),
        (("eval", "hf:absent-folder/x", *EVAL[2:]), "absent-folder/x"),
        (("eval", "py:mine:Model", "--bench", "items.jsonl"), "--images"),
        (("eval", "py:mine:Model", "--bench", "items.jsonl", "--images", "absent"), "absent"),
        (("eval", "py:mine:Model", "--bench", "absent.jsonl", "--images", "photos"), "absent.jsonl"),
        ((*EVAL, "--format", "pdf"), "expected one of text"),
        ((*EVAL, "--batch-size", "0"), "batch-size"),
        ((*EVAL, "--limit", "0"), "--limit"),
        ((*EVAL, "--cache", "x", "--no-cache"), "exclude each other"),
        ((*EVAL, "--limit", "-1"), "--limit"),
        ((*EVAL, "--seed", "-1"), "--seed"),
        (("metrics", "absent.jsonl", "--seed", "-1"), "--seed"),
        (("compare", "one", "two", "--seed", "-1"), "--seed"),
        (("perturb", "captions.txt", "--seed", "-1"), "--seed"),
        (("eval", "py:mine:Model", "--bench", "", "--images", "photos"), "names no benchmark"),
        (("eval", "py:mine:Model", "--bench", " , ", "--images", "photos"), "names no benchmark"),
        (("metrics", "absent.jsonl"), "no such file"),
        (("compare", "one"), "two runs"),
        (("bench", "build", "replace", "--out", "x.jsonl"), "--source"),
        (("bench", "build", "replace-clean", "--out", "x.jsonl"), "--source"),
        (("bench", "build", "items.jsonl", "--out", "x.csv"), ".jsonl or .parquet"),
        (("train", "hn_only"), "--items"),
        (("train", "hn_onl"), "Did you mean hn_only"),
        (("train", "--quick"), "train needs a recipe"),
        (("train", "py:absent:recipe"), "absent"),
        (("evaluate",), "No such command"),
    ],
)
def test_other_slips(
    arguments: tuple[str, ...], part: str, run: Run, photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    refused(run(*arguments), part)


TRAIN_ON = ("--items", "items.jsonl", "--images", "photos", "--model", "world", "--out", "run")
TRAIN = ("train", "hn_only", "--quick", *TRAIN_ON)


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("--weight", "1"), "one for each of several --items"),
        (("--items", "items.jsonl", "--weight", "1", "--weight", "nan"), "--weight nan: expected a finite number"),
        (("--items", "items.jsonl", "--weight", "0", "--weight", "1"), "--weight 0.0: expected a finite number"),
        (("--set", "lr=nan"), "lr: input should be a finite number"),
        (("--set", "crop=0.9"), "crop:"),
        (("--set", "crop=1,0.5"), "crop: expected the smaller share first"),
        (("--watch", "items.jsonl"), "--watch-images DIR"),
        (("--watch", "items.jsonl", "--watch-images", "absent"), "absent is no folder"),
        (("--watch", "items.jsonl", "--watch-images", "run-of-mine"), "6 images are missing below run-of-mine"),
        (("--watch-images", "photos"), "--watch-images: name the items too"),
    ],
)
def test_train_refuses_before_it_begins(
    arguments: tuple[str, ...], part: str, run: Run, photos: Path, tmp_path: Path
) -> None:
    (tmp_path / "run-of-mine").mkdir()
    refused(run(*TRAIN, *arguments), part)
    assert not (tmp_path / "run").exists()


def test_train_reads_a_table_and_says_what_captions_without_images_need(run: Run, photos: Path, tmp_path: Path) -> None:
    first = json.loads((tmp_path / "items.jsonl").read_text().splitlines()[0])
    rows = [f"{first['image']['path']},a cat {n},a dog {n},one cat {n}" for n in range(8)]
    (tmp_path / "table.csv").write_text("\n".join(["image,caption,negative,positive", *rows]))
    few = ("--quick", "--set", "max_steps=1", "--set", "batch_size=4", "--model", "world", "--device", "cpu")
    code, out, err = run("train", "hn_only", "--items", "table.csv", "--images", "photos", "--out", "of-table", *few)
    assert code == 0 and "the model is of-table/model" in out, err
    (tmp_path / "bare.csv").write_text("caption,negative\na cat,a dog\n")
    found = run("train", "hn_only", "--items", "bare.csv", "--images", "photos", "--out", "of-bare", *few)
    refused(found, "1 of 1 items have none", "names the image of each caption")


@pytest.mark.slow
def test_train_watches_augmented_accuracy_and_takes_ones_own_recipe(run: Run, photos: Path, tmp_path: Path) -> None:
    (tmp_path / "my_recipes.py").write_text(
        "from equipoise.train.recipes import get_recipe\n"
        "def few(*, steps: int = 3): return get_recipe('control', quick=True, max_steps=steps, batch_size=6)\n"
    )
    watch = ("--watch", "items.jsonl", "--watch-images", "photos")
    sizes = ("--set", "crop=0.5,1", "--device", "cpu")
    asked = ("train", *TRAIN_ON, "py:my_recipes:few", "--set", "steps=2", *sizes)
    code, out, err = run(*asked, *watch)
    sys.modules.pop("my_recipes", None)
    assert code == 0 and "the model is run/model" in out, err
    assert "nothing was trained" not in err
    known = run(*asked)
    sys.modules.pop("my_recipes", None)
    assert known[0] == 0 and "run holds this very run, finished before: nothing was trained" in known[2]
    assert "another --out (from this model on: --model hf:run/model)" in known[2]
    judged = [json.loads(line) for line in (tmp_path / "run" / "log.jsonl").read_text().splitlines()]
    base, *steps = [one["metrics"]["augmented"] for one in judged if "metrics" in one]
    assert max(steps) <= base and "best on items.jsonl: no step beat the base; run/model is the last step" in out
    assert "warm-up shortened from 20 to 1 steps" in err
    described = json.loads((tmp_path / "run" / "run.json").read_text())["run"]
    assert described["recipe"] == "py:my_recipes:few" and described["options"] == {"steps": 2}
    assert described["crop"] == [0.5, 1.0] and described["warmup_steps"] == 1 and len(described["source"]) == 64
    assert (tmp_path / "run" / "best").exists()
    (tmp_path / "fewer.jsonl").write_text("\n".join((tmp_path / "items.jsonl").read_text().splitlines()[:4]))
    refused(run(*asked, "--watch", "fewer.jsonl", "--watch-images", "photos"), "run holds another run")  # part of it
    sys.modules.pop("my_recipes", None)
    card = (tmp_path / "run" / "model" / "README.md").read_text()
    assert "| augmented |" in card and "| original |" in card
    # What was trained on is no test, not even a part of it with other hard texts; the base was trained on none of it.
    (tmp_path / "part.jsonl").write_text("\n".join((tmp_path / "items.jsonl").read_text().splitlines()[:2]))
    asked = ("--images", "photos", "--no-cache", "--device", "cpu")
    _, out_of_it, told = run("eval", "hf:run/model", "--bench", "part.jsonl", *asked)
    assert "warning: 2 of 2 items were trained on" in out_of_it and "trained on" not in told, "once"
    assert "trained on" not in "".join(run("eval", "world", "--bench", "part.jsonl", *asked)[1:])
    # What it gained, and what it cost in retrieval, before and after, paired; and both are runs that `compare` takes.
    assert "run/before" in out and "run/after" in out and "text to image R@1" in out
    code, again, err = run("compare", "run/before", "run/after")
    assert code == 0 and "text to image R@1" in again, err


def test_the_best_checkpoint_is_that_of_augmented_accuracy(photos: Path, tmp_path: Path) -> None:
    from equipoise.cli.train import _evaluation

    lines = map(json.loads, (tmp_path / "items.jsonl").read_text().splitlines())
    plain = [json.dumps({**line, "positives": []}) for line in lines]
    (tmp_path / "plain.jsonl").write_text("\n".join(plain))
    for name, best in (("items", "augmented"), ("plain", "original")):
        evaluation = _evaluation(tmp_path / f"{name}.jsonl", photos)
        assert evaluation is not None and evaluation.best == best


def test_build_replace_clean_cleans_once(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from equipoise.benchmarks.replace import clean as replace_clean
    from equipoise.benchmarks.replace.words import LEXICON

    red = [["VG_100K/1.jpg", {"POS": ["red car"], "NEG": ["green car"]}]]
    other = [["VG_100K/2.jpg", {"POS": ["a dog"], "NEG": ["a cat"]}]]
    for kind in LEXICON["attributes"]:
        path = tmp_path / "vlc" / "Attribute" / "vg" / f"{kind}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(red * 2 if kind == "color" else other))
    calls = []
    clean = replace_clean.clean
    monkeypatch.setattr(replace_clean, "clean", lambda items: calls.append(1) or clean(items))
    build = ("bench", "build", "replace-clean", "--source", "vlc", "--splits", "attributes", "--out", "clean.jsonl")
    code, out, _ = run(*build)
    assert code == 0 and len(calls) == 1 and "wrote 1 items of replace-clean" in out
    assert "duplicate │ 1 │ 0 │" in " ".join(out.split())
    assert '"replace-clean-attributes/' in (tmp_path / "clean.jsonl").read_text()
