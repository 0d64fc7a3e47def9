"""ITM: which pairs a batch gives, and the loss computed again with transformers' own forward, one pair at a time."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from tests.train import matching

from equipoise.data.images import FolderImages
from equipoise.train.data.batches import MISSING, Part, TextChunks, TrainingData
from equipoise.train.losses.base import Features
from equipoise.train.recipes import get_recipe
from equipoise.train.step.backward import backward
from equipoise.train.step.matching import MatchingTowers, add_scale, pairs


def _features(images: torch.Tensor, captions: torch.Tensor, scale: float = 1.0) -> Features:
    unit = torch.nn.functional.normalize
    return Features(unit(images, dim=-1), unit(captions, dim=-1), torch.tensor(scale))


def test_pairs_are_matches_hard_pairs_of_the_batch_and_written_negatives() -> None:
    """Samples 0 and 1 show one photo, 2 and 3 have one caption: neither two are ever drawn together."""
    torch.manual_seed(0)
    fields = {
        "image": torch.tensor([0, 0, 1, 2]),
        "caption": torch.tensor([0, 2, 3, 3]),
        "negative": torch.tensor([[1, MISSING], [MISSING, MISSING], [4, 5], [MISSING, 6]]),
    }
    allowed = {(0, 3), (1, 0), (1, 2), (2, 0), (2, 2)}  # (image, text) rows that belong to two unlike samples
    drawn = set()
    for seed in range(40):
        images, texts, labels = pairs(_features(torch.randn(4, 3), torch.randn(4, 3)), fields, seed)
        found = list(zip(images.tolist(), texts.tolist(), strict=True))
        assert found[:4] == [(0, 0), (0, 2), (1, 3), (2, 3)]
        assert found[-4:] == [(0, 1), (1, 4), (1, 5), (2, 6)]
        assert labels.tolist() == [1] * 4 + [0] * 12
        assert [text for _, text in found[4:8]] == [0, 2, 3, 3]  # each caption with another image
        assert [image for image, _ in found[8:12]] == [0, 0, 1, 2]  # each image with another caption
        drawn |= set(found[4:12])
    assert drawn == allowed


def test_the_likelier_pair_is_drawn_and_a_batch_of_one_photo_has_none() -> None:
    near = torch.tensor([[1.0, 0, 0], [0.9, 0.1, 0], [-1, 0, 0]])
    fields = {"image": torch.arange(3), "caption": torch.arange(3)}
    images, texts, _ = pairs(_features(near, near, 100.0), fields, 0)
    assert images.tolist()[3:5] == [1, 0] and texts.tolist()[6:8] == [1, 0]
    alone = {"image": torch.zeros(3, dtype=torch.long), "caption": torch.arange(3)}
    images, _, labels = pairs(_features(near, near), alone, 0)
    assert images.tolist() == [0, 0, 0] and labels.tolist() == [1, 1, 1]


@pytest.fixture
def set_up(tmp_path: Any) -> Any:
    def make(recipe: str = "ce_xvlm_zhang_2024", chunk: int | None = None) -> tuple[Any, Any, Any, Any]:
        model = matching.blip(tmp_path / "blip")
        chosen = get_recipe(recipe, batch_size=6)
        part = Part(matching.items(tmp_path / "photos"), FolderImages(tmp_path / "photos"))
        batch = TrainingData([part], chosen, model.preprocess, TextChunks(model), chunk=chunk)[0]
        network = copy.deepcopy(model.network)
        add_scale(network)
        return model, network, chosen, batch

    return make


def _by_hand(model: Any, network: Any, batch: Any, items: Any, seed: int) -> torch.Tensor:
    """The ITM loss of the batch from captions and pictures: transformers' forward of each pair, log softmax, mean."""
    from PIL import Image

    pixels = {
        item.id: model.image_processor(Image.open(items / item.image.path), return_tensors="pt")["pixel_values"]
        for item in matching.items(items)
    }
    of = {item.id: item for item in matching.items(items)}

    def logits(image: str, text: str) -> torch.Tensor:
        read = model.tokenizer(text, return_tensors="pt")
        return network(read["input_ids"], pixels[image], attention_mask=read["attention_mask"]).itm_score[0]

    def cosine(image: str, text: str) -> torch.Tensor:
        read = model.tokenizer(text, return_tensors="pt")
        found = network(read["input_ids"], pixels[image], attention_mask=read["attention_mask"], use_itm_head=False)
        return found.itm_score[0, 0]

    ids = batch.ids
    scores = torch.stack([torch.stack([cosine(one, of[two].caption) for two in ids]) for one in ids]) / 0.07
    chance = torch.Generator().manual_seed(seed)
    hard = []
    for rows in (scores, scores.T):
        weights = rows.detach().softmax(1) + 1e-5
        weights.fill_diagonal_(0)
        hard.append(torch.multinomial(weights, 1, generator=chance)[:, 0].tolist())
    losses = [-logits(one, of[one].caption).log_softmax(0)[1] for one in ids]
    losses += [-logits(one, of[ids[other]].caption).log_softmax(0)[0] for one, other in zip(ids, hard[0], strict=True)]
    losses += [-logits(ids[other], of[one].caption).log_softmax(0)[0] for one, other in zip(ids, hard[1], strict=True)]
    losses += [-logits(one, text.text).log_softmax(0)[0] for one in ids for text in of[one].negatives]
    return torch.stack(losses).mean()


