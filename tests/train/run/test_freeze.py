"""A frozen vision tower: its weights stay to the bit, its photos are seen once, and the rest learns as without it."""

from __future__ import annotations

import pytest
import torch

from equipoise.core.errors import UserError
from equipoise.models import load_model
from equipoise.train.recipes import get_recipe
from equipoise.train.run.loop import Hardware, Saving, train

CPU = Hardware(device="cpu", workers=0)


def _weights(model):
    return {name: value.clone() for name, value in model.network.state_dict().items()}


@pytest.mark.parametrize("what", ["vision", "vision_backbone"])
def test_only_the_rest_changes(what, tiny_model, tiny_items, tmp_path):
    base = tiny_model()
    recipe = get_recipe("control", freeze=what, batch_size=4, max_steps=3, lr=1e-2, warmup_steps=0)
    folder = train(recipe, tiny_items(12), base, tmp_path / "run", images=tmp_path / "images", hardware=CPU, show=False)
    before, after = _weights(base), _weights(load_model(f"hf:{folder}", device="cpu"))
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    assert not any(name.startswith("vision_model.") for name in changed)
    assert any(name.startswith("text_model.") for name in changed)
    assert ("visual_projection.weight" in changed) == (what == "vision_backbone")


def test_the_gradients_are_those_of_a_tower_that_is_asked_every_time(tiny_model, tiny_items, tmp_path, monkeypatch):
    recipe = get_recipe("hn_only", freeze="vision", batch_size=4, max_steps=3, lr=1e-2, warmup_steps=0)
    found = []
    for name in ("once", "always"):
        if name == "always":
            monkeypatch.setattr("equipoise.train.data.batches.TrainingData.pool", lambda *_: None)
        folder = train(
            recipe, tiny_items(12), tiny_model(), tmp_path / name, images=tmp_path / "images", hardware=CPU, show=False
        )
        found.append(_weights(load_model(f"hf:{folder}", device="cpu")))
    for name, value in found[0].items():
        if name.endswith("k_proj.bias"):  # moves no score, so its gradient is rounding alone
            continue
        torch.testing.assert_close(value, found[1][name], rtol=1e-4, atol=1e-6, msg=name)


def test_photos_are_seen_once(tiny_model, tiny_items, tmp_path, monkeypatch):
    from equipoise.train.step.towers import Towers

    seen = []
    pooled = Towers.pooled
    monkeypatch.setattr(Towers, "pooled", lambda self, pixels: (seen.append(len(pixels)), pooled(self, pixels))[1])
    recipe = get_recipe("control", freeze="vision", batch_size=4, epochs=3)
    items = tiny_items(12)
    train(recipe, items, tiny_model(), tmp_path / "run", images=tmp_path / "images", hardware=CPU, show=False)
    assert sum(seen) == len({item.image for item in items})


def test_a_second_run_finds_what_the_tower_said_in_the_cache(tiny_model, tiny_items, tmp_path, monkeypatch):
    from equipoise.embedding.cache import EmbeddingCache
    from equipoise.train.step.towers import Towers

    seen = []
    pooled = Towers.pooled
    monkeypatch.setattr(Towers, "pooled", lambda self, pixels: (seen.append(len(pixels)), pooled(self, pixels))[1])
    items, found = tiny_items(12), {}

    def run(name, base, cache):
        recipe = get_recipe("control", freeze="vision", batch_size=4, max_steps=3, lr=1e-2)
        before, how = sum(seen), {"hardware": CPU, "saving": Saving(cache=cache), "show": False}
        folder = train(recipe, items, base, tmp_path / name, images=tmp_path / "images", **how)
        found[name] = _weights(load_model(f"hf:{folder}", device="cpu"))
        return sum(seen) - before

    photos = len({item.image for item in items})
    assert run("first", tiny_model(), EmbeddingCache(tmp_path / "cache")) == photos
    assert run("second", tiny_model(), EmbeddingCache(tmp_path / "cache")) == 0
    assert all(torch.equal(value, found["second"][name]) for name, value in found["first"].items())
    assert run("another tower", tiny_model(seed=1), EmbeddingCache(tmp_path / "cache")) == photos
    first = next(iter(sorted((tmp_path / "images").iterdir())))
    first.write_bytes(sorted((tmp_path / "images").iterdir())[1].read_bytes())  # another photo of the same name
    run("another photo", tiny_model(), EmbeddingCache(tmp_path / "cache"))
    assert any(not torch.equal(value, found["another photo"][name]) for name, value in found["first"].items())


@pytest.mark.parametrize(
    ("recipe", "options", "why"),
    [
        ("control", {"lora": 2}, "adapters in both towers"),
        ("control", {"crop": "0.9,1"}, "other parts of a photo"),
        ("fsc_clip_oh_2024", {}, "local_weight=0"),
    ],
)
def test_what_does_not_go_together(recipe, options, why, tiny_model, tiny_items, tmp_path):
    with pytest.raises(UserError, match=why):
        chosen = get_recipe(recipe, freeze="vision", batch_size=4, **options)
        train(chosen, tiny_items(8), tiny_model(), tmp_path / "run", images=tmp_path / "images", hardware=CPU)
    assert not (tmp_path / "run").exists()
