"""The recipes of 2025-26 train: two steps on a tiny model, every term counted, the weights moved."""

from __future__ import annotations

import math

import pytest
import torch
from safetensors.torch import load_file

from equipoise.train.recipes import get_recipe
from equipoise.train.run.log import read_log
from equipoise.train.run.loop import Hardware, train

CPU = Hardware(device="cpu", workers=0)


@pytest.mark.parametrize(
    ("name", "terms"),
    [
        ("read_clip_kwon_2025", {"itc", "alignment"}),
        ("clic_peleg_2025", {"clip", "contrast", "negative", "uni"}),
        ("degla_hu_2025", {"itc", "image", "text", "distillation"}),
        ("cs_clip_kargi_2026", {"itc", "unit"}),
    ],
)
def test_two_steps(name, terms, tiny_model, tiny_items, tmp_path):
    base, items = tiny_model(), tiny_items(16, per_image=2)
    recipe = get_recipe(name, batch_size=8, max_steps=2, lr=1e-2, warmup_steps=0)
    folder = train(recipe, items, base, tmp_path / "run", images=tmp_path / "images", hardware=CPU, show=False)
    records = [record for record in read_log(tmp_path / "run") if "loss" in record]
    assert len(records) == 2
    for record in records:
        assert set(record["parts"]) == terms
        assert all(math.isfinite(value) for value in record["parts"].values())
        weighed = sum(recipe.terms[term][0] * value for term, value in record["parts"].items())
        assert record["loss"] == pytest.approx(weighed, rel=1e-5)
    assert all(record["parts"][term] > 0 for record in records[1:] for term in terms), (
        "a term that had nothing to learn"
    )
    before, after = base.network.state_dict(), load_file(folder / "model.safetensors")
    moved = {name.split(".")[0] for name, value in after.items() if not torch.equal(value, before[name])}
    frozen = {"vision_model", "visual_projection"} if recipe.freeze else set()
    assert moved == {"vision_model", "visual_projection", "text_model", "text_projection", "logit_scale"} - frozen