def test_the_loss_and_its_gradients_are_those_of_plain_calls(set_up: Any, tmp_path: Any) -> None:
    model, network, recipe, batch = set_up()
    only = {"itm": recipe.terms["itm"]}
    loss = type(recipe)(terms=only).loss()
    parts = backward(MatchingTowers(model, network), loss, batch, seed=3)
    plain = copy.deepcopy(model.network)
    by_hand = _by_hand(model, plain, batch, tmp_path / "photos", seed=3)
    assert parts.parts["itm"].item() == pytest.approx(by_hand.item(), abs=1e-5)
    by_hand.backward()
    reached = 0
    for name, weight in plain.named_parameters():
        found = dict(network.named_parameters())[name].grad
        if weight.grad is None:
            assert found is None, name
            continue
        torch.testing.assert_close(found, weight.grad, rtol=1e-4, atol=1e-6)
        reached += "crossattention" in name and bool(weight.grad.abs().sum() > 0)
    assert reached >= 2 * 6  # query, key, value and output of both layers
    assert dict(plain.named_parameters())["vision_model.embeddings.patch_embedding.weight"].grad.abs().sum() > 0


def test_chunks_give_the_gradients_of_one_pass(set_up: Any) -> None:
    model, whole, recipe, batch = set_up()
    _, pieces, _, cut = set_up(chunk=2)
    assert len(cut.pixels) == 3 and {chunk.shape[1] for chunk in cut.texts} == {8, 16}
    parts = [
        backward(MatchingTowers(model, network), recipe.loss(), one, seed=5)
        for network, one in ((whole, batch), (pieces, cut))
    ]
    assert parts[0].total.item() == pytest.approx(parts[1].total.item(), abs=1e-5)
    for (name, one), (_, other) in zip(whole.named_parameters(), pieces.named_parameters(), strict=True):
        assert (one.grad is None) == (other.grad is None), name
        if one.grad is not None:
            torch.testing.assert_close(one.grad, other.grad, rtol=1e-3, atol=1e-5)
    assert set(parts[0].parts) >= {"itc", "imc", "cmr", "itm"}


def test_the_control_has_no_written_negatives(set_up: Any) -> None:
    model, network, recipe, batch = set_up("control_itm")
    assert "negative" not in batch.fields
    parts = backward(MatchingTowers(model, network), recipe.loss(), batch)
    assert set(parts.parts) == {"itc", "itm"}
