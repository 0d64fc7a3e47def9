"""studies/coco/matching.py: the head's pairs, its order of a search, and the whole script on a made-up folder."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.studies.conftest import STUDIES, modules_of
from tests.studies.test_coco import load

from equipoise.data.items import Edit, ImageRef, Item, Text, write_items

PHOTOS = 8
THINGS = ("cat", "dog", "boat", "car", "horse", "cup", "tree", "bird")


@pytest.fixture(scope="module")
def coco() -> Iterator[Any]:
    yield from modules_of("coco")


def item(photo: int, split: str, place: int = 0) -> Item:
    """A caption with a hard positive and two hard negatives."""
    one, two = THINGS[photo % 8], THINGS[(photo + 3) % 8]
    return Item(
        id=f"{split}{photo}#{place}",
        image=ImageRef(path=f"{split}{photo}.jpg"),
        caption=f"a {one} next to a {two}" if place else f"a small {one} on a {two}",
        positives=(Text(text=f"a {two} under a {one}", edit=Edit(op="converse", target="relation")),),
        negatives=(
            Text(text=f"a large {one} on a {two}", edit=Edit(op="replace", target="attribute")),
            Text(text=f"a small {two} on a {one}", edit=Edit(op="swap", target="object")),
        ),
    )


@pytest.fixture(scope="module")
def folder(coco: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """DATA and OUT of eight photos a split and one base, whose towers are random."""
    matching = coco("matching")
    parts, bases = coco("parts"), coco("bases")
    root = tmp_path_factory.mktemp("matching")
    data, out = root / "data", root / "out"
    (data / "photos").mkdir(parents=True)
    (out / "views").mkdir(parents=True)
    generator = torch.Generator().manual_seed(0)
    for split, views in (("train", 3), ("test", 1), ("extra", 1), ("more", 1)):
        items = [item(photo, split, place) for photo in range(PHOTOS) for place in range(2)]
        write_items(data / f"{split}-captions.jsonl", items)
        write_items(data / ("train-balanced.jsonl" if split == "train" else f"{split}-seen.jsonl"), items)
        torch.save(torch.randn(views, PHOTOS, 352, 9, 9, generator=generator).half(), out / f"views/{split}-00000.pt")
    write_items(data / "train-swaps.jsonl", [one.model_copy(update={"positives": ()}) for one in items_of(data)])
    torch.manual_seed(0)
    words = parts.tokenizer([one.caption for one in items_of(data)] * 2, root / "words", vocabulary=100)
    text = parts.averaging(parts.text_tower(len(words), width=64, layers=3))
    vision = parts.EfficientNetModel(parts.lite2_config(extra=True)).eval()
    config = parts.VisionTextDualEncoderConfig(
        vision_config=vision.config.to_dict(), text_config=text.config.to_dict(), projection_dim=32
    )
    config.vision_config._attn_implementation = config.text_config._attn_implementation = "eager"
    network = parts.VisionTextDualEncoderModel(config, vision, text).eval()
    parts.ClipModel("tiny", network, words, parts.WHOLE, device="cpu").save(out / "base/t-0/model")
    line = {"name": "t", "base": dataclasses.asdict(bases.Base("t", "scratch", embedding=32))}
    (out / "base/t-0.json").write_text(json.dumps(line))
    trained, rows = matching.finished(out, "t", "cpu"), []
    with torch.inference_mode():
        for split in ("test", "extra", "more"):
            grid = torch.load(out / f"views/{split}-00000.pt")[0].float()
            states = trained.top.top_bn(trained.top.top_conv(trained.block(grid)))
            rows.append(trained.top.top_activation(states).mean((2, 3)).numpy())
    names = [f"{split}{photo}.jpg" for split in ("test", "extra", "more") for photo in range(PHOTOS)]
    np.savez(out / "pooled-t.npz", names=np.array(names), rows=np.concatenate(rows))
    return root


def items_of(data: Path) -> list[Item]:
    from equipoise.data.items import load_items

    return list(load_items(data / "train-balanced.jsonl"))


def test_the_head_orders_the_first_ten_again(coco: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    matching = coco("matching")
    monkeypatch.setattr(matching, "FIRST", 2)
    cosines = np.array([[0.9, 0.8, 0.1], [0.9, 0.8, 0.1], [0.9, 0.8, 0.1], [0.9, 0.8, 0.1]])
    mine = np.eye(3, dtype=bool)[[0, 1, 2, 1]]
    head = np.array([[1.0, 2.0, 9.0], [1.0, 2.0, 9.0], [1.0, 2.0, 9.0], [5.0, 5.0, 9.0]])
    ranks = np.array([0, 1, 2, 1], np.int16)
    found = matching.again(cosines, mine, ranks, lambda row, column: head[row, column])
    assert found.tolist() == [1, 0, 2, 1] and found.dtype == np.int16  # lost, won, not among the two, a tie


def test_negatives_do_not_match_positives_do_and_states_are_those_of_the_text(coco: Any, folder: Path) -> None:
    matching = coco("matching")
    data, trained = folder / "data", matching.finished(folder / "out", "t", "cpu")
    network = matching.Fused(trained).eval()
    matching.TEXTS["balanced"] = items_of(data)
    recipe = matching.replace(matching.RECIPES["ce-xvlm-hp"], **matching.settings(0, 1e-4, 1.0))
    assert recipe.batch_size == PHOTOS  # fewer photos than a batch
    recipe = matching.replace(recipe, needs=matching.replace(recipe.needs, distinct_images=True))
    part = matching.Part(items_of(data), None)
    batches = matching.TrainingData([part], recipe, trained.model.preprocess, matching.TextChunks(trained.model))
    batches._pooled = {key: np.array(int(key[1][5])) for key in batches._keys}
    towers = matching.FusedTowers(network, torch.load(folder / "out/views/train-00000.pt")[:1], trained.model.pad_id)
    batch, seen = batches[0], {}

    def loss(features: Any) -> Any:
        seen["features"] = features
        return recipe.loss()(features)

    matching.backward(towers, loss, batch, seed=0)
    features, fields = seen["features"], batch.fields
    negatives = int((fields["negative"] >= 0).sum())
    assert negatives == 2 * PHOTOS and features.matching.sum() == 2 * PHOTOS  # captions and positives
    assert len(features.match) == PHOTOS * (1 + 2 + 2 + 1)  # captions, drawn, negatives, positives
    ids = batch.texts[0][fields["positive"]]
    mask = (ids != trained.model.pad_id).long()
    with torch.inference_mode():
        states = network.look(towers.grid[0, batch.pixels[0]].float())[1][fields["image"]]
        wanted = network.match(states, network.read(ids, mask)[1], mask)
    assert torch.allclose(features.match[-PHOTOS:], wanted, atol=1e-5)


@pytest.mark.long
def test_the_script_writes_lines_and_scores_that_can_be_kept_and_resumes(coco: Any, folder: Path) -> None:
    data, out = folder / "data", folder / "out"
    command = [sys.executable, "-m", "studies.coco.matching", str(data), "--out", str(out), "--seeds", "0", "--only"]
    environment = os.environ | {"PYTHONPATH": f"{STUDIES.parent}:{STUDIES.parent}/src", "OMP_NUM_THREADS": "1"}

    def run(*names: str) -> str:
        done = subprocess.run([*command, *names], env=environment, capture_output=True, text=True, check=True)
        return done.stdout

    said = run("ce-xvlm-hp-swaps")
    stems = {f"{name}{part}-0" for name in ("base", "ce-xvlm-hp-swaps") for part in ("", "-itm")}
    assert {path.stem for path in (out / "x/final").glob("*.json")} == stems, said
    assert run("ce-xvlm-hp-swaps") == ""  # nothing is trained again

    scores = coco("scores")
    for stem in stems:
        row, held = (
            json.loads((out / f"x/final/{stem}.json").read_text()),
            scores.read_scores(out / f"x/scores/{stem}.npz"),
        )
        c, p, n = held["seen/scores"]
        assert row["found"]["seen/augmented"] == pytest.approx(100 * ((c > n) & (p > n)).mean())
        assert row["found"]["t2i@1"] == pytest.approx(100 * (held["t2i"] < 1).mean())
    before, after = (scores.read_scores(out / f"x/scores/{name}-0.npz") for name in ("base", "ce-xvlm-hp-swaps"))
    model = coco("matching").finished(out, "t", "cpu").model
    pooled = dict(zip(*np.load(out / "pooled-t.npz").values(), strict=True))
    items = [item(photo, "test", place) for photo in range(PHOTOS) for place in range(2)]
    texts = model.embed_texts([one.caption for one in items])
    image = torch.tensor(np.stack([pooled[one.image.path] for one in items if one.image]))
    unit = torch.nn.functional.normalize(model.network.visual_projection(image), dim=-1).detach().numpy()
    wanted = (texts * unit).sum(1)
    assert np.allclose(before["seen/scores"][0], wanted, atol=1e-5)  # the new layers have left the base as it was
    assert not np.allclose(after["seen/scores"][0], wanted, atol=1e-5)
    scores.pack(out / "x/scores", folder / "x.npz")
    assert "ce-xvlm-hp-swaps-itm-0/seen" in scores.read_scores(folder / "x.npz")


def test_the_table_has_both_parts_of_a_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    table, rng = load("table"), np.random.default_rng(0)
    monkeypatch.setattr(load("kept"), "RESULTS", tmp_path)
    kinds = [part for kind in table.KINDS for part in table.JOINED.get(kind, (kind,))]
    held: dict[str, Any] = {f"{kind}/photo": np.arange(20) for kind in kinds}
    lines = []
    for name in ("control", "control-itm", "ce-xvlm", "ce-xvlm-itm"):
        right = 1.0 if name == "ce-xvlm-itm" else -1.0
        held |= {f"{name}-0/{kind}": np.full((2, 20), right) + rng.normal(0, 0.1, (2, 20)) for kind in kinds}
        found = {f"{way}@{top}": 40.0 for way in ("t2i", "i2t") for top in (1, 5, 10)}
        lines.append(json.dumps({"stage": "final", "name": name, "seed": 0, "found": found}))
    np.savez(tmp_path / "x.npz", **held)
    (tmp_path / "x.jsonl").write_text("\n".join(lines))
    table.fused()
    rows = [line.split(" | ") for line in capsys.readouterr().out.splitlines()[2:] if line]
    assert [(row[0][2:], row[1], row[2]) for row in rows] == [
        (table.FUSED["control"], "cosine", "0.0"),
        (table.FUSED["control"], "matching head", "0.0"),
        (table.FUSED["ce-xvlm"], "cosine", "0.0"),
        (table.FUSED["ce-xvlm"], "matching head", "100.0"),
    ]
    changes = table.corrected(table.family(["x"], table.FUSED_PAIRS))
    assert {tuple(pair) for _, *pair, _, _ in changes} == {("ce-xvlm", "control"), ("ce-xvlm-itm", "control-itm")}
    assert changes["x", "ce-xvlm-itm", "control-itm", "replace", "augmented"].difference == 1
