"""A model with a matching head through the one loop: it learns, is saved, loads again, resumes; misfits are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image
from safetensors.torch import load_file
from tests.models.scorers.test_xvlm import layout
from tests.train import matching
from typer.testing import CliRunner

from equipoise.cli import app
from equipoise.core.errors import UserError
from equipoise.data.items import write_items
from equipoise.models import load_model
from equipoise.train.recipes import get_recipe
from equipoise.train.run import loop
from equipoise.train.run.log import read_log
from equipoise.train.run.loop import Evaluation, Saving, train


def _run(tmp_path: Path, out: str, recipe: str = "ce_xvlm_zhang_2024", model: Any = None, **settings: Any) -> Path:
    chosen = get_recipe(recipe, batch_size=8, **{"epochs": 100, "max_steps": 6, "lr": 2e-3} | settings)
    return train(
        chosen,
        matching.items(tmp_path / "photos"),
        model or matching.blip(tmp_path / "blip"),
        tmp_path / out,
        images=tmp_path / "photos",
        saving=Saving(every=2 if chosen.max_steps == 6 else None),
        show=False,
    )


def _scores(model: Any, tmp_path: Path) -> list[list[float]]:
    """The scores of each item: its caption's, then its negatives'."""
    return [
        model.score_pairs(
            [Image.open(tmp_path / "photos" / item.image.path)] * (1 + len(item.negatives)),
            [item.caption, *(text.text for text in item.negatives)],
        ).tolist()
        for item in matching.items(tmp_path / "photos")
    ]


def _wins(model: Any, tmp_path: Path) -> int:
    return sum(scores[0] > max(scores[1:]) for scores in _scores(model, tmp_path))


@pytest.mark.slow
def test_it_learns_to_match(tmp_path: Path) -> None:
    before = matching.blip(tmp_path / "blip")
    finished = _run(tmp_path, "run", max_steps=50, lr=3e-3)
    log = read_log(tmp_path / "run")
    assert log[-1]["parts"]["itm"] < 0.2 * log[0]["parts"]["itm"]
    assert _wins(load_model(f"itm:{finished}", device="cpu"), tmp_path) == 8 > _wins(before, tmp_path)
    assert "itm:THIS_FOLDER" in (finished / "README.md").read_text()
    assert "BlipForImageTextRetrieval.from_pretrained" in (finished / "README.md").read_text()


@pytest.mark.slow
def test_the_saved_model_scores_as_in_the_run(tmp_path: Path) -> None:
    """The run's model is asked at its last step, the saved one after loading. Training goes on with its scale."""
    seen: dict[str, Any] = {}

    def judge(model: Any) -> dict[str, float]:
        seen["scores"] = _scores(model, tmp_path)
        return {"wins": 0.0}

    chosen = get_recipe("ce_xvlm_zhang_2024", batch_size=8, epochs=5, lr=2e-3)
    base = matching.blip(tmp_path / "blip")
    old = _scores(base, tmp_path)
    finished = train(
        chosen, matching.items(tmp_path / "photos"), base, tmp_path / "run", images=tmp_path / "photos",
        evaluation=Evaluation(judge), show=False,
    )  # fmt: skip
    loaded = load_model(f"itm:{finished}", device="cpu")
    assert _scores(loaded, tmp_path) == seen["scores"] != old
    assert _scores(base, tmp_path) == old  # the base stays as it was
    assert "logit_scale" not in dict(base.network.named_parameters())
    assert loaded.network.logit_scale.item() != pytest.approx(2.6593, abs=1e-4)  # log(1/0.07): it was trained
    assert _scores(load_model(f"itm:{finished}?head=itc", device="cpu"), tmp_path) != seen["scores"]
    again = _run(tmp_path, "again", model=loaded, max_steps=1, lr=1e-9)
    kept = load_model(f"itm:{again}", device="cpu")
    assert kept.network.logit_scale.item() == pytest.approx(loaded.network.logit_scale.item(), abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["blip", "xvlm"])
