"""The loop from items to a folder that `hf:` loads, and what it says when something is wrong."""

from __future__ import annotations

import os
import signal
from dataclasses import replace

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

from equipoise.core.errors import Busy, OtherRun, UserError
from equipoise.core.files import read_json
from equipoise.data.images import FolderImages
from equipoise.data.items import Item
from equipoise.models.hf import load_folder
from equipoise.train.data.batches import Part
from equipoise.train.losses.base import Features
from equipoise.train.losses.clip import clip_loss
from equipoise.train.losses.cmr import Cmr
from equipoise.train.losses.itc_hn import itc_hn
from equipoise.train.recipe import Lora, Needs, Recipe, Slot
from equipoise.train.run.log import read_log
from equipoise.train.run.loop import Evaluation, Hardware, Saving, train
from equipoise.train.step.backward import learning_rate, warmup_used

RECIPE = Recipe(
    name="test", citation="Somebody 2024", terms={"clip": (1.0, clip_loss)}, batch_size=6, epochs=2, lr=3e-3,
    grad_clip=1.0,
)  # fmt: skip
NEGATIVES = replace(
    RECIPE,
    terms={"itc": (1.0, itc_hn), "cmr": (0.2, Cmr(["any"]))},
    needs=Needs(negatives=(Slot(),)),
)


@pytest.fixture
def run(tiny_model, tiny_items, tmp_path):
    items = tiny_items()

    def run(recipe: Recipe = RECIPE, out: str = "out", **options):
        options = {"items": items, "model": tiny_model(), "images": tmp_path / "images", "show": False, **options}
        if "steps" in options:  # so many steps need at most as many epochs
            recipe = replace(recipe, epochs=options["steps"], max_steps=options.pop("steps"))
        return train(recipe, options.pop("items"), options.pop("model"), tmp_path / out, **options)

    return run


def test_it_learns_and_leaves_a_folder_that_loads(run, tiny_model, tmp_path):
    model = tiny_model()
    before = {name: value.clone() for name, value in model.network.state_dict().items()}
    scores = iter([0.95, 0.1, 0.9, 0.5, 0.2])  # the first is the base's, which is no checkpoint
    seen = []

    def evaluate(tuned) -> dict[str, float]:
        assert not tuned.network.training and not torch.is_grad_enabled()
        seen.append(tuned.network.training)
        return {"score": next(scores)}

    folder = run(
        replace(RECIPE, epochs=4),
        model=model,
        evaluation=Evaluation(evaluate, best="score"),
        saving=Saving(keep=1),
    )
    for name, value in model.network.state_dict().items():
        assert torch.equal(value, before[name])  # the caller's model stays
    records = [record for record in read_log(tmp_path / "out") if "loss" in record]
    assert len(records) == 16 and len(seen) == 5
    judged = {
        record["step"]: record["metrics"]["score"] for record in read_log(tmp_path / "out") if "metrics" in record
    }
    assert judged == {0: 0.95, 4: 0.1, 8: 0.9, 12: 0.5, 16: 0.2}
    losses = [record["loss"] for record in records]
    assert sum(losses[-4:]) < sum(losses[:4])
    assert {"step", "epoch", "loss", "parts", "lr", "scale", "gradient_norm", "images_per_s"} <= records[0].keys()
    assert (tmp_path / "out" / "best").read_text().strip() == "step-00000008"
    assert sorted(path.name for path in (tmp_path / "out" / "checkpoints").iterdir()) == [
        "step-00000008",
        "step-00000016",
    ]
    tuned = load_folder(folder, spec="hf:x")
    assert tuned.card["weight_sha256"] != model.card["weight_sha256"]
    card = (folder / "README.md").read_text()
    for fact in ("Somebody 2024", model.card["weight_sha256"], "step 16 of 16", "| score | 0.2000 |"):
        assert fact in card
    assert (tmp_path / "out" / "loss.csv").read_text().count("\n") == 17


def test_what_is_watched_is_shown_in_percent_with_the_base_first(run, capsys, tmp_path):
    """And the base's numbers never stand on the card of a later step; a run that begins anew judges it anew."""
    judged = Evaluation(lambda model: {"augmented": 0.612, "loss": 0.5}, every=3)
    for out in ("out", "again"):
        (tmp_path / out).mkdir()
        if out == "again":  # killed before the first checkpoint
            (tmp_path / out / "run.json").write_text((tmp_path / "out" / "run.json").read_text())
            (tmp_path / out / "log.jsonl").write_text('{"step": 0, "metrics": {"augmented": 0.1}}\n')
        run(steps=4, out=out, show=True, evaluation=judged, saving=Saving(every=1, keep=4))
        shown = capsys.readouterr().err
        rows = [line.strip() for line in shown.splitlines() if "augmented" in line]
        assert rows == [f"step {step}: augmented 61.2 %  loss 0.5000" for step in ("0 (base)", "3", "4")]
        assert [record["step"] for record in read_log(tmp_path / out) if "metrics" in record] == [0, 3, 4]
    cards = [(tmp_path / "out" / "checkpoints" / f"step-0000000{n}" / "README.md").read_text() for n in (1, 4)]
    assert "Not evaluated during training" in cards[0] and "| augmented | 61.2 % |" in cards[1]


