"""Hard images: the nearest others by the model's own embeddings, as brute force finds them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from equipoise.cli import app
from equipoise.core.errors import InTheWay, UserError
from equipoise.data.images import decode_image, read_image_bytes
from equipoise.data.items import load_items, write_items
from equipoise.models import load_model
from equipoise.train.data.draws import Draw
from equipoise.train.recipe import Needs
from equipoise.train.recipes import get_recipe
from equipoise.train.run import mining
from equipoise.train.run.loop import train
from equipoise.world.splits import make_world


def test_the_worlds_nearest_images_are_those_of_brute_force(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EQUIPOISE_CACHE", str(tmp_path / "cache"))
    world = tmp_path / "world"
    file = make_world(24, 0, world, "finetune")
    out = tmp_path / "hard.jsonl"
    arguments = ["perturb", str(file), "--hard-images", "world", "--images", str(world), "--out", str(out)]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    items = load_items(out)
    assert [mining._plain(item) for item in items] == load_items(file), "nothing else is changed"
    paths = list(dict.fromkeys(item.image.path for item in items if item.image))
    first = {item.image.path: item for item in reversed(items) if item.image}
    model = load_model("world", device="cpu")
    vectors = model.embed_images([decode_image(read_image_bytes(world, path), first[path].image) for path in paths])
    path_of = {item.id: item.image.path for item in items if item.image}
    for item in items:
        own = paths.index(path_of[item.id])
        scores = {path: float(vectors[own] @ vectors[n]) for n, path in enumerate(paths) if n != own}
        named = [path_of[one] for one in json.loads(item.tags["hard_images"])]
        assert len(named) == len(set(named)) == 3 and path_of[item.id] not in named
        best = sorted(scores.values(), reverse=True)[:3]
        np.testing.assert_allclose([scores[path] for path in named], best, atol=1e-5)
    assert Draw(items, Needs(hard_images=True), 0)(0, 0).hard_image is not None, "as train reads it"

    before = out.read_bytes()
    assert CliRunner().invoke(app, arguments).exit_code == 0 and out.read_bytes() == before
    other = CliRunner().invoke(app, [*arguments, "--hard-count", "2"])
    assert isinstance(other.exception, InTheWay)
    out.write_text("mine")
    foreign = CliRunner().invoke(app, arguments)
    assert isinstance(foreign.exception, UserError) and out.read_text() == "mine"


def test_nearest_in_small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = np.random.default_rng(0).normal(size=(50, 6)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    whole = mining.nearest(vectors, 4)
    monkeypatch.setattr(mining, "_BYTES", 4 * 50 * 7)
    np.testing.assert_array_equal(mining.nearest(vectors, 4), whole)
    for row, found in enumerate(whole):
        scores = np.delete(vectors @ vectors[row], row)
        np.testing.assert_allclose(vectors[found] @ vectors[row], np.sort(scores)[::-1][:4], rtol=1e-5)
    assert mining.nearest(vectors[:3], 9).shape == (3, 2)
    with pytest.raises(UserError, match="at least 2 distinct images"):
        mining.nearest(vectors[:1], 3)


def test_captions_of_one_image_name_different_captions_of_a_neighbour(tiny_model, tiny_items, tmp_path):
    items = mining.with_hard_images(tiny_items(12, per_image=3), tiny_model(), tmp_path / "images", k=1)
    path_of = {item.id: item.image.path for item in items}
    named = [json.loads(item.tags["hard_images"])[0] for item in items[:3]]
    assert len(set(named)) == 3 and len({path_of[one] for one in named}) == 1
    assert path_of[named[0]] != items[0].image.path
    write_items(tmp_path / "hard.jsonl", items)
    assert load_items(tmp_path / "hard.jsonl") == items


def test_items_without_hard_images_are_sent_to_perturb(tiny_model, tiny_items, tmp_path):
    recipe = get_recipe("negclip_yuksekgonul_2023", batch_size=4)
    with pytest.raises(UserError, match=r"hard images: none of 24 items(.|\n)*perturb ITEMS --hard-images MODEL"):
        train(recipe, tiny_items(), tiny_model(), tmp_path / "out", images=tmp_path / "images", show=False)
