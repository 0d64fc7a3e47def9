"""The bases of studies/coco: what is new in one begins as nothing, and what a model said is kept exactly."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.studies.conftest import modules_of


@pytest.fixture(scope="module")
def coco() -> Iterator[Any]:
    yield from modules_of("coco")


@torch.no_grad()
def test_the_averaging_layer_reads_the_mean_of_the_tokens(coco: Any) -> None:
    from transformers import BertConfig, BertModel

    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=50, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64,
        max_position_embeddings=16,
    )  # fmt: skip
    config._attn_implementation = "eager"
    tower = BertModel(config).eval()
    ids = torch.tensor([[2, 7, 9, 11, 3], [2, 8, 3, 0, 0]])
    mask = (ids != 0).long()
    states = tower(input_ids=ids, attention_mask=mask).last_hidden_state
    mean = (states * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
    normed = torch.nn.functional.layer_norm(8 * mean + states[:, 0], (32,))
    whole = coco("parts").averaging(tower).eval()
    read = whole(input_ids=ids, attention_mask=mask).pooler_output
    assert torch.allclose(read, torch.tanh(0.3 * normed), atol=1e-4)
    assert len(tower.encoder.layer) == 2  # the tower that was given stays as it was


@torch.no_grad()
def test_our_block_changes_nothing_before_it_is_trained(coco: Any) -> None:
    from transformers import EfficientNetModel

    parts = coco("parts")
    network = EfficientNetModel(parts.lite2_config(extra=True)).eval()
    parts.begin_block(network, -1)
    assert len(network.encoder.blocks) == sum(parts.REPEATS) + 1
    grid = torch.randn(2, 352, 9, 9)
    assert torch.equal(network.encoder.blocks[-1](grid), grid)
    network.encoder.blocks[-1].projection.project_bn.weight.fill_(1.0)
    assert not torch.equal(network.encoder.blocks[-1](grid), grid)  # there is something inside to be trained


def test_the_whole_photo_is_squeezed_and_a_part_is_drawn_by_name(coco: Any) -> None:
    from PIL import Image

    views = coco("views")
    photo = Image.fromarray(np.random.default_rng(0).integers(0, 255, (128, 192, 3), dtype=np.uint8))
    shown = [np.asarray(views.view(photo, "a.jpg", number)) for number in range(4)]
    assert {one.shape for one in shown} == {(260, 260, 3)}
    assert not np.array_equal(shown[0], shown[1]) and not np.array_equal(shown[2], shown[3])
    assert np.array_equal(shown[2], np.asarray(views.view(photo, "a.jpg", 2)))
    assert not np.array_equal(shown[2], np.asarray(views.view(photo, "b.jpg", 2)))


def test_every_caption_of_a_photo_is_right_for_it(coco: Any) -> None:
    contrast = coco("trained").contrast
    images = torch.eye(3)
    owner = torch.tensor([0, 0, 1, 1, 2, 2])
    right = contrast(images, images[owner], owner, torch.tensor(50.0), 0.0)
    assert right == pytest.approx(np.log(2) / 2, abs=1e-4)  # a photo shares its choice among two captions
    wrong = contrast(images, images[owner.roll(1)], owner, torch.tensor(50.0), 0.0)
    assert wrong > 5


def test_a_tie_counts_against_the_model(coco: Any) -> None:
    images = np.eye(2)
    captions = np.array([[1.0, 0.0], [0.5, 0.5]])
    to_image, to_text = coco("retrieval").ranks(images, captions, np.array([0, 1]))
    assert to_image.tolist() == [0, 1]
    assert to_text.tolist() == [0, 0]


def test_outcomes_are_those_of_the_package(coco: Any) -> None:
    from equipoise.evaluation.outcomes import outcomes_of
    from equipoise.evaluation.scores import ItemScores

    c, p, n = np.random.default_rng(0).integers(0, 3, (3, 200)).astype(float)  # many ties
    rows = [
        ItemScores(id=str(i), image="a", caption=x, positives=[y], negatives=[z], tags={})
        for i, (x, y, z) in enumerate(zip(c.tolist(), p.tolist(), n.tolist(), strict=True))
    ]
    theirs = outcomes_of(rows)
    for mine, other in zip(
        coco("retrieval").outcomes(c, p, n), (theirs.original, theirs.augmented, theirs.brittle), strict=True
    ):
        assert np.array_equal(mine, other)


def test_a_teacher_that_agrees_asks_for_nothing(coco: Any) -> None:
    softly = coco("trained").softly
    logits = torch.randn(6, 4, requires_grad=True)
    softly(logits, logits.detach()).backward()
    assert logits.grad is not None and torch.allclose(logits.grad, torch.zeros(6, 4), atol=1e-6)
    logits.grad = None
    softly(logits, -logits.detach()).backward()
    assert logits.grad.abs().max() > 0.01


def kept_scores(rng: Any, right: dict[str, float], photos: int = 100) -> dict[str, Any]:
    """What run.py keeps of a model, drawn; `right`: the share of captions above their negative, of each kind."""
    held: dict[str, Any] = {}
    for kind in ("seen", "unseen", "swap", "type"):
        held[f"{kind}/photo"] = np.repeat(np.arange(photos), 2).astype(np.int16)
        above = np.where(rng.random(2 * photos) < right.get(kind, 0.5), 0.1, -0.1)
        held[f"{kind}/scores"] = np.stack([above, above + 0.01, 0 * above]).astype(np.float32)
    held["captions/photo"] = np.repeat(np.arange(photos), 5).astype(np.int16)
    held |= {"t2i": rng.integers(0, 300, 5 * photos), "i2t": rng.integers(0, 30, photos)}
    ratings = np.arange(3 * photos) % 4 + 1.0
    held |= {"experts/photo": np.repeat(np.arange(photos), 3).astype(np.int16), "experts/ratings": ratings}
    held["experts/scores"] = (ratings + rng.normal(size=len(ratings))).astype(np.float32)
    return held


def test_packed_scores_keep_every_outcome(coco: Any, tmp_path: Path) -> None:
    scores, rng = coco("scores"), np.random.default_rng(1)
    held = kept_scores(rng, {})
    held["seen/scores"] = rng.normal(0.3, 1e-4, held["seen/scores"].shape).astype(np.float32)  # nearly ties
    held["seen/scores"][:, :5] = 0.25  # and ties
    scores.write_scores(tmp_path / "in" / "ours-0.npz", held)
    scores.pack(tmp_path / "in", tmp_path / "s.npz")
    expected = coco("retrieval").outcomes(*held["seen/scores"])
    found = coco("retrieval").outcomes(*scores.read_scores(tmp_path / "s.npz")["ours-0/seen"].astype(float))
    assert all(np.array_equal(one, other) for one, other in zip(found, expected, strict=True))
    other = dict(held) | {"seen/photo": held["seen/photo"][::-1]}
    scores.write_scores(tmp_path / "in" / "ours-1.npz", other)
    with pytest.raises(SystemExit, match="judged on other items"):
        scores.pack(tmp_path / "in", tmp_path / "s.npz")


def test_the_lists_of_device_sh_have_every_model_once(coco: Any) -> None:
    models, script = coco("models"), (Path(__file__).parents[2] / "studies/coco/device.sh").read_text()
    lists = [re.search(rf'(?m)^{name}="([^"]+)"', script) for name in ("HEAVY", "SMALL", "REST")]
    assert sorted(name for found in lists if found for name in found[1].split()) == sorted(models.EVERY)
    assert [name for name in models.EVERY if name.startswith("early-")] == models.EVERY[
        -3:
    ]  # the least wanted come last


def test_bases_have_the_epochs_that_are_asked_for_and_plain_ones_come_first(coco: Any) -> None:
    base = coco("base")
    asked = argparse.Namespace(epochs=4, only=["e", "m", "m.1", "t"])
    first, then = base.chosen(asked)
    assert [(one.name, one.epochs) for one in first] == [("m", 4), ("m.1", 4), ("e", 1)]
    assert [one.name for one in then] == ["t"] and then[0].teachers == ("m", "m.1", "m.2")
    whole, _ = base.chosen(argparse.Namespace(epochs=None, only=None))
    assert [one.epochs for one in whole[:3]] == [8, 6, 6]