def test_a_finished_run_returns_at_once(run, monkeypatch):
    folder = run(steps=2)
    monkeypatch.setattr("equipoise.train.run.loop.backward", None)
    assert run(steps=2) == folder


def test_another_run_in_the_folder_is_refused(run):
    run(steps=1)
    with pytest.raises(OtherRun, match=r"seed: there 0, here 7"):
        run(replace(RECIPE, seed=7), steps=1)


def test_a_run_that_could_not_begin_does_not_keep_the_folder(run):
    with pytest.raises(UserError, match="make no batch of 600"):
        run(replace(RECIPE, batch_size=600), steps=1)
    assert run(replace(RECIPE, batch_size=6), steps=1).is_dir()


def test_two_at_once_in_one_folder(run, tmp_path):
    from equipoise.core.run_folder import locked

    with locked(tmp_path / "out"), pytest.raises(Busy, match="out"):
        run(steps=1)
    assert not list((tmp_path / "out").iterdir())
    refused = []

    def evaluate(model) -> dict[str, float]:
        with pytest.raises(Busy):
            run(steps=1)
        refused.append(model)
        return {"score": 1.0}

    run(steps=1, evaluation=Evaluation(evaluate))
    assert refused


def test_several_sources_are_mixed(run, tiny_items, tmp_path):
    items = tiny_items()
    parts = [
        Part(items[:12], FolderImages(tmp_path / "images"), 3),
        Part(items[12:], FolderImages(tmp_path / "images")),
    ]
    assert run(items=parts, images=None, steps=2).is_dir()


def test_lora_trains_adapters_and_exports_plain_weights(run, tiny_model, tmp_path):
    model = tiny_model()
    folder = run(replace(RECIPE, lora=Lora(rank=2, alpha=4.0)), evaluation=Evaluation(_norm))
    weights, base = load_file(folder / "model.safetensors"), model.network.state_dict()
    assert weights.keys() == load_file(run(out="full", steps=1) / "model.safetensors").keys()
    for name, value in weights.items():
        layer = ".weight" in name and "layer_norm" not in name and "layernorm" not in name and "layrnorm" not in name
        moved = (layer and name.startswith(("text_model.encoder", "vision_model.encoder"))) or "patch" in name
        assert torch.equal(value, base[name]) != moved, name
        if moved:
            assert torch.linalg.matrix_rank((value - base[name]).flatten(1), atol=1e-6) <= 2
    # what was evaluated with adapters is what was exported without
    measured = [record["metrics"] for record in read_log(tmp_path / "out") if "metrics" in record][-1]
    assert _norm(load_folder(folder, spec="x")) == pytest.approx(measured, rel=1e-5)


@torch.no_grad()
def _norm(model) -> dict[str, float]:
    ids, ends = model.pad(model.tokenize(["a red cat", "the dog"]))
    text = model.text_features(ids, ends)
    return {"text": float(text.norm()), "image": float(model.image_features(torch.ones(1, 3, 16, 16)).norm())}


@pytest.mark.parametrize("lora", [None, Lora(rank=2, alpha=4.0)])
def test_wise_ft_lies_between_base_and_finetuned(run, tiny_model, lora):
    tuned, base = load_file(run(replace(RECIPE, lora=lora)) / "model.safetensors"), tiny_model().network.state_dict()
    mixed = load_file(run(replace(RECIPE, lora=lora, wise_ft=0.25), out="wise") / "model.safetensors")
    for name, value in mixed.items():
        torch.testing.assert_close(value, 0.75 * base[name] + 0.25 * tuned[name], rtol=0, atol=1e-6)


def test_only_matrices_decay_and_the_scale_is_held(run, tiny_model):
    from equipoise.train.step.backward import clamp_scale, parameter_groups

    network = tiny_model().network
    decayed, others = parameter_groups(network, 0.1)
    names = {id(parameter): name for name, parameter in network.named_parameters()}
    assert {names[id(p)] for p in decayed["params"]} >= {"text_projection.weight"}
    assert not any(names[id(p)].endswith("bias") or "norm" in names[id(p)] for p in decayed["params"])
    assert "logit_scale" in {names[id(p)] for p in others["params"]} and others["weight_decay"] == 0
    with torch.no_grad():
        network.logit_scale.fill_(9.0)
    clamp_scale(network, 100.0)
    assert float(network.logit_scale.detach().exp()) == pytest.approx(100)


