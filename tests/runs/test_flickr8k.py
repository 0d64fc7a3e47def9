"""runs/flickr8k: what is new in a base begins as nothing, rules choose as they are written, intervals are paired."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.runs.conftest import modules_of


@pytest.fixture(scope="module")
def flickr8k() -> Iterator[Any]:
    yield from modules_of("flickr8k")


# ---------------------------------------------------------------------------- parts


@torch.no_grad()
def test_the_averaging_layer_reads_the_mean_of_the_tokens(flickr8k: Any) -> None:
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
    whole = flickr8k("parts").averaging(tower).eval()
    read = whole(input_ids=ids, attention_mask=mask).pooler_output
    assert torch.allclose(read, torch.tanh(0.3 * normed), atol=1e-4)
    assert len(tower.encoder.layer) == 2  # the tower that was given stays as it was


@torch.no_grad()
def test_our_block_changes_nothing_before_it_is_trained(flickr8k: Any) -> None:
    from transformers import EfficientNetModel

    parts = flickr8k("parts")
    network = EfficientNetModel(parts.lite2_config(extra=True)).eval()
    parts.begin_block(network, -1)
    assert len(network.encoder.blocks) == sum(parts.REPEATS) + 1
    grid = torch.randn(2, 352, 9, 9)
    assert torch.equal(network.encoder.blocks[-1](grid), grid)
    network.encoder.blocks[-1].projection.project_bn.weight.fill_(1.0)
    assert not torch.equal(network.encoder.blocks[-1](grid), grid)  # there is something inside to be trained


def test_the_whole_photo_is_squeezed_and_a_part_is_drawn_by_name(flickr8k: Any) -> None:
    from PIL import Image

    views = flickr8k("views")
    photo = Image.fromarray(np.random.default_rng(0).integers(0, 255, (128, 192, 3), dtype=np.uint8))
    shown = [np.asarray(views.view(photo, "a.jpg", number)) for number in range(4)]
    assert {one.shape for one in shown} == {(260, 260, 3)}
    assert not np.array_equal(shown[0], shown[1]) and not np.array_equal(shown[2], shown[3])
    assert np.array_equal(shown[2], np.asarray(views.view(photo, "a.jpg", 2)))
    assert not np.array_equal(shown[2], np.asarray(views.view(photo, "b.jpg", 2)))


# ---------------------------------------------------------------------------- bases


def test_every_caption_of_a_photo_is_right_for_it(flickr8k: Any) -> None:
    contrast = flickr8k("base").contrast
    images = torch.eye(3)
    owner = torch.tensor([0, 0, 1, 1, 2, 2])
    right = contrast(images, images[owner], owner, torch.tensor(50.0), 0.0)
    assert right == pytest.approx(np.log(2) / 2, abs=1e-4)  # a photo shares its choice among two captions
    wrong = contrast(images, images[owner.roll(1)], owner, torch.tensor(50.0), 0.0)
    assert wrong > 5


def test_the_second_round_adds_up_what_helped(flickr8k: Any) -> None:
    bases = flickr8k("bases")

    def recalls(value: float) -> dict[str, float]:
        return dict.fromkeys(bases.RECALLS, value)

    found = {"m": recalls(20), "s": recalls(10)}
    found |= {f"m+{name}": recalls(19) for name in bases.CHANGES["minilm"]}
    found |= {"m+wide": recalls(23), "m+text-6e4": recalls(22), "m+text-15e5": recalls(21)}
    more = bases.second_round(found)
    assert [base.name for base in more] == ["m+wide+text-6e4"]  # the other rate would undo the better one
    assert (more[0].embedding, more[0].text_rate) == (512, 6e-4)


# ---------------------------------------------------------------------------- numbers


def test_a_tie_counts_against_the_model(flickr8k: Any) -> None:
    images = np.eye(2)
    captions = np.array([[1.0, 0.0], [0.5, 0.5]])
    to_image, to_text = flickr8k("retrieval").ranks(images, captions, np.array([0, 1]))
    assert to_image.tolist() == [0, 1]
    assert to_text.tolist() == [0, 0]


def test_ours_must_lose_nothing_to_be_chosen(flickr8k: Any) -> None:
    choose = flickr8k("choose")

    def one(recall: float, augmented: float, brittleness: float) -> dict[str, float]:
        kinds = {f"{k}/augmented": augmented for k in choose.KINDS} | {
            f"{k}/brittleness": brittleness for k in choose.KINDS
        }
        return choose.summed([{"found": kinds | dict.fromkeys(choose.RECALLS, recall)}])

    found = {"hp-hn": one(20, 60, 10), "as-is": one(19, 70, 5), "keep": one(19.95, 63, 7), "weak": one(21, 61, 9.5)}
    assert choose.chosen(found, ["as-is", "keep", "weak"]) == "keep"
    del found["keep"]
    assert choose.chosen(found, ["as-is", "weak"]) == "as-is"


def test_a_difference_is_paired_by_photo(flickr8k: Any, tmp_path: Path) -> None:
    table = flickr8k("table")
    rng = np.random.default_rng(0)
    photo = np.repeat(np.arange(200), 5)
    before, after = ({"photo": photo.tolist()} for _ in range(2))
    for way, count in (("t2i", 1000), ("i2t", 200)):
        ranks = rng.integers(0, 30, count)
        before[way] = ranks.tolist()
        after[way] = np.where(rng.random(count) < 0.1, 0, ranks).tolist()
    for name, held in (("before", before), ("after", after)):
        (tmp_path / f"{name}.json").write_text(json.dumps(held))
    one, two = (table.retrieval(tmp_path / f"{name}.json") for name in ("before", "after"))
    value, low, high = table.measured([two], [one])[0]
    hits = [100 * np.mean(np.array(held["t2i"]) < 1) for held in (before, after)]
    assert value == pytest.approx(hits[1] - hits[0])
    alone = table.measured([two])[0]
    assert alone[0] == pytest.approx(hits[1])
    assert 0 < low < value < high and high - low < alone[2] - alone[1]
    assert table.measured([one], [one])[0] == (0, 0, 0)