def test_a_stopped_run_ends_with_the_same_bits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    base = getattr(matching, kind)(tmp_path / kind)
    whole = _run(tmp_path, "whole", model=base)
    plain, taken = loop.backward, 0

    def stops(*arguments: Any, **options: Any) -> Any:
        nonlocal taken
        taken += 1
        if taken == 4:
            raise KeyError("stopped")
        return plain(*arguments, **options)

    monkeypatch.setattr(loop, "backward", stops)
    with pytest.raises(KeyError):
        _run(tmp_path, "cut", model=base)
    assert (tmp_path / "cut" / "latest").read_text() == "step-00000002\n"
    cut = _run(tmp_path, "cut", model=base)
    assert taken == 8  # 3 steps and the one that stopped, then the 4 that were left
    first, second = (load_file(folder / "model.safetensors") for folder in (whole, cut))
    assert first.keys() == second.keys() and "logit_scale" in first
    assert all(torch.equal(value, second[name]) for name, value in first.items())


@pytest.mark.slow
def test_xvlm_is_saved_in_its_own_layout(tmp_path: Path) -> None:
    """The file has the authors' names and shapes, a temperature, and our scale; it loads as a folder and as a file."""
    base = matching.xvlm(tmp_path / "xvlm")
    finished = _run(tmp_path, "run", "control_itm", model=base)
    theirs, saved = layout(), load_file(finished / "model.safetensors")
    assert saved.keys() == theirs.keys() | {"logit_scale"}
    assert all(saved[name].shape == value.shape for name, value in theirs.items())
    assert saved["temp"].item() == pytest.approx(0.07, rel=0.1)
    assert saved["logit_scale"].item() != pytest.approx(2.6593, abs=1e-4)  # log(1/0.07): it was trained
    models = [load_model(f"itm:{finished}{rest}", device="cpu") for rest in ("", "/model.safetensors")]
    assert _scores(models[0], tmp_path) == _scores(models[1], tmp_path) != _scores(base, tmp_path)
    (tmp_path / "copy").mkdir()
    base.save(tmp_path / "copy")  # untrained
    assert _scores(load_model(f"itm:{tmp_path / 'copy'}", device="cpu"), tmp_path) == _scores(base, tmp_path)
    assert "X-VLM's own code" in (finished / "README.md").read_text()


def test_wise_ft_lies_between(tmp_path: Path) -> None:
    base = load_file(tmp_path / "blip" / "model.safetensors") if matching.blip(tmp_path / "blip") else {}
    tuned, between = (load_file(_run(tmp_path, str(a), wise_ft=a) / "model.safetensors") for a in (1.0, 0.25))
    name = "itm_head.weight"
    torch.testing.assert_close(between[name], 0.75 * base[name] + 0.25 * tuned[name])


# ---------------------------------------------------------------------------- what does not go together


def test_a_clip_recipe_does_not_train_a_matching_head(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"has a matching head; only ce_xvlm_zhang_2024"):
        _run(tmp_path, "run", "control")


def test_a_clip_has_no_matching_head(tmp_path: Path, tiny_model: Any) -> None:
    with pytest.raises(UserError, match="tiny has no matching head"):
        _run(tmp_path, "run", "control_itm", tiny_model())


@pytest.mark.parametrize(
    ("settings", "why"), [({"lora": 2}, "with lora"), ({"freeze": "vision"}, "with freeze"), ({}, "with torchrun")]
)
def test_what_a_matching_head_is_not_trained_with(
    tmp_path: Path, settings: dict[str, Any], why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not settings:
        monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(UserError, match=why):
        _run(tmp_path, "run", "control_itm", **settings)
    assert not (tmp_path / "run").exists()


def test_the_command(tmp_path: Path) -> None:
    matching.blip(tmp_path / "blip")
    write_items(tmp_path / "items.jsonl", matching.items(tmp_path / "photos"))
    words = "--set batch_size=8 --set max_steps=2 --device cpu --workers 0".split()
    places = ["--items", tmp_path / "items.jsonl", "--images", tmp_path / "photos", "--out", tmp_path / "run"]
    watch = ["--watch", tmp_path / "items.jsonl", "--watch-images", tmp_path / "photos"]
    done = CliRunner().invoke(
        app,
        ["train", "control_itm", *map(str, places), "--model", f"itm:{tmp_path / 'blip'}", *words, *map(str, watch)],
    )
    assert done.exit_code == 0, done.output
    assert f"equipoise eval itm:{tmp_path / 'run' / 'model'} --bench" in done.output
    assert (tmp_path / "run" / "after" / "watch" / "result.json").exists()