def test_the_learning_rate_warms_up_and_ends_near_zero():
    recipe = replace(RECIPE, lr=1.0, warmup_steps=10)
    rates = [learning_rate(recipe, step, 200) for step in range(200)]
    assert rates[:10] == pytest.approx([(step + 1) / 10 for step in range(10)])
    assert rates[10] == 1.0 and rates[105] == pytest.approx(0.5) and 0 < rates[-1] < 1e-3
    assert max(learning_rate(replace(recipe, warmup_steps=10_000), s, 20) for s in range(20)) == 1.0


def test_a_warm_up_is_at_most_a_tenth_of_the_steps():
    asked = {10_000: 2, 2: 2, 1: 1, 0: 0}
    assert {steps: warmup_used(replace(RECIPE, warmup_steps=steps), 20) for steps in asked} == asked


@pytest.mark.parametrize(("asked", "used"), [(10_000, 2), (2, 2)])
def test_the_warm_up_is_recorded_as_used_and_a_cut_is_said(run, tmp_path, capsys, asked, used):
    run(replace(RECIPE, warmup_steps=asked), steps=20, show=True)
    assert read_json(tmp_path / "out" / "run.json")["run"]["warmup_steps"] == used
    said = f"warm-up shortened from {asked:,} to {used:,} steps, because this run has only 20"
    assert (said in capsys.readouterr().err) == (asked > used)


# ---------------------------------------------------------------------------- what goes wrong


def test_items_that_do_not_fit_the_recipe(run, tiny_items):
    plain = [item.model_copy(update={"negatives": ()}) for item in tiny_items()]
    with pytest.raises(UserError, match=r"negatives: none of 24 items has a negative(.|\n)*equipoise perturb"):
        run(NEGATIVES, items=plain)
    with pytest.raises(UserError, match=r"24 have a negative at all"):
        every = [item.model_copy(update={"negatives": tiny_items()[1].negatives}) for item in tiny_items()]
        run(replace(NEGATIVES, needs=Needs(negatives=(Slot("negate", (("negate", None),)),))), items=every)
    with pytest.raises(
        UserError, match=r"2 problems\n  images: 1 of 25 items have none; the first is 'x'\n  hard images"
    ):
        run(replace(RECIPE, needs=Needs(hard_images=True)), items=[*tiny_items(), Item(id="x", caption="a cat")])


@pytest.mark.parametrize("weight", [0, -1, float("nan"), float("inf")])
def test_a_weight_is_a_finite_number_above_0(run, tiny_items, tmp_path, weight):
    source = FolderImages(tmp_path / "images")
    with pytest.raises(UserError, match="weights: every part needs a finite weight above 0"):
        run(items=[Part(tiny_items(), source), Part(tiny_items(), source, weight)], images=None)
    assert not (tmp_path / "out").exists()


def test_missing_arguments_are_named(run):
    with pytest.raises(UserError, match="--images"):
        run(images=None)
    with pytest.raises(UserError, match="no items"):
        run(items=[])
    with pytest.raises(UserError, match="batch size: expected at least 1, found 0"):
        run(replace(RECIPE, batch_size=0))
    with pytest.raises(UserError, match="'nonsense' is not among the metrics of evaluate: score"):
        run(steps=1, evaluation=Evaluation(lambda model: {"score": 1.0}, best="nonsense"))


class _Poisoned:
    """A loss that goes wrong at its nth call."""

    def __init__(self, at: int, factor: float) -> None:
        self.at, self.factor, self.calls = at, factor, 0

    def __call__(self, features: Features) -> Tensor:
        self.calls += 1
        return clip_loss(features) * (self.factor if self.calls >= self.at else 1)


@pytest.mark.parametrize(("factor", "said"), [(float("nan"), "loss nan"), (1e4, "the loss diverges")])
def test_a_lost_loss_stops_the_run(run, tmp_path, factor, said):
    recipe = replace(RECIPE, terms={"clip": (1.0, _Poisoned(23, factor))})
    with pytest.raises(UserError) as caught:
        run(recipe, steps=30, saving=Saving(every=10))
    message = str(caught.value)
    assert "step 23: " in message and said in message and "item-" in message
    assert str(tmp_path / "out" / "checkpoints" / "step-00000020") in message
    assert (tmp_path / "out" / "latest").read_text().strip() == "step-00000020"


