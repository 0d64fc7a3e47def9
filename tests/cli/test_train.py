"""equipoise train as a user meets it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from tests.cli.commands import Run, refused

from equipoise.train import recipe_rows


def test_train_list_is_read_on_two_screens_and_names_where_the_rest_is(run: Run) -> None:
    code, out, _ = run("train", "list")
    assert code == 0 and len(out.splitlines()) < 60
    assert "CE-CLIP" in out
    assert "`equipoise train RECIPE --help`" in out and "`equipoise train list --json`" in out
    found = {one["name"]: one for one in json.loads(run("train", "list", "--json")[1])}
    said = [line for name, one in found.items() for line in (name, f"    {one['about']}")]
    assert out.splitlines()[: len(said)] == said
    assert {"name": "hn_weight", "type": "number >= 0", "default": 1.0, "shared": False} in (
        found["hard_positives_kamath_2024"]["options"]
    )
    _, told, _ = run("train", "ce_clip_zhang_2024", "--help")
    told = " ".join(told.split())
    for fact in ("CVPR", "cmr_weight 0.4 number >= 0", "itc hn hn | plain | off", "batch_size 256", "seed 42"):
        assert fact in told
    assert "needs hard negatives (relation, attribute, object, action)" in told and "lr 5e-06 number > 0" in told


def test_a_recipe_is_listed_with_its_summary(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(recipe_rows.recipe_rows(), "gentle", recipe_rows.RecipeRow("kamath", "Ours."))
    assert "gentle\n    Ours." in run("train", "list")[1]


def test_train_has_help_for_itself_and_for_a_recipe(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    code, out, _ = run("train", "--help")
    assert code == 0 and "list" in out and "train RECIPE --help" in out and "py:module:function" in out
    code, out, _ = run("train", "fsc_clip_oh_2024", "--help")
    assert code == 0 and "train fsc_clip_oh_2024 [OPTIONS]" in out
    for part in ("smoothing", "0.02", "EMNLP", "--items", "--watch-images", "token features"):
        assert part in " ".join(out.split())
    assert "--items" in run("train", "--quick", "--help")[1]


@pytest.mark.parametrize(("option", "suggested"), [("--steps", "max_steps"), ("--hn-wight", "hn_weight")])
def test_a_wrong_option_suggests_one_that_the_recipe_has(run: Run, option: str, suggested: str) -> None:
    code, _, error = run("train", "hard_positives_kamath_2024", option, "3")
    assert code == 2 and option in error and f"--set {suggested}=" in error


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
        (("--watch", "items.jsonl", "--watch-images", "absent"), "absent is not a folder"),
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
    assert known[0] == 0 and "run already holds this finished run; nothing was trained" in known[2]
    assert "another --out (to start from this model: --model hf:run/model)" in known[2]
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
