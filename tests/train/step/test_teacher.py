"""The teacher follows the student as its formula says, learns nothing by itself, and is found again after a stop."""

from __future__ import annotations

import pytest
import torch
from safetensors.torch import load_file

from equipoise.train.recipes import get_recipe
from equipoise.train.run.log import read_log
from equipoise.train.run.loop import Hardware, Saving, train
from equipoise.train.step.lora import freeze
from equipoise.train.step.towers import Teacher

CPU = Hardware(device="cpu", workers=0)


def _disturb(network: torch.nn.Module) -> None:
    with torch.no_grad():
        for parameter in network.parameters():
            if parameter.requires_grad:
                parameter.add_(1.0)


def test_it_is_the_moving_average(tiny_model):
    model = tiny_model()
    student = model.network.double()
    first = {name: value.clone() for name, value in student.named_parameters()}
    teacher = Teacher(student, model.preprocess, 0.75)
    for _ in range(2):
        _disturb(student)  # +1, then +2
        teacher.follow(student)
    found = dict(teacher.towers.network.named_parameters())
    for name, value in first.items():  # 0.25 of the way to +1, then 0.25 of the way from there to +2
        torch.testing.assert_close(found[name], value + 0.25 + 0.25 * (2 - 0.25), msg=name)
        assert not found[name].requires_grad
    assert not teacher.towers.network.training and all(value.requires_grad for value in student.parameters())


def test_a_decay_of_one_is_the_base_and_frozen_weights_stay(tiny_model):
    model = tiny_model()
    freeze(model.network, "vision")
    first = {name: value.clone() for name, value in model.network.named_parameters()}
    base, slow = Teacher(model.network, model.preprocess, 1.0), Teacher(model.network, model.preprocess, 0.5)
    _disturb(model.network)
    for teacher in (base, slow):
        teacher.follow(model.network)
    assert all(torch.equal(value, first[name]) for name, value in base.towers.network.named_parameters())
    moved = {name for name, value in slow.towers.network.named_parameters() if not torch.equal(value, first[name])}
    assert moved == set(slow.state_dict()) and not any(name.startswith("vision_model") for name in moved)


@pytest.mark.slow
@pytest.mark.parametrize("settings", [{}, {"lora": 2}, {"freeze": "vision"}])
def test_a_stopped_run_goes_on_with_its_teacher(settings, tiny_model, tiny_items, tmp_path, monkeypatch):
    """Without the teacher's weights in the checkpoint the second half would start from the base's."""
    recipe = get_recipe("degla_hu_2025", batch_size=6, max_steps=4, lr=1e-2, teacher_decay=0.5, **settings)
    items = tiny_items(18)

    def run(out: str) -> dict[str, torch.Tensor]:
        saving = Saving(every=2)
        images = tmp_path / "images"
        folder = train(
            recipe, items, tiny_model(), tmp_path / out, images=images, saving=saving, hardware=CPU, show=False
        )
        return load_file(folder / "model.safetensors")

    whole = run("whole")
    from equipoise.train.run import loop

    plain, taken = loop.backward, []

    def dies(*arguments, **options):
        if len(taken) == 3:
            raise RuntimeError("killed")
        taken.append(1)
        return plain(*arguments, **options)

    monkeypatch.setattr(loop, "backward", dies)
    with pytest.raises(RuntimeError, match="killed"):
        run("cut")
    monkeypatch.setattr(loop, "backward", plain)
    cut = run("cut")
    assert all(torch.equal(cut[name], value) for name, value in whole.items())
    parts = [record["parts"] for record in read_log(tmp_path / "whole") if "parts" in record]
    assert parts[0]["distillation"] == pytest.approx(0, abs=1e-6) and parts[-1]["distillation"] > 1e-3


def test_the_loop_lets_it_follow(tiny_model, tiny_items, tmp_path):
    """With a decay of 0 the teacher is where the student is at the start of every step; with 1 it is left behind."""
    last, items = {}, tiny_items(12)
    for decay in (0, 1):
        recipe = get_recipe("degla_hu_2025", batch_size=6, max_steps=3, lr=1e-2, warmup_steps=0, teacher_decay=decay)
        out = tmp_path / str(decay)
        train(recipe, items, tiny_model(), out, images=tmp_path / "images", hardware=CPU, show=False)
        last[decay] = [record["parts"]["distillation"] for record in read_log(out) if "parts" in record][-1]
    assert last[0] == pytest.approx(0, abs=1e-6) and last[1] > 1e-3