def test_ctrl_c_saves_after_the_step_and_says_how_to_go_on(run, tmp_path, monkeypatch):
    from equipoise.train.run import loop

    plain, calls = loop.backward, []
    before = signal.getsignal(signal.SIGINT)  # ignored where the tests run in the background

    def interrupted(*arguments, **options):
        calls.append(1)
        if len(calls) == 3:
            os.kill(os.getpid(), signal.SIGINT)
        return plain(*arguments, **options)

    whole = run(out="whole")
    monkeypatch.setattr(loop, "backward", interrupted)
    with pytest.raises(KeyboardInterrupt, match=r"stopped after step 3 of 8; saved in .*The same command resumes"):
        run()
    assert (tmp_path / "out" / "latest").read_text().strip() == "step-00000003"
    assert signal.getsignal(signal.SIGINT) is before
    again = run()
    assert len(calls) == 8
    assert (again / "model.safetensors").read_bytes() == (whole / "model.safetensors").read_bytes()


def test_out_of_memory_names_the_chunk_to_try(run, monkeypatch):
    def full(*arguments, **options):
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr("equipoise.train.run.loop.backward", full)
    with pytest.raises(UserError, match=r"out of GPU memory at step 1 with a batch of 6; try --chunk 3"):
        run()
    with pytest.raises(UserError, match=r"with --chunk 2; try --chunk 1"):
        run(hardware=Hardware(chunk=2))


def test_a_full_disk_loses_nothing(run, tmp_path, monkeypatch):
    from equipoise.train.run import checkpoints

    run(steps=4, saving=Saving(every=2), out="other")
    plain = checkpoints.torch.save
    calls = []

    def full(value, path):
        calls.append(path)
        if len(calls) == 2:
            raise OSError(28, "No space left on device")
        plain(value, path)

    monkeypatch.setattr(checkpoints.torch, "save", full)
    with pytest.raises(UserError, match="disk is full"):
        run(steps=4, saving=Saving(every=2))
    assert (tmp_path / "out" / "latest").read_text().strip() == "step-00000002"
    assert (run(steps=4, saving=Saving(every=2)) / "model.safetensors").read_bytes() == (
        tmp_path / "other" / "model" / "model.safetensors"
    ).read_bytes()


def test_unreadable_images_are_counted_and_listed(run, tmp_path, capsys):
    (tmp_path / "images" / "003.png").write_bytes(b"")
    folder = run(show=True, max_skipped=0.05)
    assert "1 of them were skipped: their image could not be read" in (folder / "README.md").read_text()
    assert "1 images could not be read" in capsys.readouterr().err
    (line,) = (tmp_path / "out" / "skipped_images.txt").read_text().splitlines()  # two epochs, said once
    assert line.startswith("item-3: 003.png: ")


def test_the_run_is_described(run, tmp_path):
    run(replace(NEGATIVES, crop=(0.9, 1.0)), steps=1)
    described = read_json(tmp_path / "out" / "run.json")["run"]
    assert described["recipe"] == "test" and described["items"]["count"] == 24 and described["crop"] == [0.9, 1.0]
    assert described["needs"]["negatives"] == [{"name": "any", "kinds": [[None, None]]}]


def test_a_recipe_that_needs_both_refuses_items_with_one_of_the_two(run, tiny_items, capsys):
    """Two files of which one has the positives and the other the negatives: no sample has both."""
    both = replace(RECIPE, needs=Needs(positive=Slot(), negatives=(Slot(),)))
    items = [item for item in tiny_items() if item.positives and item.negatives][:14]
    halves = [
        item.model_copy(update={"positives": ()} if number % 2 else {"negatives": ()})
        for number, item in enumerate(items)
    ]
    with pytest.raises(UserError, match=f"none of {len(items)} items has a positive and a negative"):
        run(both, items=halves)
    run(both, items=[items[0], *halves[1:]], show=True)
    told = capsys.readouterr().err
    half = len(items) // 2
    assert f"{len(items):,} samples; with a positive {half}" in told and "both 1 (" in told
    assert f"warning: {len(items) - 1:,} samples lack a positive or a negative" in told


def test_a_type_of_negative_that_no_item_has_is_told(run, tiny_items, capsys):
    slots = (Slot("replace", (("replace", None),)), Slot("swap", (("swap", None),)))
    one = replace(RECIPE, needs=Needs(negatives=slots))
    items = [
        item.model_copy(
            update={"negatives": tuple(text for text in item.negatives if text.edit and text.edit.op == "replace")}
        )
        for item in tiny_items()
    ]
    assert any(item.negatives for item in items)
    run(one, items=items, show=True)
    told = capsys.readouterr().err
    assert "warning: no sample has a negative of type swap" in told and "swap 0" in told
    run(out="plain", show=True)
    assert "samples; with" not in capsys.readouterr().err, "a recipe that needs no texts has nothing to tell"
